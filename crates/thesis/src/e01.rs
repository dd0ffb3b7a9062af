//! E1: how large our recordings are and what they consist of, beside table 2.1.
use super::cards::{self, Card};
use super::lookup::{median, part, two};
use super::paper::{columns, short};
use super::program::{self, Program};
use super::{CLAIMS, Found, Gathered, Spec, Study};
use homenode_command::Failure;
use homenode_judging::claims::{Judged, POINTS};
use homenode_judging::doc::Table;
use homenode_judging::rules::Measures;
use homenode_trace::Merged;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

pub(super) static SPEC: Spec = Spec { id: "E1", title: "size and mix of recordings", begin: Gathered::<Sizes>::boxed };

struct Sizes {
    programs: Vec<Size>,
}

#[derive(Clone, Serialize, Deserialize)]
struct Size {
    #[serde(deserialize_with = "program::name")]
    name: program::Name,
    refs: u64,
    bytes_per_ref: f64,
    /// Of all references, in percent; of a program with private memory, of those that are not private.
    loads_percent: f64,
    /// References to pages that only one thread touches, in percent.
    own_percent: f64,
    /// Memory touched, in KiB.
    working_set: u64,
    /// Whether what only one thread touches is private by declaration.
    declared: bool,
}

/// Counts loads, and references page by page.
#[derive(Default)]
struct Mix {
    refs: u64,
    /// By page.
    pages: HashMap<u64, Page>,
}

#[derive(Clone, Copy, Default)]
struct Page {
    /// The only thread so far plus one; 0 for several.
    owner: u32,
    refs: u64,
    loads: u64,
}

const PAGE_BITS: u32 = 12;

impl Mix {
    fn refs(&mut self, refs: &[Merged]) {
        for r in refs {
            self.refs += 1;
            let page = self.pages.entry(r.addr >> PAGE_BITS).or_insert(Page { owner: r.thread + 1, ..Page::default() });
            page.owner = if page.owner == r.thread + 1 { page.owner } else { 0 };
            page.refs += 1;
            page.loads += u64::from(!r.op.writes());
        }
    }
    /// References and loads of pages.
    fn sum(&self, wanted: impl Fn(&Page) -> bool) -> (u64, u64) {
        self.pages.values().filter(|p| wanted(p)).fold((0, 0), |sum, p| (sum.0 + p.refs, sum.1 + p.loads))
    }
}

impl Study for Sizes {
    type Measured = Size;
    fn measure(program: &Program) -> Result<Size, Failure> {
        let mut mix = Mix::default();
        program.each(|refs| mix.refs(refs))?;
        let (refs, bytes) = program.recorded();
        let percent = |part: u64, all: u64| 100.0 * part as f64 / all.max(1) as f64;
        let declared = program.listed.epex;
        let (own, _) = mix.sum(|p| p.owner != 0);
        let (counted, loads) = mix.sum(|p| !declared || p.owner == 0);
        Ok(Size {
            name: program.listed.name,
            refs,
            bytes_per_ref: bytes as f64 / refs.max(1) as f64,
            loads_percent: percent(loads, counted),
            own_percent: percent(own, mix.refs),
            working_set: (mix.pages.len() as u64) << (PAGE_BITS - 10),
            declared,
        })
    }

    fn conclude(programs: Vec<Size>) -> Result<Found, Failure> {
        let all = Sizes { programs };
        Ok(Found { tables: vec![all.cards()], judged: all.judged(), ..Found::default() })
    }
}

impl Size {
    /// Whether ours is off by more than a part of the printed number.
    fn misses(&self, card: &Card) -> bool {
        let off = |ours: f64, printed: f64| (ours - printed).abs() > cards::MISS * printed;
        let [shared, private] = card.millions;
        let private = 100.0 * private / (shared + private);
        let length = card.ours_millions.is_none_or(|ours| off(ours, card.millions.iter().sum()));
        length || off(self.loads_percent, card.loads) || (self.declared && off(self.own_percent, private))
    }
}

impl Sizes {
    fn cards(&self) -> Table {
        let row = |s: &Size| {
            let card = cards::of(s.name);
            let of = |words: fn(&Card) -> String| card.as_ref().map_or(String::new(), words);
            vec![
                s.name.to_owned(),
                of(|c| short(c.millions[0])),
                of(|c| short(c.millions[1])),
                short(s.refs as f64 / 1e6),
                of(|c| c.ours_millions.map_or("-".into(), short)),
                of(|c| format!("{:.0}", 100.0 * c.millions[1] / c.millions.iter().sum::<f64>())),
                format!("{:.0}", s.own_percent),
                of(|c| format!("{:.0}", c.loads)),
                format!("{:.0}", s.loads_percent),
                of(|c| short(c.mbytes)),
                of(|c| two(c.bytes)),
                two(s.bytes_per_ref),
                s.working_set.to_string(),
                card.as_ref().filter(|c| s.misses(c)).map_or(String::new(), |c| c.why.clone()),
            ]
        };
        let columns = columns(
            "program | printed: references, M | printed: private, M | all here, M | all at the thesis's size, M | \
             printed: private % | to pages of one thread % | printed: loads % | loads % | printed: file, MB | \
             printed: bytes a reference | bytes a reference | working set, KiB | why one is off by more than 15 %",
        );
        Table { title: "programs (table 2.1)".into(), columns, rows: self.programs.iter().map(row).collect() }
    }

    fn judged(&self) -> Vec<Judged> {
        let pairs = || self.programs.iter().filter_map(|s| Some((s, cards::of(s.name)?)));
        let most = self.programs.iter().map(|s| s.bytes_per_ref).fold(0.0, f64::max);
        let least = self.programs.iter().map(|s| s.bytes_per_ref).fold(f64::INFINITY, f64::min);
        let near = |points: f64| pairs().filter(|(s, p)| (s.loads_percent - p.loads).abs() <= points).count();
        let total = pairs().count();
        let more_loads = self.programs.iter().filter(|s| s.loads_percent > 50.0).count();
        let all = self.programs.len();
        let declared = || self.programs.iter().filter(|s| s.declared);
        let words: Vec<String> = declared().map(|s| format!("{} {:.0} %", s.name, s.own_percent)).collect();
        let least_private = declared().map(|s| s.own_percent).fold(f64::INFINITY, f64::min);
        vec![
            CLAIMS.ruled(
                "table-2.1-bytes",
                format!("{least:.2} to {most:.2}"),
                &Measures::of([("worst of ours, bytes", most)]),
                "whole datasets on disk, with events and names; small recordings carry more of these for each \
                 reference",
            ),
            CLAIMS.ruled(
                "table-2.1-loads",
                format!(
                    "{more_loads} of {all} above half; {} of {total} within {POINTS} points of their counterpart",
                    near(POINTS)
                ),
                &Measures::of([
                    ("share of programs above half", part(more_loads, all)),
                    ("median distance in points", median(pairs().map(|(s, p)| (s.loads_percent - p.loads).abs()))),
                ]),
                "agrees if loads prevail everywhere and most shares are near those of the counterpart",
            ),
            CLAIMS.ruled(
                "table-2.1-private",
                format!("{} of references to pages of one thread in the EPEX programs", words.join(", ")),
                &Measures::default().value("least share of EPEX, %", least_private),
                "private by declaration in EPEX and Presto; ours declare it in the stand-ins for EPEX only",
            ),
        ]
    }
}
