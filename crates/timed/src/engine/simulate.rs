//! A dataset on a memory system.
use super::error::TimedError;
use super::events::{End, Engine};
use super::memory::{Gaps, Memory};
use super::messages::Waits;
use super::phases::Phase;
use super::thread::Times;
use homenode_sim::ThreadBinding;
use homenode_sim::lives;
use homenode_trace::DatasetReader;
use homenode_trace::order::Granted;

/// Attempts after which all objects are granted in their recorded order.
const CIRCLES_MAX: u32 = 8;

/// How to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Hits that are one event, at most; 1 for the slow obvious way.
    pub hits_max: usize,
    /// Only what threads do in the phase of this name is counted.
    pub phase: Option<String>,
}

impl Default for Options {
    fn default() -> Options {
        Options { hits_max: usize::MAX, phase: None }
    }
}

/// What came of a run, with the memory system as it was at its end.
#[derive(Clone, Debug)]
pub struct Simulated<M> {
    /// By thread.
    pub times: Vec<Times>,
    /// By phase of the program; the first is what is outside of all.
    pub phases: Vec<Phase>,
    /// First and last cycle that counts of each thread; `None` if it did nothing that counts.
    pub spans: Vec<Option<(u64, u64)>>,
    /// By server.
    pub waits: Vec<Waits>,
    /// References run, whether counted or not.
    pub refs: u64,
    /// Busy-wait references left out.
    pub spins: u64,
    /// Objects granted in their recorded order, because granting them anew made threads wait for each other in a circle.
    pub recorded_objects: u64,
    /// The memory system.
    pub memory: M,
}

impl<M> Simulated<M> {
    /// Cycles from the first that counts to the last.
    pub fn span(&self) -> u64 {
        let all = || self.spans.iter().flatten();
        all().map(|s| s.1).max().unwrap_or(0) - all().map(|s| s.0).min().unwrap_or(0)
    }
}

/// Runs a dataset. `make` makes a memory system and the gaps, anew for each attempt.
///
/// # Errors
/// [`TimedError`]; whatever `make` says.
pub fn simulate<M: Memory, G: Gaps, E: From<TimedError>>(
    data: &DatasetReader,
    bindings: &[ThreadBinding],
    options: &Options,
    mut make: impl FnMut() -> Result<(M, G), E>,
) -> Result<Simulated<M>, E> {
    if data.manifest().sampling.is_some() {
        return Err(TimedError::Sampled.into());
    }
    let processors = processors(data, bindings)?;
    let (mut granted, mut circles) = (Granted::default(), 0);
    loop {
        let (mut memory, mut gaps) = make()?;
        let count = memory.processors();
        if let Some((thread, &p)) = processors.iter().enumerate().find(|(_, p)| **p >= count) {
            return Err(TimedError::NoProcessor(thread as u32, p, count).into());
        }
        let how = (options.hits_max, options.phase.clone());
        let engine = Engine::new(data, granted.clone(), &processors, (&mut memory, &mut gaps), how)?;
        match engine.run()? {
            End::Circle(objects) => {
                granted.recorded.extend(objects);
                circles += 1;
                if circles == CIRCLES_MAX {
                    keep_all(data, &mut granted);
                }
            }
            End::Over(ran) => {
                return Ok(Simulated {
                    times: ran.times,
                    phases: ran.phases,
                    spans: ran.spans,
                    waits: ran.waits,
                    refs: ran.refs,
                    spins: ran.spins,
                    recorded_objects: granted.recorded.len() as u64,
                    memory,
                });
            }
        }
    }
}

/// Every object keeps its recorded order.
fn keep_all(data: &DatasetReader, granted: &mut Granted) {
    let objects = data.events().iter().filter_map(|e| {
        let space = data.address_space(e.thread);
        granted.object(data.shared(), space, &e).map(|(object, _)| object)
    });
    let objects: Vec<(u32, u64)> = objects.collect();
    granted.recorded.extend(objects);
}

/// The processor of each thread: that of its node, as one is modelled there.
fn processors(data: &DatasetReader, bindings: &[ThreadBinding]) -> Result<Vec<u32>, TimedError> {
    let lives = lives(data);
    let busy: Vec<usize> = (0..bindings.len()).filter(|&t| data.refs(t as u32) > 0).collect();
    let before = |a: usize, b: usize| lives[b].ended_before.contains(lives[a].rank);
    for (n, &a) in busy.iter().enumerate() {
        for &b in &busy[n + 1..] {
            if bindings[a].node == bindings[b].node && !before(a, b) && !before(b, a) {
                return Err(TimedError::Shared(a as u32, b as u32, bindings[a].node.0));
            }
        }
    }
    Ok(bindings.iter().map(|b| b.node.0.into()).collect())
}
