//! Address spaces: one flat space for the addresses of all, and memory that several of them have.
//!
//! Memory that is mapped in more than one place *lies* where it was mapped first, and an address in another mapping stands
//! for the address there. Given as an address of a space that it does not lie in, it carries the exclusive-or of both spaces'
//! [`tag`]s, so that `addr ^ tag(space)` is the same for all who refer to the byte.
//!
//! ```
//! use homenode_base::spaces::{Claim, Memory, Shared, Uses, home};
//!
//! // The same page of a file, mapped at different addresses by the processes 0 and 1.
//! let claim = |first| Claim { first, last: first + 0xfff, memory: Memory::File(5, 77), offset: 0x2000 };
//! let uses = |first| Uses { claims: vec![claim(first)], other: Vec::new() };
//! let shared = Shared::new([(0, uses(0x10_0000)), (1, uses(0x70_0000))].into());
//! assert_eq!(shared.view(1).locate(0x70_0008), (0, 0x10_0008));
//! assert_eq!(home(1, shared.view(1).tagged(0x70_0008)), (0, 0x10_0008));
//! assert_eq!(shared.view(1).locate(0x71_0008), (1, 0x71_0008), "what is not mapped so is its own");
//! ```
use std::collections::{BTreeMap, HashMap};

/// Bits of an address that processes use; what an address space adds stands above them.
const USER_BITS: u32 = 47;
/// The largest address that processes use.
pub const USER_LAST: u64 = (1 << USER_BITS) - 1;
/// Most parts of mappings that are looked up elsewhere: what a hostile dataset can make a reader hold.
const PARTS_MAX: usize = 1 << 16;

/// What distinguishes the addresses of this space: exclusive-or of an address with it gives the *flat* address, in which
/// different memory of different processes has different addresses. Space 0 stays as it is. Distinct for up to 2^17
/// spaces where addresses are below 2^47, as they are in programs; elsewhere (hostile traces) two addresses may meet.
#[inline]
pub const fn tag(space: u32) -> u64 {
    (space as u64).reverse_bits()
}

/// The (space, address) of a flat address, where it comes from an address below 2^47.
#[inline]
pub const fn unflatten(flat: u64) -> (u32, u64) {
    ((flat & !USER_LAST).reverse_bits() as u32, flat & USER_LAST)
}

/// Where the memory lies to which a thread of this space refers by an address that may carry tags.
#[inline]
pub const fn home(space: u32, addr: u64) -> (u32, u64) {
    if addr <= USER_LAST { (space, addr) } else { unflatten(addr ^ tag(space)) }
}

/// A part of a mapping whose memory lies elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Part {
    first: u64,
    last: u64,
    to: (u32, u64),
}

/// Which parts of each address space lie elsewhere; none in most recordings.
#[derive(Clone, Debug, Default)]
pub struct Shared {
    /// By address space, in order of address, without overlap.
    parts: HashMap<u32, Vec<Part>>,
}

/// One address space's view of [`Shared`].
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    space: u32,
    parts: &'a [Part],
}

impl Shared {
    /// What these uses of the spaces come to. Memory that only one space has lies where it is; an address that a space used
    /// for something else, too, or for two places of memory, stays its own.
    pub fn new(mut uses: BTreeMap<u32, Uses>) -> Shared {
        let mut seen: HashMap<Memory, (u32, bool)> = HashMap::new();
        for (space, of) in &uses {
            for c in &of.claims {
                let known = seen.entry(c.memory).or_insert((*space, false));
                known.1 |= known.0 != *space;
            }
        }
        for of in uses.values_mut() {
            of.claims.retain(|c| seen[&c.memory].1);
        }
        Shared { parts: parts(uses) }
    }

    /// Whether every address of every space lies there.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }
    /// Whether some memory has different addresses in different spaces.
    pub fn moves(&self) -> bool {
        self.parts.values().flatten().any(|part| part.first != part.to.1)
    }
    /// How many parts of mappings lie elsewhere.
    pub fn parts(&self) -> usize {
        self.parts.values().map(Vec::len).sum()
    }
    /// What a space sees.
    pub fn view(&self, space: u32) -> View<'_> {
        View { space, parts: self.parts.get(&space).map_or(&[], Vec::as_slice) }
    }
}

impl View<'_> {
    /// Whether all of its memory lies in it.
    #[inline]
    pub fn is_plain(&self) -> bool {
        self.parts.is_empty()
    }
    /// Whose view it is.
    #[inline]
    pub fn space(&self) -> u32 {
        self.space
    }
    /// Where the memory at an address lies.
    pub fn locate(&self, addr: u64) -> (u32, u64) {
        let at = self.parts.partition_point(|p| p.last < addr);
        match self.parts.get(at).filter(|p| p.first <= addr) {
            Some(p) => (p.to.0, p.to.1 + (addr - p.first)),
            None => (self.space, addr),
        }
    }
    /// Byte that an address of this space stands for, as an address with the tags of both spaces where it lies in another.
    pub fn tagged(&self, addr: u64) -> u64 {
        let (space, at) = self.locate(addr);
        at ^ tag(space) ^ tag(self.space)
    }
}

/// What makes two mappings the same memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Memory {
    /// Device and inode.
    File(u64, u64),
    /// Number of the event by which it came into being.
    Anonymous(usize),
}

/// A shared mapping in an address space.
#[derive(Clone, Copy, Debug)]
pub struct Claim {
    /// First byte; not above [`USER_LAST`].
    pub first: u64,
    /// Last byte; not above [`USER_LAST`].
    pub last: u64,
    /// Of which memory.
    pub memory: Memory,
    /// Place of the first byte in the memory; that of the last fits 64 bits.
    pub offset: u64,
}

/// What an address space was used for.
#[derive(Clone, Debug, Default)]
pub struct Uses {
    /// Shared mappings that it ever had.
    pub claims: Vec<Claim>,
    /// Ranges that it used for something else, first and last byte.
    pub other: Vec<(u64, u64)>,
}

impl Claim {
    /// What is left of it without this range.
    pub fn cut(self, first: u64, last: u64) -> impl Iterator<Item = Claim> {
        let before = (self.first < first).then(|| Claim { last: first - 1, ..self });
        let after = (last < self.last).then(|| Claim {
            first: last + 1,
            offset: self.offset + (last + 1 - self.first),
            ..self
        });
        before.into_iter().chain(after)
    }
    /// The address at which the memory's first byte would be mapped: the same for claims that say the same.
    fn base(&self) -> u64 {
        self.first.wrapping_sub(self.offset)
    }
}

/// Claims of one space that nothing contradicts, in order of address and without overlap.
fn undisputed(uses: Uses) -> Vec<Claim> {
    let mut claims: Vec<Claim> = Vec::new();
    let mut other = uses.other;
    for claim in uses.claims {
        let mut fresh = vec![claim];
        for known in &claims {
            let disputes = (known.memory, known.base()) != (claim.memory, claim.base());
            let (first, last) = (known.first.max(claim.first), known.last.min(claim.last));
            if first <= last {
                other.extend(disputes.then_some((first, last)));
                fresh = fresh.into_iter().flat_map(|c| without(c, known.first, known.last)).collect();
            }
        }
        claims.append(&mut fresh);
        if claims.len() > PARTS_MAX {
            return Vec::new();
        }
    }
    let other = joined(other);
    let mut rest = Vec::new();
    for mut claim in claims {
        let from = other.partition_point(|o| o.1 < claim.first);
        let mut whole = true;
        for &(first, last) in other[from..].iter().take_while(move |o| o.0 <= claim.last) {
            rest.extend((claim.first < first).then(|| Claim { last: first - 1, ..claim }));
            whole = last < claim.last;
            if !whole {
                break;
            }
            claim = Claim { first: last + 1, offset: claim.offset + (last + 1 - claim.first), ..claim };
        }
        rest.extend(whole.then_some(claim));
    }
    rest.sort_by_key(|c| c.first);
    rest
}

/// Ranges in order and without overlap.
fn joined(mut ranges: Vec<(u64, u64)>) -> Vec<(u64, u64)> {
    ranges.sort_unstable();
    ranges.dedup_by(|next, before| {
        let meets = next.0 <= before.1;
        before.1 = if meets { before.1.max(next.1) } else { before.1 };
        meets
    });
    ranges
}

fn without(claim: Claim, first: u64, last: u64) -> Vec<Claim> {
    if last < claim.first || claim.last < first { vec![claim] } else { claim.cut(first, last).collect() }
}

/// Where each memory lies, and the parts of mappings whose memory lies elsewhere.
fn parts(uses: BTreeMap<u32, Uses>) -> HashMap<u32, Vec<Part>> {
    // By memory: first byte to (last byte, space, address).
    let mut lies: HashMap<Memory, BTreeMap<u64, (u64, u32, u64)>> = HashMap::new();
    let (mut found, mut count): (HashMap<u32, Vec<Part>>, usize) = (HashMap::new(), 0);
    for (space, of) in uses {
        let mut own = Vec::new();
        for claim in undisputed(of) {
            let (mut at, end) = (claim.offset, claim.offset + (claim.last - claim.first));
            let memory = lies.entry(claim.memory).or_default();
            while at <= end {
                let addr = claim.first + (at - claim.offset);
                let covering = memory.range(..=at).next_back().filter(|(_, l)| l.0 >= at).map(|(f, l)| (*f, *l));
                let last = match covering {
                    Some((first, (last, to_space, to))) => {
                        let last = last.min(end);
                        own.push(Part { first: addr, last: addr + (last - at), to: (to_space, to + (at - first)) });
                        last
                    }
                    None => {
                        let next = memory.range(at..).next().map_or(u64::MAX, |(f, _)| *f);
                        let last = end.min(next - 1);
                        memory.insert(at, (last, space, addr));
                        last
                    }
                };
                count += 1;
                if last == end || count > PARTS_MAX {
                    break;
                }
                at = last + 1;
            }
        }
        own.retain(|p| p.to != (space, p.first));
        if !own.is_empty() {
            own.sort_by_key(|p| p.first);
            found.insert(space, own);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(first: u64, bytes: u64, offset: u64) -> Claim {
        Claim { first, last: first + bytes - 1, memory: Memory::File(1, 2), offset }
    }
    /// A space, its claims and its other uses.
    type Used<'a> = (u32, &'a [Claim], &'a [(u64, u64)]);

    fn of(spaces: &[Used<'_>]) -> Shared {
        let uses =
            |(space, claims, other): &Used<'_>| (*space, Uses { claims: claims.to_vec(), other: other.to_vec() });
        Shared::new(spaces.iter().map(uses).collect())
    }

    #[test]
    fn flat_addresses_of_different_spaces_differ_and_go_back() {
        let mut seen = std::collections::BTreeSet::new();
        for space in [0, 1, 2, 3, 64, 1000, (1 << 17) - 1] {
            for addr in [0u64, 1, 0x5555_5555_0000, (1 << 47) - 1] {
                assert!(seen.insert(addr ^ tag(space)));
                assert_eq!(unflatten(addr ^ tag(space)), (space, addr));
            }
        }
        assert_eq!(tag(0), 0);
    }

    #[test]
    fn memory_of_one_space_lies_where_it_is() {
        let twice = [claim(0x1000, 0x1000, 0), claim(0x9000, 0x1000, 0)];
        assert!(of(&[(0, &twice, &[]), (1, &[], &[])]).is_empty());
    }

    #[test]
    fn parts_of_mappings_meet_where_they_were_mapped_first() {
        // Space 0 has the first and the third page of the memory, space 1 all four, space 2 the last two, twice.
        let shared = of(&[
            (0, &[claim(0x1000, 0x1000, 0), claim(0x8000, 0x1000, 0x2000)], &[]),
            (1, &[claim(0x10_0000, 0x4000, 0)], &[]),
            (2, &[claim(0x20_0000, 0x2000, 0x2000), claim(0x30_0000, 0x2000, 0x2000)], &[]),
        ]);
        let one = [0x10_0008, 0x10_1008, 0x10_2008, 0x10_3008].map(|a| shared.view(1).locate(a));
        assert_eq!(one, [(0, 0x1008), (1, 0x10_1008), (0, 0x8008), (1, 0x10_3008)]);
        for base in [0x20_0000, 0x30_0000] {
            assert_eq!([base, base + 0x1fff].map(|a| shared.view(2).locate(a)), [(0, 0x8000), (1, 0x10_3fff)]);
        }
        assert!(shared.view(0).is_plain() && shared.view(9).is_plain());
    }

    #[test]
    fn what_is_disputed_stays_its_own() {
        let other = Claim { memory: Memory::File(1, 3), ..claim(0x10_1000, 0x1000, 0) };
        let spaces: &[Used<'_>] = &[
            (0, &[claim(0x1000, 0x4000, 0), Claim { memory: Memory::File(1, 3), ..claim(0x9000, 0x1000, 0) }], &[]),
            // The second page was another file's for a while, the end of the fourth the heap's.
            (1, &[claim(0x10_0000, 0x4000, 0), other], &[(0x10_3800, 0x10_4800)]),
        ];
        let shared = of(spaces);
        let found = [0x10_0000, 0x10_1000, 0x10_2000, 0x10_37ff, 0x10_3800].map(|a| shared.view(1).locate(a));
        assert_eq!(found, [(0, 0x1000), (1, 0x10_1000), (0, 0x3000), (0, 0x47ff), (1, 0x10_3800)]);
    }

    /// Each byte by itself, the slow way.
    #[test]
    fn random_mappings_meet_byte_by_byte() {
        let mut rng = crate::Rng::new(77);
        for _ in 0..300 {
            let mut uses = BTreeMap::new();
            for space in 0..3u32 {
                let mut some = Uses::default();
                for _ in 0..rng.below(4) {
                    let memory = Memory::File(0, rng.below(2));
                    let first = u64::from(space) * 1000 + rng.below(40);
                    some.claims.push(Claim { first, last: first + rng.below(20), memory, offset: rng.below(30) });
                }
                for _ in 0..rng.below(3) {
                    let first = u64::from(space) * 1000 + rng.below(60);
                    some.other.push((first, first + rng.below(6)));
                }
                uses.insert(space, some);
            }
            let shared = Shared::new(uses.clone());
            // What a byte is, if nothing else is said of it.
            let byte = |space: u32, addr: u64| {
                let of = &uses[&space];
                let said: std::collections::BTreeSet<(bool, u64, u64)> = of
                    .claims
                    .iter()
                    .filter(|c| c.first <= addr && addr <= c.last && known_twice(&uses, c.memory))
                    .map(|c| (c.memory == Memory::File(0, 1), c.offset + addr - c.first, 0))
                    .collect();
                let other = of.other.iter().any(|o| o.0 <= addr && addr <= o.1);
                (said.len() == 1 && !other).then(|| said.into_iter().next()).flatten()
            };
            let all: Vec<(u32, u64)> =
                (0..3).flat_map(|s| (0..80).map(move |a| (s, u64::from(s) * 1000 + a))).collect();
            let lies: Vec<_> = all.iter().map(|&(s, a)| (byte(s, a), shared.view(s).locate(a))).collect();
            for (i, a) in lies.iter().enumerate() {
                assert!(a.0.is_some() || a.1 == all[i], "its own");
                for b in lies.iter().filter(|_| a.0.is_some()) {
                    assert_eq!(a.0 == b.0, a.1 == b.1, "{:?} {a:?} {b:?}", all[i]);
                }
            }
        }
    }

    fn known_twice(uses: &BTreeMap<u32, Uses>, memory: Memory) -> bool {
        uses.values().filter(|u| u.claims.iter().any(|c| c.memory == memory)).count() > 1
    }
}
