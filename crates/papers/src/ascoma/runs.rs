//! What is run of a recording: every architecture at every pressure, mixtures, switched open points, and what identities need.
use super::probes::latencies;
use super::program::{LIST, Listed, Recorded};
use homenode_command::Failure;
use homenode_command::gaps::Source;
use homenode_judging::work::together;
use homenode_machine::{Hybrid, Machine};
use homenode_reproducing::elsewhere::{Elsewhere, Unit};
use homenode_reproducing::kept::Results;
use homenode_timed::engine::Options;
use homenode_timed::memory::archs::{self, BASE, Spec, mixed};
use homenode_timed::memory::{Bound, Layout, MemoryError, OPEN_POINTS, OpenPoint, Question, Row, Sizes, run};
use homenode_trace::dataset::DatasetReader;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// At which no frame is left.
pub(super) const FULL: u32 = 100;

/// What is taken otherwise than we do.
pub(super) struct Switch {
    /// Name on the page.
    pub(super) name: String,
    /// In words.
    pub(super) words: &'static str,
    point: Option<&'static OpenPoint>,
    gaps: f64,
    /// Whether relocation never comes about.
    never: bool,
}

/// Ours first; then relocation that never comes about, the open points, and gaps.
pub(super) fn switches() -> Vec<Switch> {
    let plain = |name: &str, words| Switch { name: name.to_owned(), words, point: None, gaps: 1.0, never: false };
    let mut all = vec![plain("ours", "our choices")];
    all.push(Switch { never: true, ..plain("infinite", "a threshold that is never reached") });
    all.extend(OPEN_POINTS.iter().map(|p| Switch { point: Some(p), ..plain(p.name, p.summary) }));
    let gaps = |factor, name, words| Switch { gaps: factor, ..plain(name, words) };
    all.push(gaps(0.5, "gaps x 0.5", "half as many instructions between references"));
    all.push(gaps(2.0, "gaps x 2", "twice as many instructions between references"));
    all
}

/// The switch of identities; sensitivities come after it.
pub(super) const NEVER: usize = 1;

impl Switch {
    fn hybrid(&self, ours: &Hybrid) -> Hybrid {
        let mut hybrid = ours.clone();
        self.point.iter().for_each(|p| p.apply(&mut hybrid));
        if self.never {
            hybrid.threshold[0] = u32::MAX;
        }
        hybrid
    }
    /// Whether a run of an architecture can be another one with it.
    fn matters(&self, architecture: &str) -> bool {
        self.point.is_none_or(|p| p.changes(architecture))
    }
}

/// A run: number of the switch, architecture, pressure (0 where it has no influence).
type Key = (usize, &'static str, u32);

/// What came of one recording of one program.
pub(super) struct Runs {
    /// The program.
    pub(super) listed: &'static Listed,
    /// Pages and homes.
    pub(super) layout: Layout,
    /// The machine.
    pub(super) hybrid: Hybrid,
    rows: BTreeMap<Key, Row>,
    /// Pressure at which all remote pages fit beside the reserve.
    pub(super) fits_at: u32,
    /// A hit, the remote access cache, memory of the own node, of another one, and what a forward adds, in cycles.
    pub(super) latencies: [u64; 5],
    /// Whether S-COMA is refused where no frame is left.
    pub(super) scoma_refused: bool,
    /// Pages that R-NUMA relocates at the least pressure in the whole run, not in the measured phase alone.
    pub(super) relocated: u64,
}

impl Runs {
    /// Runs a recording, here or elsewhere, but for what an earlier run found; with each open point switched at some pressures, too.
    ///
    /// # Errors
    /// A recording that cannot be run.
    pub(super) fn of(
        mut recorded: Recorded,
        elsewhere: Option<&dyn Elsewhere>,
        switched: &[u32],
    ) -> Result<Runs, Failure> {
        let listed = recorded.listed;
        let machine = listed.machine()?;
        let bound = bound(listed, &machine, &recorded.reader)?;
        let fits_at = fits_at(&bound)?;
        let asked = asked(listed, fits_at, switched);
        if let Some(elsewhere) = elsewhere {
            let unit = |run: &str| Unit {
                paper: super::SPEC.name.into(),
                program: listed.name.into(),
                recording: recorded.path.clone(),
                run: run.into(),
            };
            let names: Vec<String> = asked.iter().map(|key| name(&switches()[key.0], key.1, key.2)).collect();
            recorded.results.fetch(elsewhere, &names, unit)?;
        }
        let (recorded, reader) = (&recorded, &recorded.reader);
        let rows = all(&bound, recorded, &asked)?;
        let source = Source::new(reader, 1.0);
        let scoma = archs::find("scoma").ok_or_else(|| Failure::work("no S-COMA"))?;
        let refused = matches!(run(&bound, scoma, FULL, || source.run()), Err(MemoryError::NoPageCache { .. }));
        let rnuma = archs::find("rnuma").ok_or_else(|| Failure::work("no R-NUMA"))?;
        let whole =
            kept(&recorded.results, "whole", || run(&bound.whole(), rnuma, listed.pressures[0], || source.run()))?;
        let (layout, hybrid) = (bound.layout().clone(), bound.hybrid().clone());
        Ok(Runs {
            listed,
            layout,
            hybrid,
            rows,
            fits_at,
            latencies: latencies(&machine)?,
            scoma_refused: refused,
            relocated: whole.map_or(0, |row| row.total.relocated),
        })
    }

    /// A run with a switch, or ours where it makes no difference. A program that was changed is run with ours only.
    pub(super) fn row(&self, switch: usize, architecture: &str, pressure: u32) -> Option<&Row> {
        let pressure = if architecture == BASE.name { 0 } else { pressure };
        // Another run is no substitute for one that there is not: times are over those of the same switch.
        let switch =
            if switches().get(switch).is_some_and(|s| s.never || s.matters(architecture)) { switch } else { 0 };
        let find = |s: usize| {
            let from = (s, "", 0);
            let mut after = self.rows.range(from..).take_while(|(k, _)| k.0 == s);
            after.find(|(k, _)| k.1 == architecture && k.2 == pressure).map(|(_, row)| row)
        };
        find(switch)
    }
    /// Cycles over those of CC-NUMA; not a number where it was not run.
    pub(super) fn time(&self, switch: usize, architecture: &str, pressure: u32) -> f64 {
        let cycles = |a: &str| self.row(switch, a, pressure).map_or(f64::NAN, |r| r.cycles as f64);
        cycles(architecture) / cycles(BASE.name)
    }
    /// Whether all that was run with ours at these pressures was run with a switch, too.
    pub(super) fn has(&self, switch: usize, pressures: &[u32]) -> bool {
        let mut ours = self.ours().into_iter().filter(|r| r.pressure.is_none_or(|p| pressures.contains(&p)));
        ours.all(|r| self.row(switch, r.architecture, r.pressure.unwrap_or(0)).is_some())
    }
    /// Rows of our choices at the program's pressures, CC-NUMA first.
    pub(super) fn ours(&self) -> Vec<&Row> {
        let base = self.row(0, BASE.name, 0);
        let others = archs::ALL.iter().filter(|s| s.name != BASE.name);
        let each = others.flat_map(|s| self.listed.pressures.iter().filter_map(|p| self.row(0, s.name, *p)));
        base.into_iter().chain(each).collect()
    }
}

/// A recording on the machine.
fn bound<'a>(listed: &Listed, machine: &'a Machine, reader: &'a DatasetReader) -> Result<Bound<'a>, Failure> {
    let options = Options { phase: Some(listed.phase.to_owned()), ..Options::default() };
    Question { machine, map: None, options }.bind(reader).map_err(Failure::work)
}

/// Name of a run among results.
fn name(switch: &Switch, spec: &Spec, pressure: u32) -> String {
    format!("{}, {} at {pressure} %", switch.name, spec.name)
}

/// The run of a name.
fn named(run: &str) -> Option<(Switch, &'static Spec, u32)> {
    switches().into_iter().find_map(|switch| {
        let rest = run.strip_prefix(&format!("{}, ", switch.name))?;
        let (spec, pressure) = rest.strip_suffix(" %")?.split_once(" at ")?;
        Some((switch, archs::find(spec)?, pressure.parse().ok()?))
    })
}

/// Does one run of a recording.
///
/// # Errors
/// A run or recording that there is not, or that fails.
pub(super) fn carry_out(unit: &Unit) -> Result<String, Failure> {
    let listed = LIST.iter().find(|l| l.name == unit.program);
    let (Some(listed), Some((switch, spec, pressure))) = (listed, named(&unit.run)) else {
        return Err(Failure::usage(format!("ascoma has no run '{}' of {}", unit.run, unit.program)));
    };
    let opened = homenode_command::dataset::open(&unit.recording)?;
    let (machine, source) = (listed.machine()?, Source::new(&opened.reader, switch.gaps));
    let bound = bound(listed, &machine, &opened.reader)?;
    let row = match run(&bound.with(switch.hybrid(bound.hybrid())), spec, pressure.max(1), || source.run()) {
        Err(MemoryError::NoPageCache { .. }) => None,
        row => Some(row.map_err(Failure::work)?),
    };
    serde_json::to_string(&row).map_err(Failure::work)
}

/// The greatest pressure at which all remote pages of every node fit beside the reserve.
fn fits_at(bound: &Bound<'_>) -> Result<u32, Failure> {
    let layout = bound.layout();
    for percent in (1..FULL).rev() {
        let sizes = Sizes::at(bound.hybrid(), 1 << layout.page_shift, layout.home_max(), percent);
        let sizes = sizes.map_err(Failure::work)?;
        if u64::from(sizes.page_cache) >= layout.remote_max() + u64::from(sizes.free_min) {
            return Ok(percent);
        }
    }
    Ok(1)
}

/// What an earlier run found, or what is found now, and kept; none without a frame for a page cache.
fn kept(
    results: &Results,
    name: &str,
    find: impl FnOnce() -> Result<Row, MemoryError>,
) -> Result<Option<Row>, Failure> {
    if let Some(row) = results.get(name) {
        return Ok(Some(row));
    }
    let row = match find() {
        Err(MemoryError::NoPageCache { .. }) => return Ok(None),
        row => row.map_err(Failure::work)?,
    };
    results.keep(name, &row).map_err(|e| Failure::work(format!("cannot keep a result: {e}")))?;
    Ok(Some(row))
}

fn asked(listed: &Listed, fits_at: u32, switched: &[u32]) -> Vec<(usize, &'static Spec, u32)> {
    let hybrids = || archs::ALL.iter().copied().filter(|s| s.name != BASE.name);
    let mut asked = vec![(0, BASE, 0)];
    for spec in hybrids() {
        asked.extend(listed.pressures.iter().map(|p| (0, spec, *p)));
        if !spec.needs_page_cache {
            asked.push((0, spec, FULL));
        }
        if ["scoma", "ascoma"].contains(&spec.name) {
            asked.push((0, spec, fits_at));
        }
        if spec.name == "rnuma" {
            asked.push((NEVER, spec, 50));
        }
    }
    if !switched.is_empty() {
        asked.extend(mixed::ALL.iter().flat_map(|s| listed.pressures.iter().map(move |p| (0, *s, *p))));
        for (number, switch) in switches().iter().enumerate().skip(NEVER + 1) {
            if switch.matters(BASE.name) {
                asked.push((number, BASE, 0));
            }
            let at = || switched.iter();
            asked.extend(hybrids().filter(|s| switch.matters(s.name)).flat_map(|s| at().map(move |p| (number, s, *p))));
        }
    }
    asked.sort_by_key(|a| (a.0, a.1.name, a.2));
    asked.dedup_by_key(|a| (a.0, a.1.name, a.2));
    asked
}

/// All runs, as many at a time as there are processors.
fn all(
    bound: &Bound<'_>,
    recorded: &Recorded,
    asked: &[(usize, &'static Spec, u32)],
) -> Result<BTreeMap<Key, Row>, Failure> {
    let (next, rows, switches) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()), switches());
    let work = || -> Result<(), Failure> {
        let mut sources: Vec<(f64, Source<'_>)> = Vec::new();
        while let Some((number, spec, pressure)) = asked.get(next.fetch_add(1, Ordering::Relaxed)) {
            let switch = &switches[*number];
            if !sources.iter().any(|s| s.0 == switch.gaps) {
                sources.push((switch.gaps, Source::new(&recorded.reader, switch.gaps)));
            }
            let Some((_, source)) = sources.iter().find(|s| s.0 == switch.gaps) else { continue };
            let other = bound.with(switch.hybrid(bound.hybrid()));
            let name = name(switch, spec, *pressure);
            // A program of few pages has none left for a page cache: left out.
            let row = kept(&recorded.results, &name, || run(&other, spec, (*pressure).max(1), || source.run()))?;
            let Some(row) = row else { continue };
            rows.lock().expect("nobody panics while adding one").insert((*number, spec.name, *pressure), row);
        }
        Ok(())
    };
    together(work).into_iter().collect::<Result<(), Failure>>()?;
    Ok(rows.into_inner().expect("nobody panics while adding one"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use homenode_timed::memory::Overhead;

    #[test]
    fn every_run_is_found_by_its_name() {
        for (number, switch) in switches().iter().enumerate() {
            for spec in archs::known() {
                let (found, s, p) = named(&name(switch, spec, 37)).expect("a run");
                assert_eq!((&found.name, s.name, p), (&switches()[number].name, spec.name, 37));
            }
        }
        assert!(["", "ours", "ours, cray at 3 %", "ours, rnuma at x %"].iter().all(|run| named(run).is_none()));
    }

    #[test]
    fn what_was_found_once_is_not_run_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let dataset = folder.path().join("radix.8.0.hnt");
        std::fs::write(dataset.with_extension("card"), "a card\n").expect("written");
        let sizes = Sizes { home: 1, frames: 2, page_cache: 1, free_min: 0, free_target: 0 };
        let row = Row {
            architecture: "home-first-ascoma",
            pressure: Some(90),
            sizes,
            cycles: u64::MAX,
            times: Default::default(),
            idle: 1,
            total: Default::default(),
            nodes: vec![Default::default(); 2],
            overhead: Overhead::default(),
            state_bits: 3,
            servers: Default::default(),
            refs: 4,
            spins: 5,
            recorded_objects: 6,
        };
        let results = || Results::of(&dataset).expect("made");
        let full = || Err(MemoryError::NoPageCache { name: "scoma", percent: 100 });
        assert!(kept(&results(), "one", full).expect("no failure").is_none());
        assert_eq!(kept(&results(), "one", || Ok(row.clone())).expect("kept"), Some(row.clone()));
        assert_eq!(kept(&results(), "one", || unreachable!("known")).expect("read"), Some(row));
    }
}
