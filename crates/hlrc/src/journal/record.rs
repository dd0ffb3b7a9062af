//! Records of a journal: two words each. What an operation asks of its host is compared by a replay; what the host gave is given again.
use crate::access::{Area, Does, Place};
use crate::host::{Count, Interrupt};
use homenode_base::NodeId;
use std::fmt;

/// What a record is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Kind {
    /// An operation begins: its code, the thread's number; the first argument.
    Begin = 1,
    /// A further argument of the operation.
    Argument,
    /// A word of the node's own memory was read: where; the value, given by the host.
    Load,
    /// A word was changed: how and where; the value with which.
    Change,
    /// What the word must be to be changed.
    Expected,
    /// What it was; given by the host.
    Before,
    /// The next changed words of a page are looked for: the page; from which word.
    Changed,
    /// Where they begin; given by the host.
    First,
    /// How many; given by the host.
    Words,
    /// A value of them; given by the host.
    Value,
    /// A mask of them; given by the host.
    Mask,
    /// What the program may do to pages: what, the first one; how many.
    Allow,
    /// A page got a twin.
    MakeTwin,
    /// Words of a peer are read: whose, from which; how many.
    Get,
    /// One of them; given by the host.
    Got,
    /// Words of a peer are written: whose, from which; how many.
    Put,
    /// One of them.
    Written,
    /// Who is woken by that.
    Wake,
    /// A word of a peer is changed if it is what is expected: whose, which; what to.
    CompareSwap,
    /// A word of a peer is added to: whose, which; what.
    FetchAdd,
    /// Words and then pages of a peer are read: whose, from which word; how many words.
    GetPages,
    /// Which pages: the first one; how many.
    Pages,
    /// A page is written to a peer: whose, which.
    PutPage,
    /// A run is written to a peer: whose, which page; from which word.
    PutRun,
    /// A peer is interrupted: which, why.
    Interrupt,
    /// How often the node was woken; given by the host.
    Bell,
    /// Who waits at this node is woken.
    Ring,
    /// The thread waits until the bell is another one.
    UntilRung,
    /// The thread waits for some time.
    Moment,
    /// The thread begins or ends to wait for deposits.
    Expects,
    /// Something was counted: what; how often.
    Count,
    /// Something was counted of a page: what, which; how often.
    CountAt,
    /// A diff begins or ends.
    Diffing,
    /// What the program made of a word; given by the host.
    Program,
    /// The operation ends: how; its value.
    End,
    /// How many threads of a node come to a barrier: which node, which slot; given by the host.
    Parties,
}

impl Kind {
    const ALL: [Kind; 36] = [
        Kind::Begin,
        Kind::Argument,
        Kind::Load,
        Kind::Change,
        Kind::Expected,
        Kind::Before,
        Kind::Changed,
        Kind::First,
        Kind::Words,
        Kind::Value,
        Kind::Mask,
        Kind::Allow,
        Kind::MakeTwin,
        Kind::Get,
        Kind::Got,
        Kind::Put,
        Kind::Written,
        Kind::Wake,
        Kind::CompareSwap,
        Kind::FetchAdd,
        Kind::GetPages,
        Kind::Pages,
        Kind::PutPage,
        Kind::PutRun,
        Kind::Interrupt,
        Kind::Bell,
        Kind::Ring,
        Kind::UntilRung,
        Kind::Moment,
        Kind::Expects,
        Kind::Count,
        Kind::CountAt,
        Kind::Diffing,
        Kind::Program,
        Kind::End,
        Kind::Parties,
    ];
    fn of(code: u8) -> Option<Kind> {
        Kind::ALL.get(usize::from(code.checked_sub(1)?)).copied()
    }
    /// Whether the value is what the host gave, and not what the protocol asked for.
    pub fn is_given(self) -> bool {
        use Kind::{Before, Bell, First, Got, Load, Mask, Parties, Program, Value, Words};
        matches!(self, Load | Before | First | Words | Value | Mask | Got | Bell | Program | Parties)
    }
}

/// A record of a journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Kind in the lowest 8 bits; above it 16 bits for a node or a manner; above these 40 for a word or a page.
    pub head: u64,
    /// Value.
    pub value: u64,
}

const SMALL: u32 = 8;
const LARGE: u32 = 24;

impl Record {
    /// A record. `large` is cut to 40 bits, as no memory has more words.
    #[inline]
    pub(crate) fn new(kind: Kind, small: u16, large: u64, value: u64) -> Record {
        Record { head: kind as u64 | u64::from(small) << SMALL | large << LARGE, value }
    }
    /// One without operands.
    #[inline]
    pub(crate) fn plain(kind: Kind, value: u64) -> Record {
        Record::new(kind, 0, 0, value)
    }
    /// What it is about; `None` if no journal has it.
    pub fn kind(self) -> Option<Kind> {
        Kind::of(self.head as u8)
    }
    /// Whether a lock of a page is given back.
    pub(crate) fn is_unlock(self) -> bool {
        self.kind() == Some(Kind::Change) && self.small() / MANNER == UNLOCK
    }
    pub(crate) fn small(self) -> u16 {
        (self.head >> SMALL) as u16
    }
    pub(crate) fn large(self) -> u64 {
        self.head >> LARGE
    }
}

/// A word of the node's own memory, in the lower bits of the small operand and in the large one.
fn place(place: Place) -> (u16, u64) {
    match place {
        Place::Region(at) => (0, at as u64),
        Place::Copy(at) => (1, at as u64),
        Place::Table(area, at) => (2 + area as u16, at as u64),
    }
}

const CHANGES: [&str; 10] = ["store", "swap", "compare-swap", "add", "max", "or", "merge", "lock", "unlock", "take"];
/// By how much the manner of a change lies above the place.
const MANNER: u16 = 16;
/// Place of the manner among these in which a lock is given back.
const UNLOCK: u16 = 8;

/// What is done to a word, as it is noted: the record, what else goes with it, and whether what the word was comes after it.
pub(crate) fn change(at: Place, does: Does) -> (Record, Option<Record>, bool) {
    let (area, word) = place(at);
    let manner = |manner: u16, value: u64| Record::new(Kind::Change, area + manner * MANNER, word, value);
    let expected = |value| Some(Record::plain(Kind::Expected, value));
    match does {
        Does::Load(_) => (Record::new(Kind::Load, area, word, 0), None, false),
        Does::Await => (Record::new(Kind::Load, area | MANNER, word, 0), None, false),
        Does::Store(value, _) => (manner(0, value), None, false),
        Does::Swap(value, _) => (manner(1, value), None, true),
        Does::CompareSwap(old, new) => (manner(2, new), expected(old), true),
        Does::Add(value, _) => (manner(3, value), None, true),
        Does::Max(value, _) => (manner(4, value), None, true),
        Does::Or(bits, _) => (manner(5, bits), None, true),
        Does::Merge(value, mask) => (manner(6, value), expected(mask), false),
        Does::Lock(bit) => (manner(7, bit), None, true),
        Does::Unlock(bit) => (manner(UNLOCK, bit), None, false),
        Does::Take => (manner(9, 0), None, true),
    }
}

const INTERRUPTS: [Interrupt; 4] = [Interrupt::Page, Interrupt::Diff, Interrupt::Lock, Interrupt::Notices];
const COUNTS: [Count; 16] = [
    Count::Fetch,
    Count::FetchRetry,
    Count::Prefetch,
    Count::PrefetchInVain,
    Count::Twin,
    Count::Diff,
    Count::DiffRun,
    Count::HomeWrite,
    Count::Migration,
    Count::Invalidation,
    Count::NoticeMessage,
    Count::Notice,
    Count::Vector,
    Count::LockRemote,
    Count::LockLocal,
    Count::Served,
];

impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (small, large, value) = (self.small(), self.large(), self.value);
        let Some(kind) = self.kind() else { return write!(f, "no record: {:#x} {value:#x}", self.head) };
        let node = NodeId(small);
        let count = COUNTS.get(usize::from(small)).map_or_else(|| "?".to_owned(), |c| format!("{c:?}"));
        match kind {
            Kind::Load => write!(f, "load {} = {value:#x}", shown(small % MANNER, large)),
            Kind::Change => {
                let manner = CHANGES.get(usize::from(small / MANNER)).unwrap_or(&"?");
                write!(f, "{manner} {} {value:#x}", shown(small % MANNER, large))
            }
            Kind::Get | Kind::Put | Kind::GetPages => write!(f, "{kind:?} {value} words of node {node} from {large}"),
            Kind::CompareSwap | Kind::FetchAdd => write!(f, "{kind:?} word {large} of node {node}: {value:#x}"),
            Kind::PutPage => write!(f, "PutPage {large} to node {node}"),
            Kind::PutRun => write!(f, "PutRun to page {large} of node {node} from word {value}"),
            Kind::Allow => {
                let may = ["nothing", "reading", "writing"].get(usize::from(small)).unwrap_or(&"?");
                write!(f, "allow {may} of {value} pages from {large}")
            }
            Kind::Interrupt => {
                let why = INTERRUPTS.get(large as usize).map_or_else(|| "?".to_owned(), |i| format!("{i:?}"));
                write!(f, "interrupt node {node}: {why}")
            }
            Kind::Count => write!(f, "count {count} {value}"),
            Kind::CountAt => write!(f, "count {count} of page {large} {value}"),
            Kind::MakeTwin | Kind::Changed => write!(f, "{kind:?} of page {large}, {value}"),
            _ if self.head >> SMALL == 0 => write!(f, "{kind:?} {value:#x}"),
            _ => write!(f, "{kind:?} {small} {large} {value:#x}"),
        }
    }
}

fn shown(area: u16, word: u64) -> String {
    match area {
        0 => format!("region[{word}]"),
        1 => format!("heap[{word}]"),
        _ => Area::ALL
            .get(usize::from(area - 2))
            .map_or_else(|| "?".to_owned(), |a| format!("{a:?}[{word}]").to_lowercase()),
    }
}
