//! The kernel's page faults as samples of use: first touches left out, the scan rate bounded.
use super::classify::Seen;
use crate::SamplingError;
use crate::perf::{EventChoice, PerfOptions, PerfSource, Target};
use crate::samples::{Notice, RawSample, SampleSource};
use crate::thin::Thin;
use homenode_host::balancing::{Beat, Extent, HeldKnobs, Knobs, Moves, Status};
use homenode_trace::{DataSource, Op, SampleUnit};
use std::collections::VecDeque;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// Nanoseconds that recording one fault adds to the fault itself: an assumption on the high side.
const RECORD_NS: f64 = 1_000.0;
/// A fault says that a node touched a page in a scan window, not how often: assumed.
const ACCESSES_PER_FAULT: u32 = 1000;
/// How often the rate is looked at, and huge pages if there were new mappings.
const JUDGE: Duration = Duration::from_secs(2);
/// How often huge pages are looked at anyway: the kernel makes them of small ones without a word.
const SURVEY: Duration = Duration::from_secs(30);
/// The settings follow the size and the age of the program: after so long, then whenever it has become an eighth older.
const TUNE: Duration = Duration::from_millis(100);
const TUNE_SHARE: u32 = 8;
/// Least faults that come from a scan, not from what was left of one; and time after them until threads have the news.
const FIRST_USES: u64 = 64;
const SETTLED: Duration = Duration::from_millis(1000);
/// The first scan of a new program is a second after its start; the kernel lets no thread wait for longer than a minute.
const SETTLE_LEAST: Duration = Duration::from_millis(1500);
const SETTLE_MOST: Duration = Duration::from_secs(60);
/// Pages touched to learn what a fault costs.
const PROBE_PAGES: usize = 256;
/// Base pages in a mebibyte, the least that the kernel scans at once.
const PAGES_PER_MB: f64 = 256.0;
/// No page fault is cheaper than this; less was measured where the probe got huge pages.
const FAULT_NS_MIN: f64 = 500.0;

/// What may be done to the kernel's settings, which are the whole machine's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kernel {
    /// Nothing is written: faults are taken as they come, if they come.
    Untouched,
    /// Balancing is switched on and scans are set for the process, both for the time of the recording.
    Tuned,
}

/// Hinting faults of a process tree. Dropped, it puts the kernel's settings back.
pub struct FaultSource {
    perf: PerfSource,
    pid: u32,
    seen: Seen,
    knobs: Option<HeldKnobs>,
    cost_ns: f64,
    permille: u32,
    wanted: Option<u64>,
    before: Option<Moves>,
    judged: Instant,
    surveyed: Instant,
    /// When this began, and when the settings were last adjusted.
    opened: Instant,
    tuned: Instant,
    /// Until the program's threads have heard of the settings.
    settling: bool,
    /// Faults that were uses, and when there were enough of them for a scan.
    uses: u64,
    first: Option<Instant>,
    /// Whether memory was mapped since the last look at huge pages.
    mapped: bool,
    /// The settings last asked for.
    asked: Knobs,
    thin: Thin,
    /// Faults in the time since then.
    faults: u64,
    rates: VecDeque<f64>,
    raw: Vec<RawSample>,
    /// Whether the processes were there before, so that pages are there that nobody was seen to bring in.
    joined: bool,
}

impl std::fmt::Debug for FaultSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "FaultSource({:?}, {} first touches)", self.perf, self.seen.first_touches)
    }
}

impl FaultSource {
    /// Samples `target`; faults may cost `overhead_permille` thousandths of one processor. Where the kernel may be tuned its scan
    /// settings are set accordingly; otherwise they stay as they are.
    ///
    /// # Errors
    /// [`SamplingError`] with what is missing and how to grant it.
    pub fn open(target: Target, overhead_permille: u32, kernel: Kernel) -> Result<FaultSource, SamplingError> {
        FaultSource::open_below(Path::new("/"), target, overhead_permille, kernel)
    }
    /// As [`FaultSource::open`], the kernel's files below `root`.
    pub(crate) fn open_below(
        root: &Path,
        target: Target,
        overhead_permille: u32,
        kernel: Kernel,
    ) -> Result<FaultSource, SamplingError> {
        let refuse = |why: String| SamplingError { name: "faults", why };
        if kernel == Kernel::Tuned {
            // What cannot be put back is told by the doctor; settings in another recording's hands are met below.
            crate::leftovers::clean_up(root);
        }
        let status = Status::read(root);
        if let Some(missing) = status.missing_in_words() {
            return Err(refuse(missing));
        }
        let options = PerfOptions { overhead_permille, ..PerfOptions::default() };
        let perf = PerfSource::open(target, EventChoice::PageFaults, &options)?;
        let (cost_ns, pid) = (fault_cost_ns() + RECORD_NS, target.pid());
        let joined = matches!(target, Target::Running(_));
        let wish = Knobs::settling(cost_ns, overhead_permille, joined.then(|| extent(pid)));
        let knobs = match kernel {
            Kernel::Untouched if status.faults_happen() => None,
            Kernel::Untouched => return Err(refuse(SWITCHED_OFF.to_owned())),
            Kernel::Tuned => hold(root, &wish, &status).map_err(refuse)?,
        };
        let mut source = FaultSource {
            perf,
            pid,
            seen: Seen::default(),
            knobs,
            cost_ns,
            permille: overhead_permille.clamp(1, 1000),
            wanted: None,
            before: Moves::read(root),
            judged: Instant::now(),
            surveyed: Instant::now(),
            opened: Instant::now(),
            tuned: Instant::now(),
            settling: true,
            uses: 0,
            first: None,
            mapped: true,
            asked: wish,
            thin: Thin::default(),
            faults: 0,
            rates: VecDeque::new(),
            raw: Vec::new(),
            joined,
        };
        if source.joined {
            source.meet(pid);
        }
        Ok(source)
    }
    /// Learns what a process that was there before has in memory.
    fn meet(&mut self, pid: u32) {
        let file = |name: &str| format!("/proc/{pid}/{name}");
        // What cannot be read costs one window for each page.
        if let (Ok(maps), Ok(mut pagemap)) = (fs::read_to_string(file("maps")), fs::File::open(file("pagemap"))) {
            self.seen.learn_present(pid, &maps, &mut pagemap);
        }
        self.seen.learn_huge(pid, &fs::read_to_string(file("smaps")).unwrap_or_default());
    }
    /// Pages that the kernel moved and hinting faults that it made since the beginning, on the whole machine.
    pub fn moves(&self) -> Option<Moves> {
        Some(Moves::read(Path::new("/"))?.since(self.before?))
    }
    fn mean_rate(&self) -> f64 {
        if self.rates.is_empty() { 0.0 } else { self.rates.iter().sum::<f64>() / self.rates.len() as f64 }
    }

    /// Every two seconds: how fast do faults come, and which memory is in huge pages now?
    fn judge(&mut self) {
        let elapsed = self.judged.elapsed();
        if elapsed < JUDGE {
            return;
        }
        let rate = self.faults as f64 / elapsed.as_secs_f64();
        (self.faults, self.judged) = (0, Instant::now());
        self.rates.push_back(rate);
        if self.rates.len() > 10_000 {
            self.rates.pop_front();
        }
        self.thin.arrives(rate);
        let survey = self.surveyed.elapsed() >= SURVEY;
        // Reading smaps walks all page tables: worth it only where something may have changed.
        if std::mem::take(&mut self.mapped) || survey {
            for pid in self.seen.processes() {
                if let Ok(smaps) = fs::read_to_string(format!("/proc/{pid}/smaps")) {
                    self.seen.learn_huge(pid, &smaps);
                }
            }
        }
        if survey {
            self.surveyed = Instant::now();
        }
    }
    /// Often at first and ever more rarely: how large is the program by now, and how old?
    fn tune(&mut self) {
        let (heard, age) = (self.first.is_some_and(|first| first.elapsed() >= SETTLED), self.opened.elapsed());
        if self.settling && (heard && age >= SETTLE_LEAST || age >= SETTLE_MOST) {
            self.settling = false;
            self.adjust();
        }
        let next = (self.opened.elapsed() / TUNE_SHARE).clamp(TUNE, SURVEY);
        if self.tuned.elapsed() >= next {
            self.adjust();
        }
    }
    /// The size of the largest process.
    fn extent(&self) -> Extent {
        let all = std::iter::once(self.pid).chain(self.seen.processes()).map(extent);
        all.max_by_key(|e| e.resident_mb).unwrap_or_default()
    }
    fn adjust(&mut self) {
        self.tuned = Instant::now();
        let Some(held) = self.knobs.as_ref().filter(|_| !self.settling) else { return };
        let affordable = f64::from(self.permille) * 1e6 / self.cost_ns;
        let (allowed, beat) = match self.wanted {
            None => {
                let running = self.opened.elapsed().as_millis();
                (affordable, Beat::steady(u64::try_from(running).unwrap_or(u64::MAX)))
            }
            // Not more rarely than the least that the kernel scans every second: the rest is thinned out, because threads
            // that have been told to scan rarely hear of another wish only much later.
            Some(wanted) => (affordable.min((wanted as f64).max(PAGES_PER_MB)), Beat::CHANGING),
        };
        // What a lower rate costs is the same sum with a dearer fault.
        let cost = f64::from(self.permille) * 1e6 / allowed.max(1.0);
        let mut wish = Knobs::bounded(cost, self.permille, self.extent(), beat);
        if self.wanted == Some(0) {
            // A pause.
            wish = Knobs { scan_period_min_ms: 60_000, scan_size_mb: 1, ..wish };
        }
        // If the kernel refuses now, it keeps the settings that it accepted before.
        if wish != self.asked && held.change(&wish).is_ok() {
            self.asked = wish;
        }
    }
}

impl SampleSource for FaultSource {
    fn unit(&self) -> SampleUnit {
        SampleUnit::Window
    }
    fn event(&self) -> String {
        "NUMA-hinting faults".to_owned()
    }
    fn sees_writes(&self) -> bool {
        // A fault shows that the page was used, not how.
        false
    }
    fn poll(
        &mut self,
        timeout: Duration,
        samples: &mut Vec<RawSample>,
        notices: &mut Vec<Notice>,
    ) -> Result<bool, SamplingError> {
        self.raw.clear();
        let known = notices.len();
        let more = self.perf.poll(timeout, &mut self.raw, notices)?;
        self.faults += self.raw.len() as u64;
        self.raw.sort_by_key(|s| s.time_ns);
        self.mapped |= notices[known..].iter().any(|n| matches!(n, Notice::Map { .. }));
        let mut fresh = notices[known..].iter().filter(|n| time_of(n).is_some()).peekable();
        let raw = std::mem::take(&mut self.raw);
        for sample in &raw {
            if self.joined && !self.seen.knows(sample.pid) {
                self.meet(sample.pid);
            }
            while let Some(notice) = fresh.next_if(|n| time_of(n).is_some_and(|t| t <= sample.time_ns)) {
                self.seen.notice(notice);
            }
            let is_use = self.seen.is_use(sample.pid, sample.addr);
            self.uses = self.uses.saturating_add(u64::from(is_use));
            match is_use {
                true if self.thin.keeps() => samples.push(*sample),
                true => {}
                // Where the page began is worth knowing, but it is no use of it.
                false => samples.push(RawSample { op: Op::Write, source: DataSource::FirstTouch, ..*sample }),
            }
        }
        fresh.for_each(|n| self.seen.notice(n));
        self.raw = raw;
        self.first = self.first.or_else(|| (self.uses >= FIRST_USES).then(Instant::now));
        self.judge();
        self.tune();
        Ok(more)
    }
    fn set_rate(&mut self, per_second: u64) -> Result<(), SamplingError> {
        self.wanted = Some(per_second);
        self.thin.want(per_second as f64);
        self.adjust();
        Ok(())
    }
    fn assumed_accesses(&self) -> Option<u32> {
        Some(ACCESSES_PER_FAULT)
    }
    fn lost(&self) -> u64 {
        self.perf.lost()
    }
    fn unaddressed(&self) -> u64 {
        self.perf.unaddressed()
    }
    fn notes(&self) -> Vec<String> {
        let mut notes = vec![format!(
            "{} page faults were first touches of a page: they say where it began and are not counted as use",
            self.seen.first_touches
        )];
        let (mean, most) = (self.mean_rate(), self.rates.iter().copied().fold(0.0, f64::max));
        notes.push(format!(
            "page faults came {mean:.0} times a second on average and {most:.0} at most; at {:.1} us each that is {:.2} % of \
             one processor on average",
            self.cost_ns / 1000.0,
            mean * self.cost_ns * 1e-7
        ));
        if self.knobs.is_none() {
            notes.push(
                "the kernel's own scan settings were in force (--tune-kernel, as root, sets them for the program): the overhead bound \
                 was watched and not enforced"
                    .to_owned(),
            );
        }
        if let Some(moves) = self.moves() {
            notes.push(format!("the kernel's balancing moved {} pages of the machine meanwhile", moves.pages));
        }
        notes
    }
    fn kernel_moves(&self) -> Option<u64> {
        Some(self.moves()?.pages)
    }
}

/// Why there are no faults, and what to do.
pub const SWITCHED_OFF: &str = "kernel.numa_balancing is off, so the kernel makes no hinting faults: --tune-kernel switches it on for \
                            the time of the run (root; the whole machine's setting, put back at the end), sysctl \
                            kernel.numa_balancing=1 for good";

/// Takes the kernel's settings in hand and says so: they are the whole machine's.
fn hold(root: &Path, wish: &Knobs, status: &Status) -> Result<Option<HeldKnobs>, String> {
    match HeldKnobs::set(root, wish) {
        Ok(held) => Ok(Some(held)),
        // Without permission the settings stay, and the rate is what they make of it.
        Err(_) if status.faults_happen() => Ok(None),
        Err(e) => Err(format!("kernel.numa_balancing is off and cannot be switched on: {e}")),
    }
}

fn time_of(notice: &Notice) -> Option<u64> {
    match notice {
        Notice::Fork { time_ns, .. } | Notice::Exit { time_ns, .. } | Notice::Map { time_ns, .. } => Some(*time_ns),
        Notice::Lost(_) | Notice::Throttled => None,
    }
}

/// Nanoseconds of a page fault here: fresh memory read page by page.
pub fn fault_cost_ns() -> f64 {
    let one = || {
        let bytes = vec![0u8; PROBE_PAGES * 4096];
        let began = Instant::now();
        let mut sum = 0u64;
        for page in bytes.chunks_exact(4096) {
            // The allocator gave untouched zero pages; reading through a black box is a fault each.
            sum += u64::from(*std::hint::black_box(&page[0]));
        }
        std::hint::black_box(sum);
        began.elapsed().as_nanos() as f64 / PROBE_PAGES as f64
    };
    // The median: the first includes warming up, one may be interrupted.
    let mut tries = [one(), one(), one(), one(), one()];
    tries.sort_by(f64::total_cmp);
    tries[2].max(FAULT_NS_MIN)
}

/// The size of a process; 0 if unknown.
fn extent(pid: u32) -> Extent {
    let text = fs::read_to_string(format!("/proc/{pid}/statm")).unwrap_or_default();
    let mut pages = text.split_ascii_whitespace().map(|w| w.parse::<u64>().unwrap_or(0) / 256);
    // Fields: all addresses, resident, shared, text, nothing, data and stack.
    let (resident_mb, mapped_mb) = (pages.nth(1).unwrap_or(0), pages.nth(3).unwrap_or(0));
    Extent { resident_mb, mapped_mb }
}
