//! The family of ways to see a program's references. To add one: a file here that defines `SPEC`, and its name in the list.
use crate::CaptureError;
use crate::marks::{MARK, contains, is_built_with_hooks};
use crate::options::{Progress, RecordOptions, RecordSummary};
use std::path::Path;

/// One capture backend.
pub struct Backend {
    /// Name on the command line.
    pub name: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// What it records and what it cannot see, in sentences.
    pub sees: &'static str,
    /// Whether it can be used on this machine, or why not and what to do.
    pub available: fn() -> Result<(), String>,
    /// Whether `auto` may take it without being asked, or why not. At least what `available` demands.
    pub unasked: fn() -> Result<(), String>,
    /// Runs and records a program.
    pub record: fn(&RecordOptions, &mut dyn Progress) -> Result<RecordSummary, CaptureError>,
}

homenode_base::registry! {
    /// All backends, the preferred one first.
    Backend; hooks, perf, faults
}

/// The backend of this name; `auto` is the first one that can be used here.
///
/// # Errors
/// [`CaptureError::Backend`] if there is no such backend or it cannot be used on this machine.
pub fn find(name: &str) -> Result<&'static Backend, CaptureError> {
    let refuse = |why: String| CaptureError::Backend { name: name.to_owned(), why };
    if name == "auto" {
        let usable = ALL.iter().find(|b| (b.unasked)().is_ok());
        return usable.copied().ok_or_else(|| refuse("no backend can be used on this machine".into()));
    }
    let Some(backend) = ALL.iter().find(|b| b.name == name) else {
        let names: Vec<&str> = ALL.iter().map(|b| b.name).collect();
        return Err(refuse(format!("there is none of this name; there are: auto, {}", names.join(", "))));
    };
    (backend.available)().map_err(refuse)?;
    Ok(backend)
}

/// The backend to record this with. `auto` is `hooks` for a program that was built with them, for a script, which may run
/// one, and for a command that names one (`env`, `setarch`, `taskset`, `mpirun`...), else the first of the others that can
/// be used here.
///
/// # Errors
/// As [`find`]; for `auto`, why there is none and what to do.
pub(crate) fn choose(options: &RecordOptions) -> Result<&'static Backend, CaptureError> {
    if options.backend != "auto" {
        return find(&options.backend);
    }
    if options.pid.is_none() {
        // A program that cannot be found has no backend at fault.
        let program = homenode_host::launch::find_program(&options.command)?;
        if may_have_hooks(&program) || options.command[1..].iter().any(|word| is_built_with_hooks(Path::new(word))) {
            return find(hooks::SPEC.name);
        }
    }
    if let Some(backend) = ALL.iter().find(|b| b.name != hooks::SPEC.name && (b.unasked)().is_ok()) {
        return Ok(backend);
    }
    Err(CaptureError::Backend { name: "auto".to_owned(), why: none_can(options) })
}

/// Why no backend can be taken unasked, and what to do.
fn none_can(options: &RecordOptions) -> String {
    let hooks = match (options.pid, options.command.first()) {
        (Some(pid), _) if !Path::new("/proc").join(pid.to_string()).exists() => {
            return format!("process {pid} does not exist");
        }
        (Some(_), _) => "hooks: a running process cannot be given them".to_owned(),
        (None, program) => {
            let name = program.map(|p| p.to_string_lossy().into_owned()).unwrap_or_default();
            format!(
                "hooks: {name} was not built with `homenode cc` or `homenode c++`, which is what sees every reference"
            )
        }
    };
    let asked = ALL.iter().filter(|b| b.name != hooks::SPEC.name && (b.available)().is_ok());
    let asked: Vec<String> = asked.map(|b| format!("`--backend {}`", b.name)).collect();
    let others: Vec<&str> = ALL.iter().map(|b| b.name).filter(|name| *name != hooks::SPEC.name).collect();
    let remedy = match asked.as_slice() {
        [] => String::new(),
        asked => format!("; what can be had by name: {}", asked.join(", ")),
    };
    format!("{hooks}; {}: not possible here unasked, `homenode doctor` says why{remedy}", others.join(", "))
}

/// Whether the file has the runtime in it, or is no program (a script) or cannot be read, so that only running it tells.
fn may_have_hooks(program: &Path) -> bool {
    let Ok(bytes) = std::fs::read(program) else { return true };
    !bytes.starts_with(b"\x7fELF") || contains(&bytes, MARK)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn every_backend_says_what_it_is_under_its_own_name() {
        for (i, backend) in ALL.iter().enumerate() {
            assert!(!backend.name.is_empty() && backend.name != "auto");
            assert!(ALL[..i].iter().all(|b| b.name != backend.name), "two backends called {}", backend.name);
            assert!(!backend.summary.is_empty() && !backend.summary.contains('\n') && !backend.sees.is_empty());
            match (backend.available)() {
                Ok(()) => assert_eq!(find(backend.name).unwrap().name, backend.name),
                Err(why) => assert!(find(backend.name).is_err_and(|e| e.to_string().contains(&why))),
            }
        }
        assert!(find("valgrind").is_err_and(|e| e.to_string().contains("auto, hooks") && e.exit_status() == 2));
    }

    #[test]
    fn auto_takes_hooks_for_what_may_have_them_and_else_says_what_to_do() {
        let auto = |command: &str, pid| {
            let command = command.split_whitespace().map(Into::into).collect();
            choose(&RecordOptions { command, pid, backend: "auto".into(), ..RecordOptions::default() })
        };
        let dir = tempfile::tempdir().unwrap();
        let script = dir.path().join("script");
        std::fs::write(&script, "#!/bin/sh\n").unwrap();
        std::fs::set_permissions(&script, PermissionsExt::from_mode(0o755)).unwrap();
        assert_eq!(auto(script.to_str().unwrap(), None).unwrap().name, "hooks");
        let (built, text) = (dir.path().join("built"), dir.path().join("text"));
        for (path, mode) in [(&built, 0o755), (&text, 0o644)] {
            std::fs::write(path, MARK).unwrap();
            std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
        }
        assert_eq!(auto(&format!("env X=1 {} 3", built.display()), None).unwrap().name, "hooks");
        let text = format!("cat {}", text.display());
        for (command, pid) in [("true", None), (text.as_str(), None), ("", Some(std::process::id()))] {
            match auto(command, pid) {
                Ok(backend) => assert_ne!(backend.name, "hooks"),
                Err(e) => {
                    let said = e.to_string();
                    assert!(ALL.iter().all(|b| said.contains(b.name)) && said.contains("homenode doctor"), "{said}");
                    assert!(said.len() < 320, "one line that can be read: {said}");
                }
            }
        }
        assert!(auto("/no/such", None).err().unwrap().to_string().contains("no such file"));
        assert!(contains(b"xHHOMENODE_CONTROL", MARK) && !contains(b"HOMENODE_CONTRO", MARK) && !contains(b"", MARK));
    }
}
