//! What hinting faults need and whether it is there.
use super::knobs::{BALANCING, Knobs, NORMAL};
use crate::perf::pmu::parse_list;
use std::fs;
use std::path::Path;

/// What the machine has of what hinting faults need.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// Nodes with memory.
    pub memory_nodes: Vec<u32>,
    /// `kernel.numa_balancing`: 0 off, bit 0 on, bit 1 memory tiering; `None` = the kernel was built without it.
    pub balancing: Option<u32>,
    /// `kernel.perf_event_paranoid`; `None` = no performance events.
    pub paranoid: Option<i32>,
    /// Scan settings, if they can be read (root, debugfs).
    pub knobs: Option<Knobs>,
    /// Whether this process may change the settings of the kernel.
    pub privileged: bool,
}

/// One thing that is missing, and how to grant it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// What, in a few words.
    pub what: &'static str,
    /// Why it is needed or what was found.
    pub why: String,
    /// What to do; empty if nothing can be done.
    pub how: &'static str,
}

impl Status {
    /// Reads the files below `root` (`/`, or a copy of its files elsewhere).
    pub fn read(root: &Path) -> Status {
        let text = |path: &str| fs::read_to_string(root.join(path)).ok();
        let number = |path: &str| text(path)?.trim().parse::<i64>().ok();
        let nodes = text("sys/devices/system/node/has_memory").and_then(|t| parse_list(t.trim()));
        Status {
            // A kernel without NUMA has no such file and one node.
            memory_nodes: nodes.unwrap_or_else(|| vec![0]),
            balancing: number(BALANCING).and_then(|n| u32::try_from(n).ok()),
            paranoid: number("proc/sys/kernel/perf_event_paranoid").and_then(|n| i32::try_from(n).ok()),
            knobs: Knobs::read(root),
            privileged: homenode_sys::disk::effective_ids().0 == 0,
        }
    }
    /// As [`Status::read`] of this machine.
    pub fn here() -> Status {
        Status::read(Path::new("/"))
    }
    /// Whether hinting faults happen at all: two nodes and balancing switched on.
    pub fn faults_happen(&self) -> bool {
        self.memory_nodes.len() > 1 && self.balancing.is_some_and(|b| u64::from(b) & NORMAL != 0)
    }
    /// What is missing for sampling by hinting faults, all at once. Whether perf_event_open is permitted in the end
    /// depends on capabilities and the container too: only the attempt tells.
    pub fn missing(&self) -> Vec<Missing> {
        let mut missing = Vec::new();
        if self.memory_nodes.len() < 2 {
            missing.push(Missing {
                what: "second memory node",
                why: "with one node the kernel makes no hinting faults and no page has a better place; sampling a running \
                      process is not supported here"
                    .into(),
                how: "",
            });
        }
        match self.balancing {
            None => missing.push(Missing {
                what: "automatic NUMA balancing",
                why: "this kernel was built without it (CONFIG_NUMA_BALANCING)".into(),
                how: "use a distribution's kernel",
            }),
            // Root switches it on for the time of the recording.
            Some(value) if u64::from(value) & NORMAL == 0 && !(self.privileged && self.knobs.is_some()) => missing
                .push(Missing {
                    what: "automatic NUMA balancing",
                    why: format!("kernel.numa_balancing is {value}"),
                    how: "as root: sysctl kernel.numa_balancing=1",
                }),
            Some(_) => {}
        }
        match self.paranoid {
            None => missing.push(Missing {
                what: "performance events",
                why: "there is no kernel.perf_event_paranoid: the kernel was built without them".into(),
                how: "use a distribution's kernel",
            }),
            Some(level) if level > 2 && !self.privileged => missing.push(Missing {
                what: "permission for performance events",
                why: format!("kernel.perf_event_paranoid is {level}, users may go up to 2"),
                how: "as root: sysctl kernel.perf_event_paranoid=2",
            }),
            Some(_) => {}
        }
        missing
    }
    /// The missing things on one line; `None` if nothing is.
    pub fn missing_in_words(&self) -> Option<String> {
        let one = |m: Missing| match m.how {
            "" => format!("no {}: {}", m.what, m.why),
            how => format!("no {}: {} ({how})", m.what, m.why),
        };
        let all: Vec<String> = self.missing().into_iter().map(one).collect();
        (!all.is_empty()).then(|| all.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(nodes: &str, balancing: Option<&str>, paranoid: Option<&str>) -> Status {
        let dir = tempfile::tempdir().unwrap();
        let put = |path: &str, text: &str| {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        put("sys/devices/system/node/has_memory", nodes);
        balancing.into_iter().for_each(|b| put("proc/sys/kernel/numa_balancing", b));
        paranoid.into_iter().for_each(|p| put("proc/sys/kernel/perf_event_paranoid", p));
        Status { privileged: false, ..Status::read(dir.path()) }
    }

    #[test]
    fn each_missing_thing_is_named_with_what_to_do() {
        let words = |s: &Status| s.missing_in_words().unwrap_or_default();
        let good = machine("0-3\n", Some("1\n"), Some("2\n"));
        assert_eq!((good.missing_in_words(), good.faults_happen(), good.memory_nodes.len()), (None, true, 4));
        let all = machine("0\n", Some("0"), Some("3"));
        assert_eq!(all.missing().len(), 3);
        for word in ["second memory node", "sysctl kernel.numa_balancing=1", "sysctl kernel.perf_event_paranoid=2"] {
            assert!(words(&all).contains(word), "{}", words(&all));
        }
        assert!(words(&machine("0-1", None, None)).contains("CONFIG_NUMA_BALANCING"));
        let tiering = machine("0-1", Some("2"), Some("-1"));
        assert!(!tiering.faults_happen() && words(&tiering).contains("numa_balancing is 2"));
        assert!(machine("0,2", Some("3"), Some("1")).faults_happen(), "tiering besides");
        let knobs = Some(Knobs::bounded(1000.0, 20, 1));
        let root = Status { privileged: true, knobs, ..machine("0-1", Some("0"), Some("4")) };
        assert_eq!((root.missing_in_words(), root.faults_happen()), (None, false), "root grants itself both");
        assert!(machine("garbage", Some("x"), Some("y")).missing().len() == 3);
    }
}
