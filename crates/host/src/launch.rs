//! Finding and starting a program.
use homenode_sys::{disk, process};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// A program that was not started.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// There is nothing to start.
    #[error("no command to record; give it after `--`")]
    NoCommand,
    /// The program could not be started.
    #[error("cannot start {program}: {why}")]
    Start {
        /// As given.
        program: String,
        /// Why and what to do.
        why: String,
    },
}

/// The file that running `command` would execute.
///
/// # Errors
/// [`LaunchError`] if there is none or it cannot be executed, before anything has been created for it.
pub fn find_program(command: &[OsString]) -> Result<PathBuf, LaunchError> {
    let Some(program) = command.first() else {
        return Err(LaunchError::NoCommand);
    };
    let name = program.to_string_lossy();
    let refuse = |why: &str| LaunchError::Start { program: name.clone().into_owned(), why: why.to_owned() };
    if program.as_bytes().contains(&b'/') {
        let path = PathBuf::from(program);
        return match fs::metadata(&path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => Err(refuse("there is no such file")),
            Err(e) => Err(refuse(&e.to_string())),
            Ok(meta) if meta.is_dir() => Err(refuse("it is a directory")),
            Ok(meta) if meta.permissions().mode() & 0o111 == 0 => Err(refuse("it is not executable (chmod +x)")),
            Ok(_) => Ok(path),
        };
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let usable = |p: &PathBuf| fs::metadata(p).is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0);
    let mut candidates = std::env::split_paths(&path).map(|dir| dir.join(program));
    candidates.find(usable).ok_or_else(|| match Path::new(program).exists() {
        true => refuse(&format!("it is not in PATH; if you mean the file here, write ./{name}")),
        false => refuse("no such program in PATH"),
    })
}

/// Starts it with `environment` besides that of this process. See [`process::spawn`].
///
/// # Errors
/// [`LaunchError::Start`] with what the kernel says.
pub fn start(command: &[OsString], environment: &[(&str, &OsStr)]) -> Result<u32, LaunchError> {
    process::spawn(command, environment).map_err(|e| not_started(command, &e))
}

/// Why `command` could not be started.
pub fn not_started(command: &[OsString], error: &io::Error) -> LaunchError {
    LaunchError::Start {
        program: command.first().map(|p| p.to_string_lossy().into_owned()).unwrap_or_default(),
        why: match error.raw_os_error() {
            // ENOEXEC
            Some(8) => "it is neither a program for this machine nor a script that begins with #!".to_owned(),
            // ENOENT, though the file was found before.
            Some(2) => {
                "what it needs to start does not exist: the interpreter in its first line, or its loader".to_owned()
            }
            _ => error.to_string(),
        },
    }
}

/// What makes the kernel start `program` in secure mode for this user, if anything.
pub fn secure_mode(program: &Path) -> Option<&'static str> {
    let meta = fs::metadata(program).ok()?;
    let (user, group) = disk::effective_ids();
    if meta.mode() & 0o4000 != 0 && meta.uid() != user {
        Some("setuid")
    } else if meta.mode() & 0o2000 != 0 && meta.gid() != group {
        Some("setgid")
    } else if disk::has_file_capabilities(program) && user != 0 {
        Some("given file capabilities")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_not_to_start_is_said() {
        let dir = tempfile::tempdir().unwrap();
        let plain = dir.path().join("plain");
        fs::write(&plain, "x").unwrap();
        let say = |p: &OsStr| find_program(&[p.to_owned()]).unwrap_err().to_string();
        assert!(say(OsStr::new("/no/such")).contains("no such file"));
        assert!(say(dir.path().as_os_str()).contains("directory"));
        assert!(say(plain.as_os_str()).contains("chmod +x"));
        assert!(say(OsStr::new("no-such-program-anywhere")).contains("no such program in PATH"));
        assert!(matches!(find_program(&[]), Err(LaunchError::NoCommand)));
        assert!(find_program(&["sh".into()]).unwrap().ends_with("sh"));
        fs::set_permissions(&plain, fs::Permissions::from_mode(0o755)).unwrap();
        assert!(start(&[plain.into()], &[]).unwrap_err().to_string().contains("neither a program"));
    }

    #[test]
    fn setuid_of_another_user_is_secure_mode() {
        let other = ["/usr/bin/passwd", "/bin/su", "/usr/bin/su"].map(Path::new).into_iter().find(|p| p.exists());
        let (user, _) = disk::effective_ids();
        if let (Some(path), true) = (other, user != 0) {
            assert_eq!(secure_mode(path), Some("setuid"));
        }
        assert_eq!(secure_mode(Path::new("/bin/sh")), None);
    }
}
