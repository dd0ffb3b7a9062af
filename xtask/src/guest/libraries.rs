//! Shared libraries that a program of the host needs in a guest, as `ldd` knows them.
use anyhow::{Context, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Folders that the guest's loader searches by itself.
const USUAL: &[&str] = &["/lib", "/lib64", "/usr/lib", "/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu"];

/// Files needed by an ELF file, its loader included; none for a static program or a file that is no ELF.
///
/// # Errors
/// A library that this host lacks.
pub(crate) fn needed_by(file: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let said = Command::new("ldd").arg(file).env("LC_ALL", "C").output().context("running ldd")?;
    parse(&String::from_utf8_lossy(&said.stdout)).with_context(|| format!("{}", file.display()))
}

fn parse(said: &str) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for line in said.lines().map(str::trim) {
        ensure!(!line.ends_with("=> not found"), "needs a library that this host lacks: {line}");
        let after = line.split_once("=> ").map_or(line, |(_, right)| right);
        if after.starts_with('/')
            && let Some((path, _)) = after.split_once(" (0x")
        {
            found.push(PathBuf::from(path));
        }
    }
    Ok(found)
}

/// Whether the guest's loader must be told where this library is.
pub(crate) fn is_unusual(library: &Path) -> bool {
    !library.parent().is_some_and(|d| USUAL.iter().any(|u| d == Path::new(u)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_and_the_loader_are_found() {
        let said = "\tlinux-vdso.so.1 (0x00007ffd)\n\tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f)\n\
                    \tlibown.so => /opt/own lib/libown.so (0x00007e)\n\t/lib64/ld-linux-x86-64.so.2 (0x00007f)\n";
        let paths = parse(said).unwrap();
        let wanted = ["/lib/x86_64-linux-gnu/libc.so.6", "/opt/own lib/libown.so", "/lib64/ld-linux-x86-64.so.2"];
        assert_eq!(paths, wanted.map(PathBuf::from));
        assert_eq!(paths.iter().map(|p| is_unusual(p)).collect::<Vec<_>>(), [false, true, false]);
        assert!(parse("\tnot a dynamic executable\n").unwrap().is_empty());
        assert!(parse("\tstatically linked\n").unwrap().is_empty());
        assert!(format!("{:#}", parse("\tlibgone.so => not found\n").unwrap_err()).contains("libgone.so"));
    }
}
