//! Loops of OpenMP whose iterations go to whoever comes next: who used what they use is of one run, and so are homes that follow from it.
use homenode_openmp::{Construct, What};
use homenode_trace::dataset::DatasetReader;
use homenode_trace::event::EventKind;
use homenode_trace::symbols::Symbols;
use homenode_trace::{Event, Merged};

/// Of 100 references, so many must be made in such loops to be told of.
const DEALT_PERCENT: u64 = 10;

/// Loops that are told apart: a lying recording must not make a table as long as it says.
const LOOPS_MAX: usize = 1 << 12;

/// A loop of one place.
struct Loop {
    words: String,
    place: String,
    refs: u64,
}

/// What is open, innermost last: its text, and which loop it is if its iterations go to whoever comes next.
type Open = Vec<(String, Option<usize>)>;

/// Counts references in such loops; those of loops in them are not theirs.
pub(crate) struct DealtLoops<'d> {
    symbols: &'d Symbols,
    /// By thread, its process.
    processes: Vec<u32>,
    /// By thread.
    open: Vec<Open>,
    loops: Vec<Loop>,
    all: u64,
}

impl<'d> DealtLoops<'d> {
    pub(crate) fn new(reader: &'d DatasetReader) -> DealtLoops<'d> {
        let processes: Vec<u32> = reader.manifest().threads.iter().map(|t| t.process).collect();
        let open = vec![Open::new(); processes.len()];
        DealtLoops { symbols: reader.symbols(), processes, open, loops: Vec::new(), all: 0 }
    }

    /// The next event.
    pub(crate) fn event(&mut self, event: &Event) {
        let thread = event.thread as usize;
        match &event.kind {
            EventKind::PhaseBegin { name } if thread < self.open.len() => {
                let number = self.number(name, self.processes[thread]);
                self.open[thread].push((name.clone(), number));
            }
            EventKind::PhaseEnd { name } if thread < self.open.len() => {
                let open = &mut self.open[thread];
                open.iter().rposition(|(known, _)| known == name).map(|at| open.remove(at));
            }
            _ => {}
        }
    }

    /// The next references.
    pub(crate) fn refs(&mut self, refs: &[Merged]) {
        for r in refs {
            self.all += u64::from(r.weight);
            let innermost = self.open.get(r.thread as usize).and_then(|open| open.last());
            if let Some((_, Some(number))) = innermost {
                self.loops[*number].refs += u64::from(r.weight);
            }
        }
    }

    /// Which loop a phase is, if its iterations go to whoever comes next.
    fn number(&mut self, name: &str, process: u32) -> Option<usize> {
        let construct = Construct::of(name)?;
        let What::Loop { schedule, .. } = construct.what else { return None };
        if schedule.is_fixed() {
            return None;
        }
        let (words, place) = (construct.words(), construct.site(self.symbols, process)?.place());
        let known = self.loops.iter().position(|l| (&l.words, &l.place) == (&words, &place));
        if known.is_none() && self.loops.len() < LOOPS_MAX {
            self.loops.push(Loop { words, place, refs: 0 });
            return Some(self.loops.len() - 1);
        }
        known
    }

    /// A sentence, if such loops make many of the references.
    pub(crate) fn note(mut self) -> Option<String> {
        self.loops.sort_by_key(|l| std::cmp::Reverse(l.refs));
        let refs: u64 = self.loops.iter().map(|l| l.refs).sum();
        let percent = (u128::from(refs) * 100 / u128::from(self.all.max(1))) as u64;
        let most = self.loops.first().filter(|_| percent >= DEALT_PERCENT)?;
        let (what, give) = match self.loops.iter().filter(|l| l.refs > 0).count() {
            1 => ("the loop", "gives its"),
            _ => ("loops such as that", "give their"),
        };
        Some(format!(
            "{what} at {} (`{}`) {give} iterations to whoever comes next, in which {percent} % of the references are made: homes of what is used \
             there are those of this run, and another one deals anew; with schedule(static) they hold",
            most.place, most.words
        ))
    }
}
