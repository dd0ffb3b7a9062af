//! The family of ways to see a program's references. To add one: a file here that defines `SPEC`, and its name in the list.
use crate::CaptureError;
use crate::record::{Progress, RecordOptions, RecordSummary};

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
    /// Runs and records a program.
    pub record: fn(&RecordOptions, &mut dyn Progress) -> Result<RecordSummary, CaptureError>,
}

homenode_base::registry! {
    /// All backends, the preferred one first.
    Backend; hooks
}

/// The backend of this name; `auto` is the first one that can be used here.
///
/// # Errors
/// [`CaptureError::Backend`] if there is no such backend or it cannot be used on this machine.
pub fn find(name: &str) -> Result<&'static Backend, CaptureError> {
    let refuse = |why: String| CaptureError::Backend { name: name.to_owned(), why };
    if name == "auto" {
        let usable = ALL.iter().find(|b| (b.available)().is_ok());
        return usable.copied().ok_or_else(|| refuse("no backend can be used on this machine".into()));
    }
    let Some(backend) = ALL.iter().find(|b| b.name == name) else {
        let names: Vec<&str> = ALL.iter().map(|b| b.name).collect();
        return Err(refuse(format!("there is none of this name; there are: auto, {}", names.join(", "))));
    };
    (backend.available)().map_err(refuse)?;
    Ok(backend)
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
