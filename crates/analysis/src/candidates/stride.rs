//! Which elements separate the threads: from who writes which word of an object.

/// Words of one allocation that exactly one thread writes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Owned {
    /// First byte of the allocation.
    pub(crate) start: u64,
    /// Its bytes.
    pub(crate) bytes: u64,
    /// (offset, thread), ascending by offset.
    pub(crate) words: Vec<(u64, u32)>,
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

/// The longest element such that no element of any of these allocations has words of two threads. `None` if no word has
/// an owner.
pub(crate) fn infer(owned: &[Owned], word_bytes: u64) -> Option<Elements> {
    let divided: Vec<&Owned> = owned.iter().filter(|o| o.words.iter().any(|w| w.1 != o.words[0].1)).collect();
    if divided.is_empty() {
        // Every allocation belongs to one thread: they meet in lines between allocations.
        let bytes = owned.iter().filter(|o| !o.words.is_empty()).map(|o| o.bytes).max()?;
        let arrays = owned.iter().filter(|o| !o.words.is_empty()).map(|o| (o.start, 1)).collect();
        return Some(Elements { arrays, bytes });
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
    let longest = successive.chain(single).min().unwrap_or(word_bytes).min(ELEMENT_MAX) / word_bytes;
    let separates = |bytes: u64| meets.iter().flatten().all(|&(lo, hi)| lo / bytes != hi / bytes);
    let mut found = (1..=longest).rev().map(|n| n * word_bytes).filter(|&b| separates(b));
    let Some(first) = found.next() else { return word_bytes };
    let divides = |bytes: &u64| divided.iter().all(|o| o.bytes.is_multiple_of(*bytes));
    std::iter::once(first).chain(found).take_while(|b| b * 2 >= first).find(divides).unwrap_or(first)
}

/// Where words of two threads follow each other: (offset of the one, offset of the other).
fn meets(words: &[(u64, u32)]) -> Vec<(u64, u64)> {
    words.windows(2).filter(|w| w[0].1 != w[1].1).map(|w| (w[0].0, w[1].0)).collect()
}

#[cfg(test)]
#[path = "stride_tests.rs"]
mod tests;
