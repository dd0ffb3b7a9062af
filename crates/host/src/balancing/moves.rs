//! Pages that the kernel moved by itself.
use std::fs;
use std::path::Path;

/// Counters of the whole machine, of `/proc/vmstat`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moves {
    /// Pages that balancing moved (`numa_pages_migrated`).
    pub pages: u64,
    /// Hinting faults (`numa_hint_faults`).
    pub hinting_faults: u64,
}

impl Moves {
    /// Counters below `root`; `None` where the kernel does not balance.
    pub fn read(root: &Path) -> Option<Moves> {
        let text = fs::read_to_string(root.join("proc/vmstat")).ok()?;
        let value = |name: &str| text.lines().find_map(|l| l.strip_prefix(name)?.trim().parse().ok());
        Some(Moves { pages: value("numa_pages_migrated ")?, hinting_faults: value("numa_hint_faults ")? })
    }
    /// What came since `before`.
    #[must_use]
    pub fn since(self, before: Moves) -> Moves {
        Moves {
            pages: self.pages.saturating_sub(before.pages),
            hinting_faults: self.hinting_faults.saturating_sub(before.hinting_faults),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_found_by_their_whole_names() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(Moves::read(root.path()), None);
        fs::create_dir(root.path().join("proc")).unwrap();
        let text = "numa_hint_faults_local 5\nnuma_hint_faults 70\nnuma_pages_migrated 9\n";
        fs::write(root.path().join("proc/vmstat"), text).unwrap();
        let now = Moves::read(root.path()).unwrap();
        assert_eq!(now, Moves { pages: 9, hinting_faults: 70 });
        assert_eq!(now.since(Moves { pages: 4, hinting_faults: 80 }), Moves { pages: 5, hinting_faults: 0 });
    }
}
