//! Phases of rows as events: a thread is in the phase that it began last and has not ended, else in the one that any thread began last.

/// Phases that have begun and not ended, in order of their beginning: thread and name.
#[derive(Debug, Default)]
pub(super) struct Phases(Vec<(u32, u32)>);

/// What must happen before a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// This thread ends this phase.
    End(u32, u32),
    /// This thread begins this phase.
    Begin(u32, u32),
}

impl Phases {
    /// The next change without which `thread` is not in the phase `name`; `None` once it is. Each that is given has happened.
    pub(super) fn change(&mut self, thread: u32, name: Option<u32>) -> Option<Change> {
        let own = self.0.iter().rposition(|open| open.0 == thread);
        let current = own.or(self.0.len().checked_sub(1));
        match (current, name) {
            (current, name) if current.map(|at| self.0[at].1) == name => None,
            (Some(at), name) if own.is_some() || name.is_none() => {
                let (of, ended) = self.0.remove(at);
                Some(Change::End(of, ended))
            }
            (_, name) => name.map(|name| {
                self.0.push((thread, name));
                Change::Begin(thread, name)
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Change::{Begin, End};
    use super::*;

    #[test]
    fn changes_lead_to_the_phase_of_the_row() {
        let mut phases = Phases::default();
        let mut all = |thread, name| -> Vec<Change> { std::iter::from_fn(|| phases.change(thread, name)).collect() };
        assert_eq!(all(0, None), []);
        assert_eq!(all(0, Some(7)), [Begin(0, 7)]);
        assert_eq!(all(1, Some(7)), [], "it is in the phase of the other one");
        assert_eq!(all(1, Some(8)), [Begin(1, 8)]);
        assert_eq!(all(0, Some(7)), []);
        assert_eq!(all(0, Some(9)), [End(0, 7), Begin(0, 9)]);
        assert_eq!(all(1, None), [End(1, 8), End(0, 9)]);
        assert_eq!(all(0, None), []);
    }
}
