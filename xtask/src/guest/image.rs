//! The guest's root file system: busybox, the first process, the added files.
use super::cpio::{Archive, Kind};
use super::{libraries, options::Vm, packages};
use anyhow::{Context, bail, ensure};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::BufWriter;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

const INIT: &str = include_str!("init.sh");
const FOLDERS: &[&str] =
    &["proc", "sys", "dev", "tmp", "out", "root", "test", "guest", "run", "mnt", "var/tmp", "home/user"];
const PASSWD: &str = "root:x:0:0::/root:/bin/sh\nuser:x:1000:1000::/home/user:/bin/sh\n";
const GROUP: &str = "root:x:0:\nuser:x:1000:\n";

struct Image {
    archive: Archive<BufWriter<File>>,
    /// Folders of libraries where the guest's loader would not look.
    library_folders: BTreeSet<String>,
}

/// Writes the initramfs of a guest that runs `command` and ends its streams with `mark`.
///
/// # Errors
/// A file that cannot be added.
pub(crate) fn write(to: &Path, vm: &Vm, command: &[String], mark: &str) -> anyhow::Result<()> {
    let file = File::create(to).with_context(|| format!("creating {}", to.display()))?;
    let mut image = Image { archive: Archive::new(BufWriter::new(file)), library_folders: BTreeSet::new() };
    image.base(mark)?;
    for spec in &vm.add {
        let (host, guest) = added(spec)?;
        image.add(Path::new(&host), &guest).with_context(|| format!("--add {spec}"))?;
    }
    let start = start_script(command, vm.user, &image.library_folders);
    image.archive.add("guest/start", 0o755, &Kind::File(start.0.as_bytes()))?;
    image.archive.add("guest/command", 0o755, &Kind::File(start.1.as_bytes()))?;
    image.archive.finish()?;
    Ok(())
}

/// Where an added file goes: `FILE:GUEST`, or `FILE` alone for /test/NAME.
fn added(spec: &str) -> anyhow::Result<(String, String)> {
    if let Some((host, guest)) = spec.split_once(':') {
        ensure!(!host.is_empty() && guest.starts_with('/'), "--add {spec}: want FILE:/PATH/IN/GUEST");
        return Ok((host.to_owned(), guest.to_owned()));
    }
    let name = Path::new(spec).file_name().and_then(|n| n.to_str());
    let name = name.with_context(|| format!("--add {spec}: no file name; want FILE:/PATH/IN/GUEST"))?;
    Ok((spec.to_owned(), format!("/test/{name}")))
}

/// The script that becomes COMMAND's user, and the one that becomes COMMAND.
fn start_script(command: &[String], as_user: bool, library_folders: &BTreeSet<String>) -> (String, String) {
    let become_user = if as_user { "exec su user -s /bin/sh -c /guest/command" } else { "exec /guest/command" };
    let words: Vec<String> = command.iter().map(|w| quoted(w)).collect();
    let mut own = "#!/bin/sh\n".to_owned();
    if !library_folders.is_empty() {
        let folders: Vec<&str> = library_folders.iter().map(String::as_str).collect();
        own.push_str(&format!("export LD_LIBRARY_PATH={}\n", quoted(&folders.join(":"))));
    }
    own.push_str(&format!("exec {}\n", words.join(" ")));
    (format!("#!/bin/sh\n{become_user}\n"), own)
}

/// One word for the shell, whatever is in it.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

impl Image {
    fn base(&mut self, mark: &str) -> anyhow::Result<()> {
        for folder in FOLDERS {
            self.archive.add(folder, 0o755, &Kind::Folder)?;
        }
        let busybox = packages::find("busybox").context("busybox is not in PATH")?;
        self.archive.add("bin/busybox", 0o4755, &Kind::File(&std::fs::read(busybox)?))?;
        self.archive.add("bin/sh", 0o777, &Kind::Link("busybox"))?;
        // The kernel opens it for the first process before that one can mount anything.
        self.archive.add("dev/console", 0o600, &Kind::Device(5, 1))?;
        for (path, mode, text) in [
            ("init", 0o755, INIT),
            ("etc/passwd", 0o644, PASSWD),
            ("etc/group", 0o644, GROUP),
            ("guest/mark", 0o644, mark),
        ] {
            self.archive.add(path, mode, &Kind::File(text.as_bytes()))?;
        }
        Ok(())
    }

    /// A file (links followed) or a whole folder.
    fn add(&mut self, host: &Path, guest: &str) -> anyhow::Result<()> {
        let facts = std::fs::metadata(host).with_context(|| format!("{}", host.display()))?;
        if facts.is_dir() {
            self.archive.add(guest, 0o755, &Kind::Folder)?;
            for entry in std::fs::read_dir(host)? {
                let entry = entry?;
                let Ok(name) = entry.file_name().into_string() else { bail!("{:?} is no UTF-8", entry.path()) };
                self.add(&entry.path(), &format!("{guest}/{name}"))?;
            }
            return Ok(());
        }
        ensure!(facts.is_file(), "{}: neither a file nor a folder", host.display());
        let data = std::fs::read(host)?;
        self.archive.add(guest, facts.permissions().mode(), &Kind::File(&data))?;
        if data.starts_with(b"\x7fELF") { self.add_libraries(host) } else { Ok(()) }
    }

    fn add_libraries(&mut self, program: &Path) -> anyhow::Result<()> {
        for library in libraries::needed_by(program)? {
            let name = library.to_str().with_context(|| format!("{} is no UTF-8", library.display()))?;
            self.archive.add(name, 0o755, &Kind::File(&std::fs::read(&library)?))?;
            if libraries::is_unusual(&library)
                && let Some(folder) = library.parent().and_then(Path::to_str)
            {
                self.library_folders.insert(folder.to_owned());
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn added_files_have_a_place() {
        let place = |spec| added(spec).map_err(|e| e.to_string());
        assert_eq!(place("dir/tool"), Ok(("dir/tool".into(), "/test/tool".into())));
        assert_eq!(place("a:/etc/b"), Ok(("a".into(), "/etc/b".into())));
        for wrong in ["a:b", ":/b", "..", "/"] {
            assert!(place(wrong).unwrap_err().contains("FILE:/PATH"), "{wrong}");
        }
    }

    #[test]
    fn commands_reach_the_guest_word_by_word() {
        let words = ["sh", "-c", "echo 'a b' $HOME"].map(str::to_owned);
        let (start, command) = start_script(&words, false, &BTreeSet::new());
        assert!(start.ends_with("exec /guest/command\n"));
        assert_eq!(command, "#!/bin/sh\nexec 'sh' '-c' 'echo '\\''a b'\\'' $HOME'\n");
        let folders = BTreeSet::from(["/opt/a".to_owned(), "/opt/b".to_owned()]);
        let (start, command) = start_script(&words, true, &folders);
        assert!(start.contains("su user"));
        assert!(command.contains("LD_LIBRARY_PATH='/opt/a:/opt/b'"));
    }

    #[test]
    fn what_is_not_there_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = File::create(folder.path().join("image")).unwrap();
        let mut image = Image { archive: Archive::new(BufWriter::new(file)), library_folders: BTreeSet::new() };
        let error = image.add(Path::new("/no/such/tool"), "/test/tool").unwrap_err();
        assert!(format!("{error:#}").contains("/no/such/tool"));
        assert!(image.add(Path::new("/dev/null"), "/test/null").is_err());
    }
}
