//! The scan settings of automatic NUMA balancing: how much is taken away from a process, how often.
//!
//! In every scan period the kernel goes through the memory of a process once (in real time, and while its threads use
//! processor time), `scan_size_mb` at a time: a process of R MiB is scanned R / size times in a period. Each page taken away
//! faults once, in the thread that comes first. So a process has at most `max(R, size) x 256 / period` hinting faults a
//! second on base pages, whatever its threads do.
//!
//! The size of a scan counts from the next one on, but each thread keeps its scan period until the whole process has been
//! gone through. So who changes the rate while a program runs keeps the time between scans and changes their size.
//!
//! Since Linux 6.4 a thread passes over mappings on which it has not faulted lately, and takes them only when all others have
//! been gone through some times without them. What is lately follows from the delay before the first scan: marks of who
//! faulted live for four to eight delays. Where going through a process takes longer than that, a mapping that needs several
//! scans has lost its marks by the next round and is looked at in every fourth round or less. So the delay grows with the period.
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
/// Set as the longest period, so that the shortest is the only one: the kernel lengthens a thread's period while most faults are
/// local, and multiplies the longest by the number of threads that share memory.
const NO_LONGER_MS: u64 = 1;
/// Delay before a new process or mapping is scanned, at least and at most. Marks live for four times as long: through seconds in
/// which a program touches little, and while it fills a mapping for the first time.
const DELAY_MS: u64 = 1_000;
const DELAY_MAX_MS: u64 = 60_000;
/// Shortest period that is ever set.
const PERIOD_MIN_MS: u64 = 20;
/// A scan passes over so many times its size of addresses.
const PASSED_OVER: u64 = 8;

/// Scan settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Knobs {
    /// Milliseconds of processor time of a new process before its first scan.
    pub scan_delay_ms: u64,
    /// Shortest time in which all of a process is scanned once, in milliseconds.
    pub scan_period_min_ms: u64,
    /// Longest time, to which the kernel goes while most faults are local; below the shortest it means the shortest.
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
    /// processor, and each page of a process comes around as often as `beat` wants and that allows.
    pub fn bounded(cost_ns: f64, permille: u32, process: Extent, beat: Beat) -> Knobs {
        let per_second = f64::from(permille.clamp(1, 1000)) * 1e6 / cost_ns.max(1.0);
        let mb_per_second = per_second / PAGES_PER_MB;
        let resident_mb = process.resident_mb.max(1);
        let at_once = (mb_per_second * beat.between_ms / 1000.0).ceil();
        let size = (at_once.min(4096.0) as u64).clamp(1, (resident_mb / beat.parts).max(1));
        let (filled, passed) = (resident_mb.div_ceil(size), process.mapped_mb.div_ceil(size * PASSED_OVER));
        // The kernel takes whole mebibytes; where they are too much, they come more rarely.
        let round_ms = beat.round_ms.unwrap_or(beat.between_ms * filled as f64);
        let between_ms = (round_ms / filled.max(passed) as f64).max(size as f64 * 1000.0 / mb_per_second);
        // The kernel divides the period by the scans that what is resident takes.
        let period = ((filled as f64 * between_ms).ceil() as u64).clamp(PERIOD_MIN_MS, PERIOD_MAX_MS);
        let round = filled.max(passed).saturating_mul(period / filled);
        Knobs::of([(round / 2).clamp(DELAY_MS, DELAY_MAX_MS), period, NO_LONGER_MS, size, NORMAL])
    }
}

impl Knobs {
    /// Until the first faults come: threads that were there before scan as rarely as the kernel had told them, a second to a
    /// minute apart, new ones once in a delay, and both hear of other wishes only when they have gone through everything. So
    /// they are to do that in one scan, if the faults then cost no more than `permille` of [`SETTLE_S`] seconds. `None`: a
    /// process that has yet to grow.
    pub fn settling(cost_ns: f64, permille: u32, process: Option<Extent>) -> Knobs {
        let per_second = f64::from(permille.clamp(1, 1000)) * 1e6 / cost_ns.max(1.0);
        let affordable = (per_second / PAGES_PER_MB * SETTLE_S) as u64;
        let all = process.map_or(4096, |p| p.resident_mb.max(p.mapped_mb.div_ceil(PASSED_OVER)).saturating_add(1));
        Knobs::of([DELAY_MS, SETTLE_MS, NO_LONGER_MS, all.min(affordable).max(1), NORMAL])
    }
}

/// Seconds of which the allowance may be used at once at the beginning.
const SETTLE_S: f64 = 1.0;
/// Milliseconds between scans then, which threads keep for their first round.
const SETTLE_MS: u64 = 500;

/// How large a process is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extent {
    /// Mebibytes in memory.
    pub resident_mb: u64,
    /// Mebibytes of addresses that it may write, in memory or not.
    pub mapped_mb: u64,
}

/// How scans follow each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Beat {
    /// Milliseconds between two scans of a process, unless what the kernel scans at least is too much for that; what is scanned
    /// at once follows from it.
    pub between_ms: f64,
    /// In at least so many scans a process is gone through: threads pause for 32 times as long as they scanned, and windows
    /// that all open at once see only one step of the program.
    pub parts: u64,
    /// Least milliseconds in which a process is gone through; `None` = what follows from the time between scans.
    pub round_ms: Option<f64>,
}

/// A steady round, in milliseconds: at the beginning, and once the program has run for long.
const ROUND_MS: [f64; 2] = [400.0, 2_000.0];
/// In between, this part of the time that the program has run.
const ROUND_SHARE: f64 = 8.0;

impl Beat {
    /// For a rate that is changed while the program runs: rare enough for low rates by scans of 1 MiB.
    pub const CHANGING: Beat = Beat { between_ms: 1000.0, parts: 4, round_ms: None };
    /// For a program that has run for so long: it may be over soon, so its first rounds are short. A long run needs no more
    /// rounds than tell users apart, and windows shorter than a program's own steps see only the step.
    pub fn steady(running_ms: u64) -> Beat {
        let round_ms = Some((running_ms as f64 / ROUND_SHARE).clamp(ROUND_MS[0], ROUND_MS[1]));
        Beat { between_ms: 250.0, parts: 8, round_ms }
    }
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

    fn extent(resident_mb: u64) -> Extent {
        Extent { resident_mb, mapped_mb: resident_mb * 2 }
    }

    #[test]
    fn the_bound_holds_for_every_cost_and_size() {
        for cost_ns in [200.0, 1_000.0, 3_500.0, 50_000.0, 5e6] {
            for permille in [1, 5, 20, 100, 1000] {
                for (i, resident_mb) in [0, 8, 100, 5_000, 1 << 20].repeat(2).into_iter().enumerate() {
                    let beat = [Beat::steady(1000 * i as u64), Beat::CHANGING][i % 2];
                    let k = Knobs::bounded(cost_ns, permille, extent(resident_mb), beat);
                    let share = k.faults_per_second_max(resident_mb) * cost_ns * 1e-9;
                    let bound = f64::from(permille) / 1000.0;
                    assert!(share <= bound * 1.001 || k.scan_period_min_ms == PERIOD_MAX_MS, "{k:?}: {share}, {bound}");
                    assert!(k.scan_period_max_ms <= k.scan_period_min_ms && k.scan_delay_ms >= DELAY_MS);
                    let parts = resident_mb.max(1).div_ceil(k.scan_size_mb);
                    assert!(parts >= beat.parts.min(resident_mb), "{k:?}");
                }
            }
        }
        let usual = Knobs::bounded(2_000.0, 20, extent(1_000), Beat::steady(0));
        assert!(usual.faults_per_second_max(1_000) > 9_000.0, "{usual:?}");
    }

    #[test]
    fn rounds_are_short_at_first_and_marks_outlive_them() {
        let at = |ms| Knobs::bounded(1_500.0, 20, Extent { resident_mb: 10, mapped_mb: 10 }, Beat::steady(ms));
        assert_eq!(
            [0, 2_000, 8_000, 16_000, 3_600_000].map(|ms| at(ms).scan_period_min_ms),
            [400, 400, 1_000, 2_000, 2_000]
        );
        assert_eq!((at(0).scan_delay_ms, at(0).scan_size_mb), (DELAY_MS, 1));
        let dear = Knobs::bounded(1e5, 20, extent(40), Beat::CHANGING);
        assert!(dear.scan_delay_ms * 4 >= dear.scan_period_min_ms * 2, "{dear:?}");
        assert_eq!(Knobs::bounded(1e9, 1, extent(1 << 20), Beat::steady(0)).scan_delay_ms, DELAY_MAX_MS);
        // What a processor can afford comes first: 26 MiB/s of faults of 3 us.
        assert!(Knobs::bounded(3_000.0, 20, extent(260), Beat::steady(0)).scan_period_min_ms >= 9_900);
    }

    #[test]
    fn at_first_everything_is_scanned_at_once() {
        let size = |resident, mapped| {
            Knobs::settling(1_500.0, 20, Some(Extent { resident_mb: resident, mapped_mb: mapped })).scan_size_mb
        };
        // 13,333 faults a second are 52 MiB.
        assert_eq!([size(0, 0), size(5, 20), size(5, 400), size(1 << 20, 1 << 20)], [1, 6, 51, 52]);
        assert_eq!(
            [Knobs::settling(1e9, 1, None), Knobs::settling(1_500.0, 20, None)].map(|k| k.scan_size_mb),
            [1, 52]
        );
    }

    #[test]
    fn addresses_without_memory_take_scans_as_well() {
        // 4 MiB in memory, and the stacks of eight threads: 68 MiB take nine scans of 1 MiB, so they follow each other faster.
        let sparse = Knobs::bounded(1_500.0, 20, Extent { resident_mb: 4, mapped_mb: 68 }, Beat::steady(16_000));
        assert_eq!((sparse.scan_size_mb, sparse.scan_period_min_ms), (1, 4 * 2_000 / 9 + 1));
        assert!(sparse.faults_per_second_max(4) * 1_500.0 * 1e-9 < 0.02);
    }

    #[test]
    fn a_lower_rate_makes_scans_smaller_and_keeps_the_time_between_them() {
        let between = |k: Knobs| k.scan_period_min_ms as f64 / 100f64.div_euclid(k.scan_size_mb as f64).max(1.0);
        let [fast, slow] = [1_500.0, 50_000.0].map(|cost| Knobs::bounded(cost, 20, extent(100), Beat::CHANGING));
        assert!(fast.scan_size_mb == 25 && slow.scan_size_mb == 2, "{fast:?} {slow:?}");
        assert!(
            (900.0..1400.0).contains(&between(fast)) && (900.0..1400.0).contains(&between(slow)),
            "{fast:?} {slow:?}"
        );
    }
}
