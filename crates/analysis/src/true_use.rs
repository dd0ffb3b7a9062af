//! What threads do to the lines that they truly share: add to the same words, hand data over, or neither clearly.
use crate::candidates::is_sum;
use crate::parts::Parts;
use crate::rows::TrueUse;
use crate::watched::{Line, Word, is_noise};
use homenode_base::TotalCost;

/// Part of the useful transfers' cost that must be of one kind.
const MOST_PERCENT: i128 = 80;

/// Of the lines whose object is wanted.
pub(crate) fn find(parts: &Parts<'_>, mut wanted: impl FnMut(u32) -> bool) -> TrueUse {
    let (mut all, mut added, mut handed) = (TotalCost::ZERO, TotalCost::ZERO, TotalCost::ZERO);
    // What goes along with a lock is told of with the lock.
    let without_lock = |l: &&Line| !l.words.iter().any(|w| w.lock);
    for line in parts.lines.iter().filter(without_lock).filter(|l| wanted(l.object)) {
        let useful = line.cost - line.useless_cost;
        all += useful;
        if is_sum(line) {
            added += useful;
        } else if is_handed_over(line) {
            handed += useful;
        }
    }
    let most = |kind: TotalCost| kind > TotalCost::ZERO && kind.0 * 100 >= all.0 * MOST_PERCENT;
    match (most(added), most(handed)) {
        (true, _) => TrueUse::Added,
        (_, true) => TrueUse::HandedOver,
        _ => TrueUse::Unclear,
    }
}

/// Whether most references to shared words of this line are to words that one processor writes and another reads.
fn is_handed_over(line: &Line) -> bool {
    let refs = |w: &&Word| w.reads + w.writes;
    let shared = || line.words.iter().filter(|w| !w.lock && w.users.count_ones() > 1 && !is_noise(w, line));
    let handed: u64 = shared().filter(|w| is_handed(w)).map(|w| refs(&w)).sum();
    handed > 0 && handed * 2 >= shared().map(|w| refs(&w)).sum::<u64>()
}

/// What is written is read by another before it is written again, by whom who wrote does not need to know; or one writes
/// what others read.
fn is_handed(w: &Word) -> bool {
    let one_writer = w.writers.count_ones() <= 1 || w.owner().is_some();
    w.writes > 0 && w.looks * 2 >= w.writes && (one_writer || w.blind * 2 >= w.writes)
}
