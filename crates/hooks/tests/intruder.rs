//! Another user of the machine tries to have his library loaded by this one. Needs root to be two users; says so otherwise.
use homenode_hooks::{agent, install};
use std::fs;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// `nobody`.
const OTHER: u32 = 65_534;

/// Not a test of its own: what the others run in a process with another environment.
#[test]
#[ignore = "run by the other tests of this file"]
fn the_installing_process() {
    for path in [agent::install(), install::install()] {
        match path {
            Ok(path) => println!("at {}", path.display()),
            Err(e) => println!("refused {e}"),
        }
    }
}

/// Installs with `base` for temporary files and no home directory, or with `home`; the paths, or why not.
fn install_with(base: &Path, home: Option<&Path>) -> Vec<Result<PathBuf, String>> {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "the_installing_process", "--ignored", "--nocapture"]);
    command.env("TMPDIR", base).env_remove("XDG_CACHE_HOME").env_remove("XDG_RUNTIME_DIR").env_remove("HOME");
    command.envs(home.map(|h| ("HOME", h)));
    let said = String::from_utf8(command.output().unwrap().stdout).unwrap();
    let answer = |line: &str| match line.split_once("at /") {
        Some((_, path)) => Some(Ok(PathBuf::from(format!("/{path}")))),
        None => line.split_once("refused ").map(|(_, why)| Err(why.to_owned())),
    };
    let answers: Vec<_> = said.lines().filter_map(answer).collect();
    assert_eq!(answers.len(), 2, "{said}");
    answers
}

fn as_other(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]).uid(OTHER).gid(OTHER).current_dir("/").stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// A folder like /tmp that both users can reach; `None` where this test cannot be two users.
fn shared_folder() -> Option<tempfile::TempDir> {
    let folder = tempfile::Builder::new().prefix("intruder-").tempdir_in("/tmp").unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o1777)).unwrap();
    let root = fs::metadata(folder.path()).unwrap().uid() == 0;
    let works = root && as_other("true").status().is_ok_and(|s| s.success());
    if !works {
        // Past the capture of what tests print.
        std::io::stderr().write_all(b"SKIPPED: being two users needs root\n").unwrap();
    }
    works.then_some(folder)
}

/// The file is ours, nobody else can change it or what it is called, and it is the library.
fn assert_out_of_reach(path: &Path, what: &str) {
    assert!(path.ends_with("libhomenode_agent.so") || path.ends_with("libhomenode_hooks.a"), "{what}");
    let wanted: &[u8] =
        if path.extension().is_some_and(|e| e == "so") { &agent::AGENT } else { &homenode_hooks::ARCHIVE };
    let tries = format!(
        "echo evil > '{p}'; rm -f '{p}'; mv '{d}' '{d}.gone'; mv '{b}' '{b}.gone'; ln -sfn /tmp '{d}'",
        p = path.display(),
        d = path.parent().unwrap().display(),
        b = path.parent().unwrap().parent().unwrap().display(),
    );
    as_other(&tries).status().unwrap();
    assert!(fs::read(path).unwrap() == wanted, "{what}: {} is not what was installed", path.display());
    for part in path.ancestors() {
        let meta = fs::symlink_metadata(part).unwrap();
        let sticky = meta.mode() & 0o1000 != 0;
        assert!(meta.uid() == 0 && (meta.mode() & 0o022 == 0 || sticky), "{what}: {}", part.display());
    }
}

#[test]
fn a_directory_or_link_of_another_user_is_not_used() {
    let Some(folder) = shared_folder() else { return };
    let base = folder.path();
    let known: Vec<PathBuf> = install_with(base, None).into_iter().map(Result::unwrap).collect();
    known.iter().for_each(|p| assert_out_of_reach(p, "nobody was there before"));
    let (name, inner) = (known[0].strip_prefix(base).unwrap(), base.join("homenode-0"));
    let plant = |root: &Path| {
        let at = root.join(name.strip_prefix("homenode-0").unwrap());
        fs::create_dir_all(at.parent().unwrap()).unwrap();
        fs::write(&at, "evil").unwrap();
        for part in at.ancestors().take_while(|p| p.starts_with(root)) {
            chown(part, Some(OTHER), Some(OTHER)).unwrap();
            fs::set_permissions(part, fs::Permissions::from_mode(0o777)).unwrap();
        }
    };
    fs::remove_dir_all(&inner).unwrap();
    plant(&inner);
    for found in install_with(base, None) {
        assert_out_of_reach(&found.unwrap(), "a directory was there before");
    }
    fs::remove_dir_all(&inner).unwrap();
    plant(&base.join("mine"));
    symlink(base.join("mine"), &inner).unwrap();
    std::os::unix::fs::lchown(&inner, Some(OTHER), Some(OTHER)).unwrap();
    for found in install_with(base, None) {
        assert_out_of_reach(&found.unwrap(), "a link was there before");
    }
    // `sudo` that keeps HOME: the home directory is the other user's.
    let home = base.join("home");
    fs::create_dir(&home).unwrap();
    chown(&home, Some(OTHER), Some(OTHER)).unwrap();
    for found in install_with(base, Some(&home)) {
        assert_out_of_reach(&found.unwrap(), "the home directory is another user's");
    }
    assert_eq!(fs::read_dir(&home).unwrap().count(), 0);
    fs::set_permissions(base, fs::Permissions::from_mode(0o777)).unwrap();
    for found in install_with(base, None) {
        assert!(found.unwrap_err().contains("may be written to by others"), "no sticky bit, no place");
    }
}

/// Ends when the test does, however it ends.
struct Intruder(Child);

impl Drop for Intruder {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_race_for_the_directory_is_not_won() {
    let Some(folder) = shared_folder() else { return };
    let base = folder.path();
    let script = format!(
        "cd '{}' && mkdir -p own/agent && n=0; while [ $n -lt 20000 ]; do n=$((n+1)); \
         mkdir homenode-0; rmdir homenode-0; ln -s own homenode-0; mv -T homenode-0 gone; rm -f gone homenode-0; done",
        base.display()
    );
    let _intruder = Intruder(as_other(&script).spawn().unwrap());
    for round in 0..if std::env::var_os("HOMENODE_SLOW").is_some() { 200 } else { 20 } {
        for path in install_with(base, None).into_iter().flatten() {
            // Refusing is an answer too; loading from a place of the intruder's is not.
            assert_out_of_reach(&path, &format!("round {round}"));
        }
        let _ = fs::remove_dir_all(base.join("homenode-0"));
    }
}
