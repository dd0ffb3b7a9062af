//! What threads' time went into, by phase of the program: the innermost one that each is in.
use super::thread::Times;
use homenode_trace::event::EventKind;
use std::collections::HashMap;

/// A phase of the program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Phase {
    /// Name; empty for what is outside of all.
    pub name: String,
    /// Times of all threads in it.
    pub times: Times,
}

/// Where a thread is.
#[derive(Debug, Default)]
struct Within {
    /// Phases that it is in, by number, the innermost one last.
    phases: Vec<u32>,
    /// Times until it came to be there.
    before: Times,
}

/// Phases by number, in the order in which they first began in virtual time; 0 is outside of all.
#[derive(Debug)]
pub(super) struct Phases {
    all: Vec<Phase>,
    numbers: HashMap<String, u32>,
    threads: Vec<Within>,
}

impl Phases {
    pub(super) fn new(threads: usize) -> Phases {
        let threads = (0..threads).map(|_| Within::default()).collect();
        Phases { all: vec![Phase::default()], numbers: HashMap::new(), threads }
    }

    /// A thread whose times until now are these comes to an event; the number of the phase that it is in from now on, if that is another one.
    pub(super) fn event(&mut self, thread: u32, times: &Times, kind: &EventKind) -> Option<u32> {
        let within = &mut self.threads[thread as usize];
        let before = within.phases.last().copied();
        match kind {
            EventKind::PhaseBegin { name } => {
                let number = match self.numbers.get(name) {
                    Some(number) => *number,
                    None => {
                        self.all.push(Phase { name: name.clone(), ..Phase::default() });
                        let number = self.all.len() as u32 - 1;
                        self.numbers.insert(name.clone(), number);
                        number
                    }
                };
                within.phases.push(number);
            }
            EventKind::PhaseEnd { name } => {
                let number = self.numbers.get(name)?;
                let at = within.phases.iter().rposition(|p| p == number)?;
                within.phases.truncate(at);
            }
            _ => return None,
        }
        let now = within.phases.last().copied();
        self.spent(thread, before, times);
        (now != before).then(|| now.unwrap_or(0))
    }

    /// What a thread spent since the last change goes to a phase.
    fn spent(&mut self, thread: u32, phase: Option<u32>, times: &Times) {
        let within = &mut self.threads[thread as usize];
        self.all[phase.unwrap_or(0) as usize].times.add(&times.since(&within.before));
        within.before = *times;
    }

    /// All of them, at the end of threads with these times.
    pub(super) fn over(mut self, times: &[Times]) -> Vec<Phase> {
        for (thread, times) in (0..).zip(times) {
            let within = self.threads[thread as usize].phases.last().copied();
            self.spent(thread, within, times);
        }
        self.all
    }
}
