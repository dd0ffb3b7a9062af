//! Memory time: what the model says that a program waits for memory, beside the time that it took without hooks.
use crate::compare::is_named;
use crate::units::{CostUnit, percent};
use homenode_base::TotalCost;
use homenode_sim::evaluation::ThreadRow;
use homenode_sim::{Evaluation, MissModel};
use homenode_trace::Manifest;
use homenode_trace::manifest::Native;
use schemars::JsonSchema;
use serde::Serialize;

/// Memory time of a whole run, under first touch.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MemoryTime {
    /// Name of the model of misses: `latency` or `overlap`.
    pub model: String,
    /// Machine whose costs these are. The times beside them are those of the machine that recorded.
    pub machine: String,
    /// Picoseconds of all threads together: the first-touch total, and hits in last levels.
    pub total: TotalCost,
    /// Of this, hits in last levels, which no placement changes; 0 where they have no price.
    pub in_caches: TotalCost,
    /// Picoseconds of the thread that has most.
    pub longest: TotalCost,
    /// That thread.
    pub longest_thread: u32,
    /// What the program took without hooks.
    pub native: Native,
    /// Share of the processor time, user and system; null if the model says more than there was.
    #[schemars(with = "Option<f64>")]
    pub share: Option<f64>,
    /// Sentence for the reader.
    pub sentence: String,
}

impl MemoryTime {
    /// Of an evaluation of a recording whose program ran to its end and was calibrated.
    pub(crate) fn of(manifest: &Manifest, e: &Evaluation) -> Option<MemoryTime> {
        let native = calibrated(manifest)?;
        if CostUnit::of(&e.unit) != CostUnit::Time {
            return None;
        }
        let total = e.policies.iter().find(|p| is_named(&p.name, "first touch"))?.total;
        let in_caches = e.totals.hits.map_or(TotalCost::ZERO, |h| h.cost);
        let of = |t: &ThreadRow| t.cost + t.hit_cost.unwrap_or(TotalCost::ZERO);
        let longest = e.threads.iter().max_by_key(|t| (of(t), std::cmp::Reverse(t.thread)))?;
        let model = if e.totals.misses.is_some() { MissModel::Overlap } else { MissModel::Latency };
        let mut time = MemoryTime {
            model: model.name().to_owned(),
            machine: e.machine.clone(),
            total: total + in_caches,
            in_caches,
            longest: of(longest),
            longest_thread: longest.thread,
            native,
            share: None,
            sentence: String::new(),
        };
        time.share = time.is_possible().then(|| time.total.ratio_to(time.processor_time()));
        time.sentence = if time.share.is_some() { time.as_share() } else { time.beyond() };
        Some(time)
    }

    /// Why it should not be believed, if so: a sentence.
    pub(crate) fn doubt(&self) -> Option<String> {
        self.share.is_none().then(|| self.sentence.clone())
    }

    fn processor_time(&self) -> TotalCost {
        picoseconds(self.native.cpu_us())
    }
    /// Nobody can have waited longer than he ran.
    fn is_possible(&self) -> bool {
        self.total <= self.processor_time() && self.longest <= picoseconds(self.native.wall_us)
    }

    fn as_share(&self) -> String {
        let share = percent(self.total.ratio_to(self.processor_time()));
        let in_caches = match self.in_caches > TotalCost::ZERO {
            true => format!(" ({} of it in last levels, which no placement changes)", words(self.in_caches)),
            false => String::new(),
        };
        let total = words(self.total);
        let of = format!("Memory time {total}{in_caches} of {} processor time ({share})", self.native_words());
        let longest = match self.longest < self.total {
            true => format!("; longest thread {}", words(self.longest)),
            false => String::new(),
        };
        format!("{of} by --model {} on {}{longest}", self.model, self.machine)
    }

    fn beyond(&self) -> String {
        let wall = picoseconds(self.native.wall_us);
        let more = match self.total > self.processor_time() {
            true => format!("the program's whole processor time: {} of {}", words(self.total), self.native_words()),
            false => format!(
                "the program's whole run: {} for thread {}, of {} on the clock without hooks",
                words(self.longest),
                self.longest_thread,
                words(wall)
            ),
        };
        let why = match self.model == MissModel::Latency.name() {
            true => "every miss is charged in full, as if processors neither overlapped nor prefetched them; --model overlap charges those less, on machines that say how much".to_owned(),
            false => format!(
                "the caches and costs of {} are not those that it ran on, or misses are charged whole of which nobody knows whether they are waited for",
                self.machine
            ),
        };
        format!("The {} model charges more than {more}, which cannot be; {why}.", self.model)
    }

    fn native_words(&self) -> String {
        format!("{} native", words(self.processor_time()))
    }
}

/// What the program took without hooks, of a recording of all of such a run.
fn calibrated(manifest: &Manifest) -> Option<Native> {
    let is_whole = manifest.complete && manifest.ended.is_empty() && manifest.exit_status == Some(0);
    let is_part = manifest.roi.is_some() || manifest.sampling.is_some();
    manifest.native.clone().filter(|n| n.cpu_us() > 0 && is_whole && !is_part)
}

/// Picoseconds of processor time that the program took without hooks, the kernel's for it left out; `None` if nobody measured that.
pub fn native_ps(manifest: &Manifest) -> Option<u64> {
    calibrated(manifest)?.user_us.checked_mul(1_000_000)
}

fn picoseconds(us: u64) -> TotalCost {
    TotalCost(i128::from(us) * 1_000_000)
}

fn words(time: TotalCost) -> String {
    CostUnit::Time.cost(time)
}

/// What the program took without hooks, in words.
pub fn native_words(native: &Native) -> String {
    let [user, system, wall] = [native.user_us, native.system_us, native.wall_us].map(|us| words(picoseconds(us)));
    let runs = if native.runs > 1 { format!(", the least of {} runs", native.runs) } else { String::new() };
    format!("{user} of processor time in the program, {system} in the kernel for it, {wall} on the clock{runs}")
}
