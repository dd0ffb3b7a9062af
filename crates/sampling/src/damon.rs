//! # DAMON: which address ranges of a process are hot, for almost nothing
//!
//! The kernel's data access monitor (root, CONFIG_DAMON_SYSFS) samples one page of each region and splits and merges
//! regions by what it finds: a first look that says where to look closer, without saying who uses the memory.
//!
//! **Invariant:** the monitor belongs to this process alone and is switched off when [`Damon`] is dropped, or by the next
//! [`Damon::start`] after a crash; a monitor that somebody else set up is never touched.
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Below the root.
const ADMIN: &str = "sys/kernel/mm/damon/admin/kdamonds";
/// Says whose the monitor is, below the root.
const OWNER: &str = "run/homenode/damon.owner";

/// How closely to look. The kernel's cost is at most `regions_max` page table entries each `sample_us`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DamonOptions {
    /// Microseconds between looks at a region.
    pub sample_us: u64,
    /// Microseconds after which counts are complete and regions are split and merged.
    pub aggregate_us: u64,
    /// Most regions.
    pub regions_max: u32,
}

impl Default for DamonOptions {
    fn default() -> DamonOptions {
        DamonOptions { sample_us: 5_000, aggregate_us: 100_000, regions_max: 1000 }
    }
}

impl DamonOptions {
    /// Looks in an aggregation: the most accesses that a region can have.
    pub fn looks(&self) -> u32 {
        u32::try_from(self.aggregate_us / self.sample_us.max(1)).unwrap_or(u32::MAX).max(1)
    }
}

/// A stretch of addresses that is used evenly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// First byte.
    pub start: u64,
    /// One past the last byte.
    pub end: u64,
    /// Looks of the last aggregation that found it used, at most [`DamonOptions::looks`].
    pub accesses: u32,
    /// Aggregations since this last changed.
    pub age: u32,
}

/// A running monitor of one process.
#[derive(Debug)]
pub struct Damon {
    root: PathBuf,
    looks: u32,
}

impl Damon {
    /// Starts watching the memory of process `pid`; `root` is `/`, or a copy of its files elsewhere.
    ///
    /// # Errors
    /// [`io::ErrorKind::NotFound`] without DAMON, [`io::ErrorKind::PermissionDenied`] unless root,
    /// [`io::ErrorKind::ResourceBusy`] if somebody else uses it; what the kernel says of the process.
    pub fn start(root: &Path, pid: u32, options: &DamonOptions) -> io::Result<Damon> {
        let busy = |why: String| io::Error::new(io::ErrorKind::ResourceBusy, why);
        if let Leftover::Running(owner) = stop_leftover(root)? {
            return Err(busy(format!("process {owner} uses DAMON")));
        }
        let count = root.join(ADMIN).join("nr_kdamonds");
        if fs::read_to_string(&count)?.trim() != "0" {
            return Err(busy("DAMON is set up by somebody else (nr_kdamonds is not 0)".to_owned()));
        }
        let owner = root.join(OWNER);
        if let Some(dir) = owner.parent() {
            fs::create_dir_all(dir)?;
        }
        fs::write(&owner, std::process::id().to_string())?;
        // From here on, dropping undoes everything.
        let damon = Damon { root: root.to_owned(), looks: options.looks() };
        fs::write(&count, "1")?;
        damon.set_up(pid, options)?;
        damon.order("on")?;
        Ok(damon)
    }

    fn set_up(&self, pid: u32, options: &DamonOptions) -> io::Result<()> {
        let context = "contexts/0";
        self.put("contexts/nr_contexts", 1)?;
        fs::write(self.at(&format!("{context}/operations")), "vaddr")?;
        let attributes = format!("{context}/monitoring_attrs");
        self.put(&format!("{attributes}/intervals/sample_us"), options.sample_us)?;
        self.put(&format!("{attributes}/intervals/aggr_us"), options.aggregate_us)?;
        // The kernel wants at least 3 regions for each of the three large areas of an address space.
        self.put(&format!("{attributes}/nr_regions/max"), u64::from(options.regions_max.max(10)))?;
        self.put(&format!("{context}/targets/nr_targets"), 1)?;
        self.put(&format!("{context}/targets/0/pid_target"), u64::from(pid))?;
        // A scheme that only counts: it makes the kernel list the regions that it finds used.
        self.put(&format!("{context}/schemes/nr_schemes"), 1)?;
        let scheme = format!("{context}/schemes/0");
        fs::write(self.at(&format!("{scheme}/action")), "stat")?;
        for what in ["sz", "nr_accesses", "age"] {
            self.put(&format!("{scheme}/access_pattern/{what}/max"), u64::from(u32::MAX))?;
        }
        self.put(&format!("{scheme}/access_pattern/nr_accesses/min"), 1)
    }

    /// The regions that were used in the last aggregation, ascending.
    ///
    /// # Errors
    /// The process has ended, or the kernel has no more news of it.
    pub fn regions(&self) -> io::Result<Vec<Region>> {
        self.order("update_schemes_tried_regions")?;
        let mut regions = Vec::new();
        for entry in fs::read_dir(self.at("contexts/0/schemes/0/tried_regions"))?.flatten() {
            let number = |name: &str| fs::read_to_string(entry.path().join(name)).ok()?.trim().parse::<u64>().ok();
            let small = |name| number(name).and_then(|n| u32::try_from(n).ok());
            let read = (number("start"), number("end"), small("nr_accesses"), small("age"));
            // Besides the regions there is a file with their total size.
            let (Some(start), Some(end), Some(accesses), Some(age)) = read else { continue };
            if start < end {
                regions.push(Region { start, end, accesses: accesses.min(self.looks), age });
            }
        }
        regions.sort_by_key(|r| r.start);
        Ok(regions)
    }

    fn at(&self, path: &str) -> PathBuf {
        self.root.join(ADMIN).join("0").join(path)
    }
    fn put(&self, path: &str, value: u64) -> io::Result<()> {
        fs::write(self.at(path), value.to_string())
    }
    fn order(&self, what: &str) -> io::Result<()> {
        fs::write(self.at("state"), what)
    }
}

impl Drop for Damon {
    fn drop(&mut self) {
        // If this fails (it does not, for root), the next start tries again.
        let _ = take_down(&self.root);
    }
}

fn take_down(root: &Path) -> io::Result<()> {
    let admin = root.join(ADMIN);
    // The kernel has switched it off itself if the process ended; then it refuses.
    let _ = fs::write(admin.join("0/state"), "off");
    fs::write(admin.join("nr_kdamonds"), "0")?;
    fs::remove_file(root.join(OWNER))
}

/// What became of a monitor that is in the books.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leftover {
    /// There was none.
    Nothing,
    /// The monitor is switched off.
    Stopped,
    /// The process that set it up runs.
    Running(u32),
}

/// Switches off the monitor of a process that no longer runs.
///
/// # Errors
/// No permission.
pub fn stop_leftover(root: &Path) -> io::Result<Leftover> {
    let text = match fs::read_to_string(root.join(OWNER)) {
        Ok(text) => text,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Leftover::Nothing),
        Err(e) => return Err(e),
    };
    let owner = text.trim().parse().unwrap_or(0);
    if homenode_sys::process::alive(owner) {
        return Ok(Leftover::Running(owner));
    }
    take_down(root).map(|()| Leftover::Stopped)
}

/// The hottest ranges that together have at least `share` (0 to 1) of all accesses, adjacent ones joined, ascending. A
/// region counts with its bytes times its accesses.
pub fn hot_ranges(regions: &[Region], share: f64) -> Vec<(u64, u64)> {
    let weight = |r: &Region| u128::from(r.end - r.start) * u128::from(r.accesses);
    let total: u128 = regions.iter().map(weight).sum();
    let mut by_heat: Vec<&Region> = regions.iter().filter(|r| r.accesses > 0).collect();
    by_heat.sort_by_key(|r| (std::cmp::Reverse(r.accesses), r.start));
    let (mut sum, mut taken) = (0u128, Vec::new());
    for r in by_heat {
        if sum as f64 >= share * total as f64 {
            break;
        }
        sum += weight(r);
        taken.push((r.start, r.end));
    }
    taken.sort_unstable();
    let mut joined: Vec<(u64, u64)> = Vec::new();
    for (start, end) in taken {
        match joined.last_mut() {
            Some(last) if last.1 >= start => last.1 = last.1.max(end),
            _ => joined.push((start, end)),
        }
    }
    joined
}

/// A kernel's files, for tests.
#[cfg(test)]
pub(crate) mod testing {
    use super::*;

    /// The files that the kernel makes, all at once.
    pub(crate) fn machine() -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        let context = root.path().join(ADMIN).join("0/contexts/0");
        for dir in [
            "monitoring_attrs/intervals",
            "monitoring_attrs/nr_regions",
            "targets/0",
            "schemes/0/access_pattern/sz",
            "schemes/0/access_pattern/nr_accesses",
            "schemes/0/access_pattern/age",
            "schemes/0/tried_regions",
        ] {
            fs::create_dir_all(context.join(dir)).unwrap();
        }
        fs::write(root.path().join(ADMIN).join("nr_kdamonds"), "0\n").unwrap();
        root
    }
    pub(crate) fn text(root: &Path, path: &str) -> String {
        fs::read_to_string(root.join(ADMIN).join(path)).unwrap()
    }
    /// A region that the kernel lists: start, end, accesses, age.
    pub(crate) fn put_region(root: &Path, name: &str, fields: [&str; 4]) {
        let dir = root.join(ADMIN).join("0/contexts/0/schemes/0/tried_regions").join(name);
        fs::create_dir(&dir).unwrap();
        for (file, value) in ["start", "end", "nr_accesses", "age"].iter().zip(fields) {
            fs::write(dir.join(file), value).unwrap();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::testing::{machine, put_region, text};
    use super::*;

    fn region(start: u64, end: u64, accesses: u32) -> Region {
        Region { start, end, accesses, age: 1 }
    }

    #[test]
    fn the_monitor_is_set_up_read_and_taken_down() {
        let root = machine();
        let at = root.path();
        let damon = Damon::start(at, 77, &DamonOptions::default()).unwrap();
        assert_eq!(text(at, "0/contexts/0/targets/0/pid_target"), "77");
        assert_eq!((text(at, "0/state"), text(at, "nr_kdamonds")), ("on".into(), "1".into()));
        let again = Damon::start(at, 78, &DamonOptions::default()).unwrap_err();
        assert_eq!(again.kind(), io::ErrorKind::ResourceBusy);
        for (name, fields) in
            [("1", ["8192", "12288", "99", "4"]), ("0", ["4096", "8192", "3", "0"]), ("2", ["9", "9", "1", "1"])]
        {
            put_region(at, name, fields);
        }
        let regions = damon.regions().unwrap();
        assert_eq!(regions.iter().map(|r| (r.start, r.accesses)).collect::<Vec<_>>(), [(4096, 3), (8192, 20)]);
        assert_eq!(text(at, "0/state"), "update_schemes_tried_regions");
        drop(damon);
        assert_eq!((text(at, "0/state"), text(at, "nr_kdamonds")), ("off".into(), "0".into()));
        assert!(!at.join(OWNER).exists());
    }

    #[test]
    fn a_crashed_owner_is_cleaned_up_after_and_a_stranger_is_left_alone() {
        let root = machine();
        let at = root.path();
        std::mem::forget(Damon::start(at, 77, &DamonOptions::default()).unwrap());
        fs::write(at.join(OWNER), "4294967").unwrap();
        drop(Damon::start(at, 78, &DamonOptions::default()).unwrap());
        fs::write(at.join(ADMIN).join("nr_kdamonds"), "2").unwrap();
        let refused = Damon::start(at, 79, &DamonOptions::default()).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::ResourceBusy);
        assert_eq!(text(at, "nr_kdamonds"), "2");
        let none = tempfile::tempdir().unwrap();
        assert_eq!(Damon::start(none.path(), 1, &DamonOptions::default()).unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn the_hottest_ranges_are_taken_until_the_share_is_reached() {
        let regions = [region(0, 100, 1), region(100, 200, 10), region(200, 300, 9), region(900, 1000, 0)];
        assert_eq!(hot_ranges(&regions, 0.4), [(100, 200)]);
        assert_eq!(hot_ranges(&regions, 0.9), [(100, 300)]);
        assert_eq!(hot_ranges(&regions, 1.0), [(0, 300)]);
        assert!(hot_ranges(&regions, 0.0).is_empty() && hot_ranges(&[], 1.0).is_empty());
    }
}
