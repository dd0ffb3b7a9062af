//! TLBs as data. The number of a model's source stands beside it; the historical six are those of Bolosky 1993, section 6.3.

/// A set-associative table of translations; the set is the low bits of the page number, replacement is LRU in the set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Level {
    /// Sets, a power of two.
    pub sets: u32,
    /// Entries of a set, at least 1.
    pub ways: u32,
}

const fn level(sets: u32, ways: u32) -> Level {
    Level { sets, ways }
}

/// The TLB of one processor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TlbModel {
    /// Name on the command line and in tables.
    pub name: &'static str,
    /// What it is and where its numbers are from.
    pub source: &'static str,
    /// First level for pages below [`HUGE_BYTES`].
    pub first: Level,
    /// Second level for them, asked after a miss in the first.
    pub second: Option<Level>,
    /// Both for huge pages, where they differ.
    pub huge: Option<(Level, Option<Level>)>,
    /// Pages of one entry, a power of two: such a TLB works as if pages were so much larger.
    pub pages_per_entry: u32,
    /// Cost of a miss in local references, where a source gives one.
    pub miss_cost: Option<f64>,
}

/// From this page size on, a page is a huge page.
pub const HUGE_BYTES: u64 = 2 << 20;

impl TlbModel {
    /// The levels that pages of this size use.
    pub fn levels(&self, page_bytes: u64) -> (Level, Option<Level>) {
        match self.huge {
            Some(huge) if page_bytes >= HUGE_BYTES => huge,
            _ => (self.first, self.second),
        }
    }
    /// Bytes that the larger level maps.
    pub fn reach_bytes(&self, page_bytes: u64) -> u64 {
        let (first, second) = self.levels(page_bytes);
        let entries = |l: Level| u64::from(l.sets) * u64::from(l.ways);
        entries(first).max(second.map_or(0, entries)) * u64::from(self.pages_per_entry) * page_bytes
    }
    /// The model of this name, if there is one.
    pub fn find(name: &str) -> Option<&'static TlbModel> {
        TLB_MODELS.iter().find(|m| m.name == name)
    }
}

const fn historical(name: &'static str, source: &'static str, first: Level) -> TlbModel {
    TlbModel { name, source, first, second: None, huge: None, pages_per_entry: 1, miss_cost: None }
}

/// All models, the historical ones first.
pub static TLB_MODELS: &[TlbModel] = &[
    // 2.5: section 6.3.4, a hash chain of two entries searched by hardware.
    TlbModel {
        miss_cost: Some(2.5),
        ..historical("ace", "IBM ACE, 16 sets of 2: Bolosky 1993, section 6.3", level(16, 2))
    },
    historical("68040", "Motorola 68040, 16 sets of 4: Bolosky 1993, section 6.3", level(16, 4)),
    historical("68851", "Motorola 68851, 64 entries, fully associative: Bolosky 1993, section 6.3", level(1, 64)),
    historical("88200", "Motorola 88200, 56 entries, fully associative: Bolosky 1993, section 6.3", level(1, 56)),
    historical("68030", "Motorola 68030, 22 entries, fully associative: Bolosky 1993, section 6.3", level(1, 22)),
    TlbModel {
        pages_per_entry: 2,
        // 20 cycles in software at 2 cycles a hit.
        miss_cost: Some(10.0),
        ..historical(
            "r4000",
            "MIPS R4000, 48 entries of 2 pages, fully associative: Bolosky 1993, section 6.3",
            level(1, 48),
        )
    },
    TlbModel {
        name: "skylake",
        source: "Intel Skylake, data TLB 64 entries of 4 ways (2 MiB pages: 32 of 4), second level 1536 of 12 for both: \
                 Intel 64 and IA-32 Architectures Optimization Reference Manual (248966), TLB parameters of Skylake Client",
        first: level(16, 4),
        second: Some(level(128, 12)),
        huge: Some((level(8, 4), Some(level(128, 12)))),
        pages_per_entry: 1,
        miss_cost: None,
    },
    TlbModel {
        name: "ice-lake",
        source: "Intel Ice Lake, loads 64 entries of 4 ways (2 MiB pages: 32 of 4), second level 2048 of 16 ways, half of \
                 them for 2 MiB pages: CPUID leaf 18H of a Core i7-1068NG7, whose second level is two tables of 128 sets of \
                 8 ways, both for 4 KiB pages and one of them for 2 MiB too; its 16 entries for stores are left out",
        first: level(16, 4),
        second: Some(level(128, 16)),
        huge: Some((level(8, 4), Some(level(128, 8)))),
        pages_per_entry: 1,
        miss_cost: None,
    },
    TlbModel {
        name: "zen",
        source: "AMD Zen, 64 entries, fully associative, all page sizes; second level 1536 of 12 ways: AMD Software \
                 Optimization Guide for Family 17h (55723), section 2.7.2; its skewed index is taken as low bits",
        first: level(1, 64),
        second: Some(level(128, 12)),
        huge: None,
        pages_per_entry: 1,
        miss_cost: None,
    },
    TlbModel {
        name: "neoverse-n1",
        source: "Arm Neoverse N1, 48 entries, fully associative, all page sizes; second level 1280 of 5 ways: Arm \
                 Cortex-A76 Core Technical Reference Manual, section A5.2, whose memory management unit the N1 shares",
        first: level(1, 48),
        second: Some(level(256, 5)),
        huge: None,
        pages_per_entry: 1,
        miss_cost: None,
    },
];
