//! The scan settings of automatic NUMA balancing: how much is taken away from a process, how often.
//!
//! In every scan period the kernel goes through the memory of a process once (in real time, and while its threads use
//! processor time), `scan_size_mb` at a time: a process of R MiB is scanned R / size times in a period. Each page taken away
//! faults once, in the thread that comes first. So a process has at most `max(R, size) x 256 / period` hinting faults a
//! second on base pages, whatever its threads do.
//!
//! The size of a scan counts from the next one on, but each thread keeps its scan period until the whole process has been
//! gone through. So who changes the rate while a program runs keeps the time between scans and changes their size.
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Below the root.
const DIR: &str = "sys/kernel/debug/sched/numa_balancing";
/// Where settings that were changed are written down, below the root; only root can, and only root changes settings.
const SAVED: &str = "run/homenode/numa-balancing.saved";
const NAMES: [&str; 4] = ["scan_delay_ms", "scan_period_min_ms", "scan_period_max_ms", "scan_size_mb"];
/// Whether there is balancing at all, below the root.
pub(super) const BALANCING: &str = "proc/sys/kernel/numa_balancing";
/// Bit of that file: hinting faults for placement.
pub(super) const NORMAL: u64 = 1;
/// Base pages in a mebibyte.
const PAGES_PER_MB: f64 = 256.0;
/// Longest scan period that is ever set: a day.
const PERIOD_MAX_MS: u64 = 86_400_000;

/// Scan settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Knobs {
    /// Milliseconds of processor time of a new process before its first scan.
    pub scan_delay_ms: u64,
    /// Shortest time in which all of a process is scanned once, in milliseconds.
    pub scan_period_min_ms: u64,
    /// Longest time, to which the kernel goes while most faults are local.
    pub scan_period_max_ms: u64,
    /// Mebibytes taken away by a scan.
    pub scan_size_mb: u64,
    /// `kernel.numa_balancing`.
    pub balancing: u64,
}

impl Knobs {
    /// The settings below `root`; `None` if they cannot be read.
    pub fn read(root: &Path) -> Option<Knobs> {
        let number = |path: PathBuf| fs::read_to_string(path).ok()?.trim().parse().ok();
        let value = |name: &str| number(root.join(DIR).join(name));
        let [scan_delay_ms, scan_period_min_ms, scan_period_max_ms, scan_size_mb] = NAMES.map(value);
        Some(Knobs {
            scan_delay_ms: scan_delay_ms?,
            scan_period_min_ms: scan_period_min_ms?,
            scan_period_max_ms: scan_period_max_ms?,
            scan_size_mb: scan_size_mb?,
            balancing: number(root.join(BALANCING))?,
        })
    }
    fn write(&self, root: &Path) -> io::Result<()> {
        let values = [self.scan_delay_ms, self.scan_period_min_ms, self.scan_period_max_ms, self.scan_size_mb];
        let mut pairs = NAMES.iter().zip(values);
        pairs.try_for_each(|(name, v)| fs::write(root.join(DIR).join(name), v.to_string()))?;
        fs::write(root.join(BALANCING), self.balancing.to_string())
    }
    fn numbers(&self) -> [u64; 5] {
        let Knobs { scan_delay_ms, scan_period_min_ms, scan_period_max_ms, scan_size_mb, balancing } = *self;
        [scan_delay_ms, scan_period_min_ms, scan_period_max_ms, scan_size_mb, balancing]
    }
    fn of([scan_delay_ms, scan_period_min_ms, scan_period_max_ms, scan_size_mb, balancing]: [u64; 5]) -> Knobs {
        Knobs { scan_delay_ms, scan_period_min_ms, scan_period_max_ms, scan_size_mb, balancing }
    }
    /// Most hinting faults that a process of so many MiB can have in a second, on base pages.
    pub fn faults_per_second_max(&self, resident_mb: u64) -> f64 {
        let mb = resident_mb.max(self.scan_size_mb);
        mb as f64 * PAGES_PER_MB * 1000.0 / self.scan_period_min_ms.max(1) as f64
    }
    /// Balancing switched on, settings under which faults that cost `cost_ns` each take at most `permille` thousandths of one
    /// processor, and each page of a process of `resident_mb` comes around as often as that allows.
    pub fn bounded(cost_ns: f64, permille: u32, resident_mb: u64, beat: Beat) -> Knobs {
        let per_second = f64::from(permille.clamp(1, 1000)) * 1e6 / cost_ns.max(1.0);
        let mb_per_second = per_second / PAGES_PER_MB;
        let resident_mb = resident_mb.max(1);
        let at_once = (mb_per_second * beat.between_ms / 1000.0).floor();
        let size = (at_once.min(4096.0) as u64).clamp(1, (resident_mb / beat.parts).max(1));
        // One mebibyte is the least that the kernel takes; where even that is too much, it comes more rarely.
        let between_ms = beat.between_ms.max(1000.0 / mb_per_second);
        let scans = resident_mb.div_ceil(size);
        let period = ((scans as f64 * between_ms).ceil() as u64).min(PERIOD_MAX_MS);
        Knobs::of([100, period, period, size, NORMAL])
    }
}

/// How scans follow each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Beat {
    /// Milliseconds between two scans of a process, unless the least that the kernel scans is too much for that.
    pub between_ms: f64,
    /// In at least so many scans a process is gone through: the kernel (since 6.4) passes over mappings on which a thread has
    /// not faulted lately, and after a scan of everything in one go that is so for all of them; threads also pause for 32
    /// times as long as they scanned. And windows shorter than a program's own steps see only the step.
    pub parts: u64,
}

impl Beat {
    /// For a rate that stays.
    pub const STEADY: Beat = Beat { between_ms: 250.0, parts: 8 };
    /// For a rate that is changed while the program runs: rare enough for low rates by scans of 1 MiB.
    pub const CHANGING: Beat = Beat { between_ms: 1000.0, parts: 4 };
}

/// Changed settings, put back when dropped.
#[derive(Debug)]
pub struct HeldKnobs {
    root: PathBuf,
    before: Knobs,
}

impl HeldKnobs {
    /// Writes down what stands there, then changes it.
    ///
    /// # Errors
    /// No permission, or no such settings; then nothing is changed.
    pub fn set(root: &Path, knobs: &Knobs) -> io::Result<HeldKnobs> {
        restore_leftover(root)?;
        let before = Knobs::read(root).ok_or(io::ErrorKind::NotFound)?;
        let saved = root.join(SAVED);
        if let Some(dir) = saved.parent() {
            fs::create_dir_all(dir)?;
        }
        let numbers = before.numbers().map(|n| n.to_string()).join(" ");
        fs::write(&saved, format!("{} {numbers}\n", std::process::id()))?;
        // From here on, dropping puts everything back, also if only some settings could be changed.
        let held = HeldKnobs { root: root.to_owned(), before };
        held.change(knobs)?;
        Ok(held)
    }
    /// Changes them again; what is put back at the end stays the same.
    pub fn change(&self, knobs: &Knobs) -> io::Result<()> {
        // Memory tiering is somebody else's wish.
        let balancing = knobs.balancing | self.before.balancing & !NORMAL;
        Knobs { balancing, ..*knobs }.write(&self.root)
    }
    /// What stood there before.
    pub fn before(&self) -> &Knobs {
        &self.before
    }
}

impl Drop for HeldKnobs {
    fn drop(&mut self) {
        if self.before.write(&self.root).is_ok() {
            // If this fails, the next start puts back the same values once more.
            let _ = fs::remove_file(self.root.join(SAVED));
        }
    }
}

/// Puts back the settings that a process which no longer runs had changed. Returns them if there were any.
///
/// # Errors
/// Another recording holds the settings at this moment ([`io::ErrorKind::ResourceBusy`]), or no permission.
pub fn restore_leftover(root: &Path) -> io::Result<Option<Knobs>> {
    let saved = root.join(SAVED);
    let text = match fs::read_to_string(&saved) {
        Ok(text) => text,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(e),
    };
    let numbers: Option<Vec<u64>> = text.split_ascii_whitespace().map(|w| w.parse().ok()).collect();
    let Some(&[pid, delay, min, max, size, balancing]) = numbers.as_deref() else {
        // Torn by a crash before anything was changed.
        fs::remove_file(&saved)?;
        return Ok(None);
    };
    if u32::try_from(pid).is_ok_and(homenode_sys::process::alive) {
        return Err(io::Error::new(
            io::ErrorKind::ResourceBusy,
            format!("process {pid} has changed the scan settings of the kernel and will put them back"),
        ));
    }
    let knobs = Knobs::of([delay, min, max, size, balancing]);
    knobs.write(root)?;
    fs::remove_file(&saved)?;
    Ok(Some(knobs))
}

#[cfg(test)]
mod tests {
    use super::*;

    const USUAL: Knobs = Knobs {
        scan_delay_ms: 1000,
        scan_period_min_ms: 1000,
        scan_period_max_ms: 60_000,
        scan_size_mb: 256,
        balancing: 2,
    };

    fn root() -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join(DIR)).unwrap();
        fs::create_dir_all(root.path().join("proc/sys/kernel")).unwrap();
        USUAL.write(root.path()).unwrap();
        root
    }

    #[test]
    fn settings_return_at_the_end_and_after_a_crash_and_are_not_taken_from_a_living_process() {
        let root = root();
        let at = root.path();
        let new = Knobs { scan_size_mb: 8, balancing: 3, ..USUAL };
        let held = HeldKnobs::set(at, &Knobs { balancing: 1, ..new }).unwrap();
        assert_eq!((Knobs::read(at), *held.before()), (Some(new), USUAL));
        assert_eq!(HeldKnobs::set(at, &USUAL).unwrap_err().kind(), io::ErrorKind::ResourceBusy);
        assert_eq!(restore_leftover(at).unwrap_err().kind(), io::ErrorKind::ResourceBusy);
        held.change(&Knobs { scan_size_mb: 16, ..USUAL }).unwrap();
        drop(held);
        assert_eq!((Knobs::read(at), restore_leftover(at).unwrap()), (Some(USUAL), None));
        // A crash: the process of the note is gone.
        std::mem::forget(HeldKnobs::set(at, &new).unwrap());
        let note = fs::read_to_string(at.join(SAVED)).unwrap();
        let dead = note.replace(&std::process::id().to_string(), "4294967");
        fs::write(at.join(SAVED), dead).unwrap();
        assert_eq!(restore_leftover(at).unwrap(), Some(USUAL));
        assert_eq!(Knobs::read(at), Some(USUAL));
        for torn in ["", "12", "1 2 x 4 5 6", "1 2 3 4 5"] {
            fs::write(at.join(SAVED), torn).unwrap();
            assert_eq!(restore_leftover(at).unwrap(), None);
        }
    }

    #[test]
    fn without_settings_nothing_is_written_down() {
        let empty = tempfile::tempdir().unwrap();
        assert!(HeldKnobs::set(empty.path(), &USUAL).is_err() && !empty.path().join(SAVED).exists());
    }

    #[test]
    fn the_bound_holds_for_every_cost_and_size() {
        for cost_ns in [200.0, 1_000.0, 3_500.0, 50_000.0, 5e6] {
            for permille in [1, 5, 20, 100, 1000] {
                for (i, resident_mb) in [0, 8, 100, 5_000, 1 << 20].repeat(2).into_iter().enumerate() {
                    let beat = [Beat::STEADY, Beat::CHANGING][i % 2];
                    let k = Knobs::bounded(cost_ns, permille, resident_mb, beat);
                    let share = k.faults_per_second_max(resident_mb) * cost_ns * 1e-9;
                    let bound = f64::from(permille) / 1000.0;
                    assert!(share <= bound * 1.001 || k.scan_period_min_ms == PERIOD_MAX_MS, "{k:?}: {share}, {bound}");
                    assert!(k.scan_period_min_ms >= 250 && k.scan_period_min_ms == k.scan_period_max_ms);
                    let parts = resident_mb.max(1).div_ceil(k.scan_size_mb);
                    assert!(parts >= beat.parts.min(resident_mb), "{k:?}");
                }
            }
        }
        let usual = Knobs::bounded(2_000.0, 20, 1_000, Beat::STEADY);
        assert!(usual.faults_per_second_max(1_000) > 9_000.0, "{usual:?}");
    }

    #[test]
    fn a_lower_rate_makes_scans_smaller_and_keeps_the_time_between_them() {
        let between = |k: Knobs| k.scan_period_min_ms as f64 / 100f64.div_euclid(k.scan_size_mb as f64).max(1.0);
        let [fast, slow] = [1_500.0, 50_000.0].map(|cost| Knobs::bounded(cost, 20, 100, Beat::CHANGING));
        assert!(fast.scan_size_mb == 25 && slow.scan_size_mb == 1, "{fast:?} {slow:?}");
        assert!(
            (900.0..1400.0).contains(&between(fast)) && (900.0..1400.0).contains(&between(slow)),
            "{fast:?} {slow:?}"
        );
    }
}
