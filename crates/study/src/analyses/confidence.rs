//! How sure a result from samples is, and which results samples cannot give.
//!
//! The bootstrap (Efron 1979) draws as many parts of the trace as there are, with replacement, again and again; how the
//! result scatters over the draws is how it may lie from the truth. Parts are blocks of memory that have nothing in
//! common, or windows of time. Drawing whole parts keeps samples together that belong together, such as bursts; where
//! parts differ much among themselves and hold many samples each, the interval is wider than it need be.
//! Shares of cost of single objects have their own intervals in reports, by another method.
use super::{AnalysisError, Input, Need, Spec, table::table};
use crate::{Answer, Question, Row, What};
use homenode_analysis::rows::Interval;
use homenode_base::Rng;
use homenode_table::{Cell, Table};
use homenode_trace::order::{Piece, Source, Stream};
use homenode_trace::{SampleUnit, TraceError};

pub(crate) static SPEC: Spec = Spec {
    name: "confidence",
    summary: "intervals for results from samples, and which results samples cannot give",
    needs: &[Need::Samples, Need::Machine],
    repeats: 1000,
    run,
};

/// Parts below which an interval would say nothing.
pub const PARTS_MIN: usize = 8;
/// Windows of time in a table.
const WINDOWS: u64 = 64;

/// A bootstrap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bootstrap {
    /// Equal seeds give equal intervals.
    pub seed: u64,
    /// Times that parts are drawn, at least 40 (fewer have no 2.5 % at either end).
    pub resamples: u32,
}

/// A result with its 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The result for all parts.
    pub value: f64,
    /// The interval.
    pub interval: Interval,
    /// Parts that it was drawn from.
    pub parts: usize,
}

impl Bootstrap {
    /// The interval of a statistic of sums over parts. Each part is a vector of numbers that add up over parts, such as
    /// (cost, accesses); `statistic` makes the result of the sums, such as their ratio. Parts of zeros only are left
    /// out. `None` if fewer than [`PARTS_MIN`] are left or the statistic is not finite.
    pub fn estimate(&self, parts: &[Vec<f64>], statistic: impl Fn(&[f64]) -> f64) -> Option<Estimate> {
        let parts: Vec<&Vec<f64>> = parts.iter().filter(|p| p.iter().any(|x| *x != 0.0)).collect();
        let resamples = self.resamples.max(40) as usize;
        if parts.len() < PARTS_MIN {
            return None;
        }
        let width = parts[0].len();
        let total = |drawn: &mut dyn Iterator<Item = usize>| {
            let mut sums = vec![0.0; width];
            drawn.for_each(|i| sums.iter_mut().zip(parts[i]).for_each(|(s, x)| *s += x));
            statistic(&sums)
        };
        let value = total(&mut (0..parts.len()));
        let mut rng = Rng::new(self.seed);
        let n = parts.len() as u64;
        let mut drawn: Vec<f64> = (0..resamples).map(|_| total(&mut (0..n).map(|_| rng.below(n) as usize))).collect();
        if !value.is_finite() || drawn.iter().any(|x| !x.is_finite()) {
            return None;
        }
        drawn.sort_by(f64::total_cmp);
        // As many draws lie below the lower end as above the upper one.
        let tail = resamples / 40;
        let interval = Interval { low: drawn[tail].min(value), high: drawn[resamples - 1 - tail].max(value) };
        Some(Estimate { value, interval, parts: parts.len() })
    }
}

/// What samples say about a row.
#[derive(Clone, Debug, PartialEq)]
pub enum Judged {
    /// Mean cost per access, in the machine's unit, and what to keep in mind.
    Known(Estimate, &'static str),
    /// Nothing, and why.
    Unknown(&'static str),
}

/// Whether a row is something that samples can give at all; `Err` says why not, `Ok` what to keep in mind.
fn knowable(question: &Question, what: What) -> Result<&'static str, &'static str> {
    let policy = what.as_policy().and_then(|p| question.policies.get(p as usize)).map(|c| &*c.spec);
    let homes = match (what, policy) {
        (What::WITHOUT_REPLICATION | What::WITH_REPLICATION, _) => {
            return Err("a placement that knows the future could follow every single sample: not known from samples");
        }
        (What::BEST_STATIC, _) => "homes fit the same samples: the truth is a little dearer",
        (_, Some(spec)) if FIXED.contains(&&*spec.name) => "",
        (_, Some(spec)) if spec.needs_homes => "homes fit the same samples: the truth is a little dearer",
        (_, Some(spec)) if spec.name == FIRST_TOUCH => {
            "homes are by the first sample of a block, not its first reference"
        }
        _ => return Err("the policy decides by single references and their order, which samples do not show"),
    };
    Ok(match question.options.sampled {
        None => "nothing is sampled: the interval is that of drawing other parts of such a program",
        Some(c) if c.unit == SampleUnit::Window => "counts windows in which a page was used, not references",
        Some(c) if !c.sees_writes => "stores were not seen: costs of loads only",
        Some(_) => homes,
    })
}

/// What samples say about each row, from the answers of the parts of a trace.
///
/// # Errors
/// The parts are not answers to this question.
pub fn judge(question: &Question, parts: &[Answer], bootstrap: Bootstrap) -> Result<Vec<(Row, Judged)>, AnalysisError> {
    let whole = super::sum(parts)?;
    let judged = |(i, row): (usize, &Row)| {
        let known = match knowable(question, row.what) {
            Err(why) => Judged::Unknown(why),
            Ok(note) => {
                let of_part = |p: &Answer| {
                    let accesses = p.charged.get(row.machine as usize).map_or(0, |c| c.accesses);
                    vec![p.rows.get(i).map_or(0.0, |r| r.cost.as_f64()), accesses as f64]
                };
                let sums: Vec<Vec<f64>> = parts.iter().map(of_part).collect();
                match bootstrap.estimate(&sums, |s| s[0] / s[1]) {
                    Some(estimate) => Judged::Known(estimate, note),
                    None => Judged::Unknown("fewer than 8 parts of the trace have samples: no interval can be given"),
                }
            }
        };
        (row.clone(), known)
    };
    Ok(whole.rows.iter().enumerate().map(judged).collect())
}

/// One window of a trace, with all events.
struct Window<'a> {
    source: &'a mut dyn Source,
    /// References of a window, and which window.
    length: u64,
    number: u64,
}

/// Stream of a window of a trace.
struct Inside<'a> {
    stream: Box<dyn Stream + 'a>,
    /// References in the window, counted from the beginning of the trace.
    window: std::ops::Range<u64>,
    seen: u64,
}

impl Source for Window<'_> {
    fn stream(&mut self, merge: u32) -> Result<Box<dyn Stream + '_>, TraceError> {
        let begin = self.number * self.length;
        let stream = self.source.stream(merge)?;
        Ok(Box::new(Inside { stream, window: begin..begin + self.length, seen: 0 }))
    }
}

impl Stream for Inside<'_> {
    fn pull(&mut self) -> Result<Option<Piece<'_>>, TraceError> {
        let Some(piece) = self.stream.pull()? else { return Ok(None) };
        let within = |at: u64| at.saturating_sub(self.seen).min(piece.refs.len() as u64) as usize;
        let refs = &piece.refs[within(self.window.start)..within(self.window.end)];
        self.seen += piece.refs.len() as u64;
        Ok(Some(Piece { refs, ..piece }))
    }
}

/// Answers of windows of time, equally many samples each. They add up to that of the whole only for placements that
/// are the same in every window: policies that place blocks by their number or at one node.
///
/// # Errors
/// The trace cannot be read or the question not be answered.
pub fn window_answers(input: &mut Input<'_>, question: &Question, windows: u64) -> Result<Vec<Answer>, AnalysisError> {
    let mut refs = 0;
    let mut stream = input.source.stream(0)?;
    while let Some(piece) = stream.pull()? {
        refs += piece.refs.len() as u64;
    }
    drop(stream);
    let length = refs.div_ceil(windows.max(1)).max(1);
    let mut answers = Vec::new();
    for number in 0..windows {
        let mut window = Window { source: &mut *input.source, length, number };
        answers.push(super::sum(&(input.ask)(question, &mut window)?)?);
    }
    Ok(answers)
}

fn run(input: &mut Input<'_>) -> Result<Vec<Table>, AnalysisError> {
    let columns = ["machine", "block_bytes", "what", "parts_are", "parts", "cost_per_access", "low", "high", "note"];
    let note = "95 % confidence intervals from samples, by drawing parts of the trace again. Where nothing can be known, \
                the note says why.";
    let mut table = table("confidence", note, &columns);
    let bootstrap = Bootstrap { seed: input.seed, resamples: input.repeats };
    let question = input.question;
    let parts = (input.ask)(question, input.source)?;
    rows(question, "blocks", judge(question, &parts, bootstrap)?, &mut table);
    let fixed = Question {
        policies: question.policies.iter().filter(|p| FIXED.contains(&&*p.spec.name)).cloned().collect(),
        best_static: crate::Want::None,
        without_replication: crate::Want::None,
        with_replication: crate::Want::None,
        ..question.clone()
    };
    if !fixed.policies.is_empty() {
        let parts = window_answers(input, &fixed, WINDOWS)?;
        let same: Vec<Answer> = parts.into_iter().filter(|p| !p.rows.is_empty()).collect();
        rows(&fixed, "windows", judge(&fixed, &same, bootstrap)?, &mut table);
    }
    Ok(vec![table])
}

/// Policies whose homes depend on nothing but a block's number.
const FIXED: [&str; 4] = ["interleave", "fixed", "random", "global"];
const FIRST_TOUCH: &str = "first-touch";

fn rows(question: &Question, parts_are: &'static str, judged: Vec<(Row, Judged)>, table: &mut Table) {
    for (row, judged) in judged {
        let (estimate, note) = match judged {
            Judged::Known(estimate, note) => (Some(estimate), note),
            Judged::Unknown(why) => (None, why),
        };
        table.push(vec![
            question.machines[row.machine as usize].name.as_str().into(),
            row.block_bytes.into(),
            row.what.words(question).into(),
            parts_are.into(),
            estimate.map(|e| e.parts as u64).into(),
            estimate.map(|e| e.value).into(),
            estimate.map(|e| e.interval.low).into(),
            estimate.map(|e| e.interval.high).into(),
            Cell::from(note),
        ]);
    }
}
