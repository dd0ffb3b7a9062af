//! Which pages a recording of some pages has: those whose hash is small enough (spatially hashed sampling: Waldspurger, Park,
//! Garthwaite and Ahmad, Efficient MRC Construction with SHARDS, FAST 2015, section 3.1).
//!
//! The hash of a page depends on its address alone, so that all threads and every later recording of the same addresses draw the
//! same pages. It is the number of the page, mixed by the first half of splitmix64 (Steele, Lea and Flood, Fast Splittable Pseudorandom
//! Number Generators, OOPSLA 2014): one multiplication alone would draw a lattice, and how far the sum can be trusted could not be seen
//! from the sample.
//!
//! Pages that have many of all references are *certain*: recorded whether they are drawn or not (a take-all stratum: W. G. Cochran,
//! Sampling Techniques, 3rd edition, section 5.8). They are told apart by *bucket*, the upper bits of the hash.
//!
//! ```
//! use homenode_base::pages::Drawn;
//!
//! let drawn = Drawn::new(64, 4096).unwrap();
//! let pages = (0..64_000u64).filter(|page| drawn.holds(page * 4096)).count();
//! assert!((900..1100).contains(&pages), "{pages}");
//! assert_eq!(drawn.holds(0x7000_1234), drawn.holds(0x7000_1fff));
//! ```
use crate::ring::{BUCKET_SHIFT, CERTAIN_MAX, PAGE_HASH, PAGE_HASH_AGAIN, PAGE_HASH_SHIFT, PAGE_SHIFT};
use serde::{Deserialize, Serialize};

/// Most pages of which one is drawn.
pub const ONE_IN_MAX: u32 = 1 << 16;
/// Sizes of pages, in bytes: from the smallest page to the largest that programs get without asking for it.
pub const PAGE_BYTES: (u64, u64) = (1 << PAGE_SHIFT, 1 << 21);

/// Buckets of pages.
pub const BUCKETS: u32 = 1 << (64 - BUCKET_SHIFT);

/// Buckets that a recording may have as certain: threads that find one at the same time may find more than [`CERTAIN_MAX`].
pub const CERTAIN_BUCKETS_MAX: usize = 2 * CERTAIN_MAX as usize;

/// Pages drawn at random, one in so many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drawn {
    one_in: u32,
    page_bytes: u64,
}

impl Drawn {
    /// One in `one_in` pages of so many bytes; `None` unless that is 2 to [`ONE_IN_MAX`] and the size a power of two of
    /// [`PAGE_BYTES`].
    pub fn new(one_in: u32, page_bytes: u64) -> Option<Drawn> {
        let size = page_bytes.is_power_of_two() && (PAGE_BYTES.0..=PAGE_BYTES.1).contains(&page_bytes);
        (size && (2..=ONE_IN_MAX).contains(&one_in)).then_some(Drawn { one_in, page_bytes })
    }
    /// One page in so many.
    pub fn one_in(self) -> u32 {
        self.one_in
    }
    /// Bytes of a page.
    pub fn page_bytes(self) -> u64 {
        self.page_bytes
    }
    /// The largest hash of a page that is drawn.
    pub fn limit(self) -> u64 {
        u64::MAX / u64::from(self.one_in)
    }
    /// Bits of the number of a smallest page that number pages of this size.
    pub fn mask(self) -> u64 {
        !(self.page_bytes / PAGE_BYTES.0 - 1)
    }
    #[inline]
    fn hash(self, addr: u64) -> u64 {
        let once = (addr >> PAGE_SHIFT & self.mask()).wrapping_mul(PAGE_HASH);
        (once ^ once >> PAGE_HASH_SHIFT).wrapping_mul(PAGE_HASH_AGAIN)
    }
    /// Whether the page of an address is drawn.
    #[inline]
    pub fn holds(self, addr: u64) -> bool {
        self.hash(addr) <= self.limit()
    }
    /// The bucket of the page of an address.
    #[inline]
    pub fn bucket(self, addr: u64) -> u32 {
        (self.hash(addr) >> BUCKET_SHIFT) as u32
    }
    /// Whether all pages of a bucket are drawn.
    pub fn holds_bucket(self, bucket: u32) -> bool {
        (u64::from(bucket) << BUCKET_SHIFT | ((1 << BUCKET_SHIFT) - 1)) <= self.limit()
    }
    /// Which of so many groups of drawn pages has the page of an address, each as good as any other; `None` if it is not drawn.
    #[inline]
    pub fn group(self, addr: u64, groups: u32) -> Option<usize> {
        let (hash, limit) = (self.hash(addr), self.limit());
        (hash <= limit).then(|| ((hash / (limit / u64::from(groups) + 1)) as usize).min(groups as usize - 1))
    }
}

/// Which pages a recording has: one in so many, drawn by the hash of their addresses. Of plain
/// references those to other pages are left out; synchronisation, atomic operations, locks and busy waiting are all there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageSample {
    /// One page in so many.
    pub one_in: u32,
    /// Bytes of a page.
    pub page_bytes: u64,
    /// References that were left out.
    #[serde(default)]
    pub left_out: u64,
}

impl PageSample {
    /// One of these pages, of which nothing was left out yet.
    pub fn of(drawn: Drawn) -> PageSample {
        PageSample { one_in: drawn.one_in(), page_bytes: drawn.page_bytes(), left_out: 0 }
    }
    /// The pages; `None` if there are none like that.
    pub fn drawn(&self) -> Option<Drawn> {
        Drawn::new(self.one_in, self.page_bytes)
    }
}

/// Pages of one bucket, which have many of all references: from when that was found on, they are recorded; of
/// what they had before, so is the first reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CertainPages {
    /// Number of the bucket.
    pub bucket: u32,
    /// References to them that were left out before, estimated.
    #[serde(default)]
    pub left_out: u64,
}

impl CertainPages {
    /// Whether a recorder may have written these: buckets in order, not too many.
    pub fn may_be(all: &[CertainPages]) -> bool {
        let ascending = all.windows(2).all(|pair| pair[0].bucket < pair[1].bucket);
        ascending && all.len() <= CERTAIN_BUCKETS_MAX && all.last().is_none_or(|last| last.bucket < BUCKETS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rng;

    #[test]
    fn nonsense_is_refused() {
        for (one_in, page_bytes) in
            [(1, 4096), (0, 4096), (ONE_IN_MAX + 1, 4096), (64, 2048), (64, 5000), (64, 1 << 22)]
        {
            assert_eq!(Drawn::new(one_in, page_bytes), None);
        }
    }

    /// Every page is drawn as often as any other, and every group has its share, whatever the distance between pages.
    #[test]
    fn one_page_in_so_many_is_drawn_and_groups_are_alike() {
        let mut rng = Rng::new(11);
        for one_in in [2, 3, 16, 64, 100] {
            for page_bytes in [4096, 65_536, 2 << 20] {
                let (drawn, groups) = (Drawn::new(one_in, page_bytes).unwrap(), 16);
                let mut counts = vec![0u64; groups as usize];
                let pages = 16_000 * u64::from(one_in);
                for _ in 0..pages {
                    let addr = rng.below(1 << 46);
                    let group = drawn.group(addr, groups);
                    assert_eq!(group.is_some(), drawn.holds(addr));
                    assert!(drawn.holds(addr) || !drawn.holds_bucket(drawn.bucket(addr)));
                    group.into_iter().for_each(|g| counts[g] += 1);
                }
                assert!(counts.iter().all(|n| (800..1200).contains(n)), "1/{one_in} {page_bytes}: {counts:?}");
            }
        }
    }

    #[test]
    fn strides_of_programs_do_not_meet_the_hash() {
        for one_in in [16, 64] {
            let drawn = Drawn::new(one_in, 4096).unwrap();
            for stride in (1..=128).chain([256, 512, 1000, 1024, 4096]) {
                let n = (0..64 * u64::from(one_in)).filter(|i| drawn.holds(0x7f12_3000 + i * stride * 4096)).count();
                assert!((32..100).contains(&n), "1/{one_in}, every {stride}th page: {n} of about 64");
            }
        }
    }
}
