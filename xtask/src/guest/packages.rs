//! Programs of the host that a guest needs, and the Debian packages that bring them.
use anyhow::ensure;
use std::path::PathBuf;

const NEEDED: &[(&str, &str)] = &[
    ("qemu-system-x86_64", "qemu-system-x86"),
    ("busybox", "busybox-static"),
    ("ldd", "libc-bin"),
    ("setpriv", "util-linux"),
    ("tar", "tar"),
];

/// Where a program is in PATH.
pub(crate) fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|d| d.join(program)).find(|p| p.is_file())
}

/// Names every missing package at once.
///
/// # Errors
/// One line with the command that installs them.
pub(crate) fn check() -> anyhow::Result<()> {
    let mut lacking = lacking(|program| find(program).is_some());
    // Debian's plain `busybox` package has the same file name and needs libraries.
    if lacking.is_empty() && !super::libraries::needed_by(&find("busybox").expect("just found"))?.is_empty() {
        lacking.push("busybox-static");
    }
    ensure!(lacking.is_empty(), "{}", advice(&lacking));
    Ok(())
}

fn lacking(present: impl Fn(&str) -> bool) -> Vec<&'static str> {
    NEEDED.iter().filter(|(program, _)| !present(program)).map(|&(_, package)| package).collect()
}

fn advice(packages: &[&str]) -> String {
    format!(
        "guests need packages that are not installed; as root: apt-get install -y --no-install-recommends {}",
        packages.join(" ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_is_missing_is_named_by_its_package() {
        assert!(lacking(|_| true).is_empty());
        let without_qemu = lacking(|program| !program.starts_with("qemu"));
        assert_eq!(without_qemu, ["qemu-system-x86"]);
        assert!(advice(&without_qemu).ends_with("--no-install-recommends qemu-system-x86"));
        assert_eq!(lacking(|_| false).len(), NEEDED.len());
    }
}
