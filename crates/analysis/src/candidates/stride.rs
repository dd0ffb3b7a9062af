//! Which elements separate their owners: from who writes which word of an object.

/// Words of one allocation that one processor writes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Owned {
    /// First byte of the allocation.
    pub(crate) start: u64,
    /// Bytes of the allocation.
    pub(crate) bytes: u64,
    /// (offset, owner), ascending by offset.
    pub(crate) words: Vec<(u64, u32)>,
}

impl Owned {
    /// Whether it has several owners.
    pub(crate) fn is_divided(&self) -> bool {
        self.words.iter().any(|w| w.1 != self.words[0].1)
    }
}

/// Elements found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Elements {
    /// (address of the first element, number of elements), ascending.
    pub(crate) arrays: Vec<(u64, u64)>,
    /// Bytes of an element.
    pub(crate) bytes: u64,
}

/// Longer elements than this are parts of arrays, and what is wrong is where the parts meet.
const ELEMENT_MAX: u64 = 1 << 16;
/// One in so many borders may be an accident: a word that changed hands, or that nobody needed in time.
const ACCIDENTS: usize = 20;

/// The longest element such that (but for accidents) no element of any of these allocations has words of two owners.
/// `None` if no allocation has several. Words are multiples of `word_bytes`.
pub(crate) fn infer(owned: &[Owned], word_bytes: u64) -> Option<Elements> {
    let divided: Vec<&Owned> = owned.iter().filter(|o| o.is_divided()).collect();
    if divided.is_empty() {
        return None;
    }
    let bytes = element(&divided, word_bytes);
    let array = |o: &&Owned| {
        let skipped = o.words[0].0 / bytes * bytes;
        (o.start + skipped, o.bytes.saturating_sub(skipped).div_ceil(bytes).max(1))
    };
    Some(Elements { arrays: divided.iter().map(array).collect(), bytes })
}

/// The longest element that separates, in whole words; one that divides every allocation evenly is believed before a
/// longer one, down to half of its length.
fn element(divided: &[&Owned], word_bytes: u64) -> u64 {
    let meets: Vec<Vec<(u64, u64)>> = divided.iter().map(|o| meets(&o.words)).collect();
    // Every meeting needs a border of its own, so two successive ones bound the length; a single one has its border at
    // one length or more.
    let successive = meets.iter().flat_map(|m| m.windows(2).map(|w| w[1].1 - w[0].0));
    let single = meets.iter().filter_map(|m| m.first()).map(|m| m.1);
    let mut lengths: Vec<u64> = successive.chain(single).collect();
    lengths.sort_unstable();
    let longest = lengths.get(lengths.len() / ACCIDENTS).copied().unwrap_or(word_bytes).min(ELEMENT_MAX) / word_bytes;
    let all: usize = meets.iter().map(Vec::len).sum();
    let separates = |bytes: u64| {
        let together = meets.iter().flatten().filter(|(lo, hi)| lo / bytes == hi / bytes);
        together.take(all / ACCIDENTS + 1).count() <= all / ACCIDENTS
    };
    let mut found = (1..=longest).rev().map(|n| n * word_bytes).filter(|&b| separates(b));
    let Some(first) = found.next() else { return word_bytes };
    let divides = |bytes: &u64| divided.iter().all(|o| o.bytes.is_multiple_of(*bytes));
    std::iter::once(first).chain(found).take_while(|b| b * 2 >= first).find(divides).unwrap_or(first)
}

/// Where words of two owners follow each other: (offset of the one, offset of the other).
fn meets(words: &[(u64, u32)]) -> Vec<(u64, u64)> {
    words.windows(2).filter(|w| w[0].1 != w[1].1).map(|w| (w[0].0, w[1].0)).collect()
}

/// Elements that are dealt out like cards: the owner of element `i` is `owners[i % owners.len()]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Dealt {
    /// First element and number of elements.
    pub(crate) array: (u64, u64),
    /// By element, one round.
    pub(crate) owners: Vec<u32>,
}

/// Elements in a round at most.
const ROUND_MAX: u64 = 1024;
/// Elements looked at.
const SEEN_MAX: usize = 4096;

/// How each array with several owners is dealt out; `None` if one of them is not, or has just one part for each.
pub(crate) fn dealt(owned: &[Owned], elements: &Elements) -> Option<Vec<Dealt>> {
    let divided = owned.iter().filter(|o| o.is_divided());
    divided.zip(&elements.arrays).map(|(o, array)| deal(o, *array, elements.bytes)).collect()
}

fn deal(owned: &Owned, array: (u64, u64), bytes: u64) -> Option<Dealt> {
    let first = array.0 - owned.start;
    let mut seen: Vec<(u64, u32)> =
        owned.words.iter().filter(|w| w.0 >= first).map(|&(offset, owner)| ((offset - first) / bytes, owner)).collect();
    seen.dedup_by_key(|s| s.0);
    seen.truncate(SEEN_MAX);
    let parts = 1 + seen.windows(2).filter(|w| w[0].1 != w[1].1).count();
    let mut owners: Vec<u32> = seen.iter().map(|s| s.1).collect();
    owners.sort_unstable();
    owners.dedup();
    if parts < 3 * owners.len() {
        return None;
    }
    (2..=ROUND_MAX).find_map(|round| round_of(&seen, round)).map(|owners| Dealt { array, owners })
}

/// The owners of one round of this length, if (but for accidents) all elements seen are dealt so.
fn round_of(seen: &[(u64, u32)], round: u64) -> Option<Vec<u32>> {
    // The majority (Boyer and Moore 1991) of each place in the round, then those that differ from it.
    let mut votes: Vec<(u32, u32)> = vec![(0, 0); round as usize];
    for &(element, owner) in seen {
        let at = &mut votes[(element % round) as usize];
        *at = match *at {
            (_, 0) => (owner, 1),
            (leader, n) if leader == owner => (leader, n + 1),
            (leader, n) => (leader, n - 1),
        };
    }
    let wrong = seen.iter().filter(|(element, owner)| votes[(element % round) as usize].0 != *owner);
    if votes.iter().any(|v| v.1 == 0) || wrong.count() > seen.len() / ACCIDENTS {
        return None;
    }
    // A round that was seen but once or twice may be chance.
    if seen.len() < 3 * round as usize {
        return None;
    }
    Some(votes.into_iter().map(|v| v.0).collect())
}

#[cfg(test)]
#[path = "stride_tests.rs"]
mod tests;
