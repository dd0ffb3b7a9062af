//! E1: how large our recordings are and what they consist of, beside table 2.1.
use super::claims::{Judged, POINTS};
use super::lookup::two;
use super::program::Program;
use super::{Experiment, ExperimentResult, Spec};
use crate::doc::Table;
use homenode_command::Failure;
use homenode_trace::Merged;
use std::collections::HashMap;

pub(super) static SPEC: Spec =
    Spec { id: "E1", title: "size and mix of recordings", begin: || Box::new(Sizes::default()) };

/// Bytes per reference and loads in percent, from table 2.1; programs of the thesis with a counterpart here.
const PRINTED: [(&str, &str, f64, f64); 11] = [
    ("matmult", "matmult", 2.11, 97.0),
    ("gauss", "gauss", 1.77, 83.0),
    ("fft", "e-fft", 2.18, 51.0),
    ("sor", "sorbyr", 1.04, 79.0),
    ("sor_cols", "sorbyc", 1.10, 79.0),
    ("msort", "kmerge", 1.67, 64.0),
    ("qsort_tasks", "p-qsort", 1.31, 68.0),
    ("water", "water", 1.10, 59.0),
    ("mp3d", "mp3d", 1.22, 57.0),
    ("raytrace", "plytrace", 0.85, 66.0),
    ("lu", "cholesky", 1.04, 77.0),
];
#[derive(Default)]
struct Sizes {
    programs: Vec<Size>,
}

struct Size {
    name: &'static str,
    refs: u64,
    bytes_per_ref: f64,
    loads_percent: f64,
    /// References to pages that only one thread touches, in percent.
    own_percent: f64,
}

/// Counts loads, and references page by page.
#[derive(Default)]
struct Mix {
    loads: u64,
    refs: u64,
    /// By page: the thread, or `None` for several; and references.
    pages: HashMap<u64, (Option<u32>, u64)>,
}

const PAGE_BITS: u32 = 12;

impl Mix {
    fn refs(&mut self, refs: &[Merged]) {
        for r in refs {
            self.refs += 1;
            self.loads += u64::from(!r.op.writes());
            let page = self.pages.entry(r.addr >> PAGE_BITS).or_insert((Some(r.thread), 0));
            page.0 = page.0.filter(|t| *t == r.thread);
            page.1 += 1;
        }
    }
}

impl Experiment for Sizes {
    fn program(&mut self, program: &Program) -> Result<(), Failure> {
        let mut mix = Mix::default();
        program.each(|refs| mix.refs(refs))?;
        let (refs, bytes) = program.recorded();
        let percent = |part: u64| 100.0 * part as f64 / mix.refs.max(1) as f64;
        let own = mix.pages.values().filter(|p| p.0.is_some()).map(|p| p.1).sum();
        self.programs.push(Size {
            name: program.listed.name,
            refs,
            bytes_per_ref: bytes as f64 / refs.max(1) as f64,
            loads_percent: percent(mix.loads),
            own_percent: percent(own),
        });
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<ExperimentResult, Failure> {
        let printed = |name: &str| PRINTED.iter().find(|p| p.0 == name);
        let columns = ["program", "references", "bytes a reference", "loads %", "to pages of one thread %", "like"];
        let columns = columns.iter().chain(&["bytes, printed", "loads %, printed"]);
        let row = |s: &Size| {
            let theirs = printed(s.name);
            vec![
                s.name.to_owned(),
                s.refs.to_string(),
                two(s.bytes_per_ref),
                format!("{:.0}", s.loads_percent),
                format!("{:.0}", s.own_percent),
                theirs.map_or(String::new(), |p| p.1.to_owned()),
                theirs.map_or(String::new(), |p| two(p.2)),
                theirs.map_or(String::new(), |p| format!("{:.0}", p.3)),
            ]
        };
        let table = Table {
            title: "references".into(),
            columns: columns.map(|c| (*c).to_owned()).collect(),
            rows: self.programs.iter().map(row).collect(),
        };
        Ok(ExperimentResult { tables: vec![table], judged: self.judged(), ..ExperimentResult::default() })
    }
}

impl Sizes {
    fn judged(&self) -> Vec<Judged> {
        let pairs = || self.programs.iter().filter_map(|s| Some((s, PRINTED.iter().find(|p| p.0 == s.name)?)));
        let most = self.programs.iter().map(|s| s.bytes_per_ref).fold(0.0, f64::max);
        let least = self.programs.iter().map(|s| s.bytes_per_ref).fold(f64::INFINITY, f64::min);
        let near = |points: f64| pairs().filter(|(s, p)| (s.loads_percent - p.3).abs() <= points).count();
        let total = pairs().count();
        let more_loads = self.programs.iter().filter(|s| s.loads_percent > 50.0).count();
        let all = self.programs.len();
        vec![
            Judged::by(
                "table-2.1-bytes",
                format!("{least:.2} to {most:.2}"),
                most <= 2.18,
                "whole datasets on disk, with events and names; small recordings carry more of these for each reference. \
                 Agrees if none of ours takes more than the worst of theirs",
            ),
            Judged::by_points(
                "table-2.1-loads",
                format!(
                    "{more_loads} of {all} above half; {} of {total} within {POINTS} points of their counterpart",
                    near(POINTS)
                ),
                |points| more_loads == all && 2 * near(points) > total,
                "agrees if loads prevail everywhere and most shares are near those of the counterpart",
            ),
            Judged::unknown(
                "table-2.1-private",
                "0 in all programs",
                "private references are those of EPEX and Presto to memory that is private by declaration; our programs \
                 are plain threads, like C-Threads, which print 0 too. What only one thread uses is found by the policies",
            ),
        ]
    }
}
