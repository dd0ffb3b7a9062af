//! Threads as those who bind them see them: who made references, and who lived beside whom.
use homenode_base::{Life, Pinned};

/// A thread among those that lived at the same time as it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Member {
    /// Place of the thread: the least that no thread which lived at the same time and was created before it has.
    pub(crate) slot: u32,
    /// Places of all threads that lived at the same time as it: one more than the highest.
    pub(crate) of: u32,
    life: Life,
}

/// All threads of a recording.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreadTable {
    /// `None` for threads without references.
    pub(crate) members: Vec<Option<Member>>,
    /// Threads with references in the order of their creation.
    pub(crate) order: Vec<usize>,
    /// Where threads were told to run, by thread; shorter if nothing was said.
    pub(crate) pinned: Vec<Option<Pinned>>,
    /// Processors of the recorded machine; 0 if not known.
    pub(crate) host_cpus: u32,
}

impl ThreadTable {
    /// Threads with `refs[i]` references and the life `lives[i]`.
    pub fn new(refs: &[u64], lives: Vec<Life>) -> ThreadTable {
        let mut order: Vec<usize> = (0..refs.len().min(lives.len())).filter(|&t| refs[t] > 0).collect();
        order.sort_by_key(|&t| lives[t].rank);
        let (slots, of) = places(&order.iter().map(|&t| &lives[t]).collect::<Vec<_>>());
        let mut members: Vec<Option<Member>> = vec![None; refs.len()];
        let mut lives: Vec<Option<Life>> = lives.into_iter().map(Some).collect();
        for ((&t, slot), of) in order.iter().zip(slots).zip(of) {
            members[t] = lives[t].take().map(|life| Member { slot, of, life });
        }
        ThreadTable { members, order, ..ThreadTable::default() }
    }

    /// Threads told to run where `pinned` says, by thread, on a machine with `host_cpus` processors (0: not known).
    #[must_use]
    pub fn told(self, pinned: Vec<Option<Pinned>>, host_cpus: u32) -> ThreadTable {
        ThreadTable { pinned, host_cpus, ..self }
    }

    /// Threads with `refs[i]` references that all live at the same time, created in this order.
    pub fn at_once(refs: &[u64]) -> ThreadTable {
        let life = |rank| Life { rank, ..Life::default() };
        ThreadTable::new(refs, (0..refs.len() as u32).map(life).collect())
    }

    /// Number of threads, those without references included.
    pub fn len(&self) -> usize {
        self.members.len()
    }
    /// Whether there is no thread.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }
    /// Threads with references.
    pub fn active(&self) -> usize {
        self.order.len()
    }
    /// Most threads with references that lived at once.
    pub fn most_at_once(&self) -> u32 {
        self.members.iter().flatten().map(|m| m.slot + 1).max().unwrap_or(0)
    }
    /// Whether two threads with references may have lived at the same time.
    pub(crate) fn overlap(&self, a: usize, b: usize) -> bool {
        match (&self.members[a], &self.members[b]) {
            (Some(a), Some(b)) => a.slot != b.slot && a.life.overlaps(&b.life),
            _ => false,
        }
    }
}

/// Places of threads in order of their creation, and how many places those have that lived beside each.
fn places(lives: &[&Life]) -> (Vec<u32>, Vec<u32>) {
    if lives.iter().all(|l| l.ended_before.is_empty()) {
        let n = lives.len() as u32;
        return ((0..n).collect(), vec![n; lives.len()]);
    }
    let mut slots: Vec<u32> = Vec::with_capacity(lives.len());
    let mut of: Vec<u32> = Vec::with_capacity(lives.len());
    let (mut taken, mut beside) = (vec![usize::MAX; lives.len() + 1], Vec::new());
    for (i, life) in lives.iter().enumerate() {
        beside.clear();
        beside.extend((0..i).filter(|&j| lives[j].overlaps(life)));
        beside.iter().for_each(|&j| taken[slots[j] as usize] = i);
        let slot = (0u32..).find(|s| taken[*s as usize] != i).unwrap_or_default();
        let most = beside.iter().map(|&j| slots[j]).max().map_or(slot, |s| s.max(slot)) + 1;
        beside.iter().for_each(|&j| of[j] = of[j].max(slot + 1));
        slots.push(slot);
        of.push(most);
    }
    (slots, of)
}

#[cfg(test)]
mod tests {
    use super::*;
    use homenode_base::{Ranks, Rng};

    /// Threads alive in rounds: each round ends with the end of some.
    fn lives(rng: &mut Rng) -> Vec<Life> {
        let (mut ended, mut alive, mut all) = (Ranks::default(), Vec::new(), Vec::new());
        for _ in 0..rng.below(8) {
            for _ in 0..rng.below(6) {
                alive.push(all.len() as u32);
                all.push(Life { rank: all.len() as u32, ended_before: ended.clone() });
            }
            alive.retain(|r| {
                rng.below(3) > 0 || {
                    ended.insert(*r);
                    false
                }
            });
        }
        all
    }

    #[test]
    fn threads_that_live_at_the_same_time_have_places_of_their_own() {
        let mut rng = Rng::new(9);
        for _ in 0..300 {
            let lives = lives(&mut rng);
            let (slots, of) = places(&lives.iter().collect::<Vec<_>>());
            let mut at_once = 0;
            for (i, a) in lives.iter().enumerate() {
                let beside: Vec<usize> = (0..lives.len()).filter(|&j| j != i && lives[j].overlaps(a)).collect();
                assert!(beside.iter().all(|&j| slots[j] != slots[i]));
                let earlier = beside.iter().filter(|&&j| j < i).count();
                at_once = at_once.max(earlier + 1);
                assert_eq!(of[i], beside.iter().map(|&j| slots[j]).max().unwrap_or(0).max(slots[i]) + 1);
            }
            assert_eq!(slots.iter().map(|s| *s as usize + 1).max().unwrap_or(0), at_once, "no place too many");
        }
    }
}
