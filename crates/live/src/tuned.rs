//! The kernel's own balancing beside the loop, where it may be switched on.
//!
//! Balancing keeps threads with their memory, which the loop cannot do: the loop moves pages only, and where nothing
//! holds a thread on its node, pages follow it to and fro.
use homenode_host::balancing::Switch;
use homenode_sampling::hinting::Kernel;
use homenode_trace::SampleUnit;
use std::path::Path;

/// Balancing switched on for the time of a run, and put back when dropped.
#[derive(Debug)]
pub(crate) struct Tuned {
    held: Option<Switch>,
    note: Option<String>,
}

impl Tuned {
    /// Switches `kernel.numa_balancing` on below `root` (`/`) if that is allowed. Who samples hinting faults has done so already.
    pub(crate) fn beside(root: &Path, kernel: Kernel, evidence: SampleUnit) -> Tuned {
        if kernel == Kernel::Untouched || evidence == SampleUnit::Window {
            return Tuned { held: None, note: None };
        }
        match Switch::set(root, true) {
            Ok(Some(held)) => Tuned {
                held: Some(held),
                note: Some(
                    "kernel.numa_balancing was switched on for the time of the loop (--tune-kernel), so that threads stay with \
                     their memory; it is off again"
                        .to_owned(),
                ),
            },
            Ok(None) => Tuned { held: None, note: None },
            Err(e) => Tuned {
                held: None,
                note: Some(format!("--tune-kernel: kernel.numa_balancing could not be switched on: {e}")),
            },
        }
    }
    /// Puts back what was changed, and says what that was.
    pub(crate) fn put_back(self) -> Option<String> {
        drop(self.held);
        self.note
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn balancing_is_on_meanwhile_only_with_leave_and_is_put_back() {
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join("proc/sys/kernel/numa_balancing");
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, "0").unwrap();
        let value = || fs::read_to_string(&file).unwrap();
        for (kernel, unit) in [(Kernel::Untouched, SampleUnit::Reference), (Kernel::Tuned, SampleUnit::Window)] {
            let tuned = Tuned::beside(root.path(), kernel, unit);
            assert_eq!((value().as_str(), tuned.put_back()), ("0", None));
        }
        let tuned = Tuned::beside(root.path(), Kernel::Tuned, SampleUnit::Reference);
        assert_eq!(value(), "1");
        assert!(tuned.put_back().is_some_and(|said| said.contains("switched on")) && value() == "0");
        fs::write(&file, "1").unwrap();
        assert_eq!(Tuned::beside(root.path(), Kernel::Tuned, SampleUnit::Reference).put_back(), None);
        let nowhere = Tuned::beside(&root.path().join("none"), Kernel::Tuned, SampleUnit::Reference);
        assert!(nowhere.put_back().is_some_and(|said| said.contains("could not")));
    }
}
