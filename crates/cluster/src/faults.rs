//! Faults by seed: packets that are lost and sent again, packets that are late, a node that is slow, and one that stands still now and then.
//!
//! What happens to a packet is a function of the seed, its two nodes and its number among their packets: no pair's faults depend on another pair's.
//! Packets of a pair stay in their order, which the protocol counts on, so one that is late holds up those behind it.
use hashbrown::HashMap;
use homenode_base::Rng;
use schemars::JsonSchema;
use serde::Serialize;
use std::cell::{Cell, RefCell};
use std::fmt;
use std::str::FromStr;

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Faults {
    seed: u64,
    /// Packets of a million that are lost.
    loss: u64,
    timeout: u64,
    tries: u64,
    delay: u64,
    /// Thousandths.
    slow: u64,
    pause: u64,
    every: u64,
    is_unordered: bool,
}

/// How a value is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    /// A share, kept in millionths.
    Share,
    /// A factor, kept in thousandths.
    Times,
    /// A whole number from the first to the second.
    Whole(u64, u64),
}

/// A number that faults are described by.
#[derive(Debug)]
pub struct Kind {
    /// Name on the command line.
    pub name: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// What it is where only the seed is given, as it is written.
    pub default: &'static str,
    /// Whether it says how, and is no fault by itself.
    pub is_how: bool,
    unit: Unit,
    of: fn(&mut Faults) -> &mut u64,
}

const MILLION: u64 = 1_000_000;
const THOUSAND: u64 = 1000;
/// Most packets that may be lost: a time without an end is no experiment.
const LOSS_MAX: f64 = 0.5;
const SLOW_MAX: f64 = 100.0;
/// Most cycles of a fault.
const CYCLES_MAX: u64 = 100_000_000;
/// Times that the timeout doubles, at most.
const DOUBLINGS: u32 = 6;

const fn kind(
    (name, default, is_how): (&'static str, &'static str, bool),
    unit: Unit,
    of: fn(&mut Faults) -> &mut u64,
    summary: &'static str,
) -> Kind {
    Kind { name, summary, default, is_how, unit, of }
}

/// Cycles that may be none.
const CYCLES: Unit = Unit::Whole(0, CYCLES_MAX);
/// Cycles that must be some.
const SOME_CYCLES: Unit = Unit::Whole(1, CYCLES_MAX);

/// All numbers that faults are described by.
pub static KINDS: [Kind; 7] = [
    kind(("loss", "0.01", false), Unit::Share, |f| &mut f.loss, "share of the packets that are lost, and sent again"),
    kind(
        ("delay", "20000", false),
        CYCLES,
        |f| &mut f.delay,
        "most cycles that a packet is late, so that others overtake it",
    ),
    kind(("slow", "2x", false), Unit::Times, |f| &mut f.slow, "times as long that the processors of one node take"),
    kind(
        ("pause", "100000", false),
        CYCLES,
        |f| &mut f.pause,
        "most cycles that the processors of one node stand still",
    ),
    kind(("every", "1000000", true), SOME_CYCLES, |f| &mut f.every, "cycles between two pauses, on average"),
    kind(
        ("timeout", "100000", true),
        SOME_CYCLES,
        |f| &mut f.timeout,
        "cycles until a lost packet is sent again, doubled each time",
    ),
    kind(
        ("tries", "0", true),
        Unit::Whole(0, MILLION),
        |f| &mut f.tries,
        "times that a packet is sent before it is given up, 0: until it comes",
    ),
];

impl Unit {
    fn parse(self, text: &str) -> Option<u64> {
        match self {
            Unit::Share => {
                let share: f64 = text.parse().ok().filter(|s| (0.0..=LOSS_MAX).contains(s))?;
                Some((share * MILLION as f64).round() as u64)
            }
            Unit::Times => {
                let times: f64 = text.strip_suffix('x')?.parse().ok().filter(|t| (1.0..=SLOW_MAX).contains(t))?;
                Some((times * THOUSAND as f64).round() as u64)
            }
            Unit::Whole(least, most) => text.parse().ok().filter(|n| (least..=most).contains(n)),
        }
    }
    fn written(self, value: u64) -> String {
        match self {
            Unit::Share => format!("{}", value as f64 / MILLION as f64),
            Unit::Times => format!("{}x", value as f64 / THOUSAND as f64),
            Unit::Whole(..) => value.to_string(),
        }
    }
    fn wanted(self) -> String {
        match self {
            Unit::Share => format!("a share from 0 to {LOSS_MAX}"),
            Unit::Times => format!("a factor from 1x to {SLOW_MAX}x"),
            Unit::Whole(least, most) => format!("a whole number from {least} to {most}"),
        }
    }
}

impl FromStr for Faults {
    type Err = String;
    /// A seed, and what is to go wrong; nothing but the seed, or only how: all of it.
    fn from_str(text: &str) -> Result<Faults, String> {
        let mut parts = text.split(',');
        let seed = parts.next().unwrap_or_default();
        let seed = seed.parse().map_err(|_| {
            format!("'{seed}' is no seed: a whole number comes first, such as in 7 or 7,loss=0.05,delay=5000")
        })?;
        let mut given: Vec<(&Kind, u64)> = Vec::new();
        for part in parts {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            let kind = KINDS.iter().find(|k| k.name == name).ok_or_else(|| {
                let known: Vec<&str> = KINDS.iter().map(|k| k.name).collect();
                format!("there is no '{name}'; known are {}", known.join(", "))
            })?;
            if given.iter().any(|(k, _)| k.name == name) {
                return Err(format!("{name} is given twice"));
            }
            let wrong =
                || format!("'{part}' does not give {name} {}, such as {name}={}", kind.unit.wanted(), kind.default);
            given.push((kind, kind.unit.parse(value).ok_or_else(wrong)?));
        }
        let mut faults = Faults::none(seed);
        let has_all = given.iter().all(|(k, _)| k.is_how);
        for kind in KINDS.iter().filter(|k| has_all || k.is_how) {
            *(kind.of)(&mut faults) = kind.unit.parse(kind.default).unwrap_or_default();
        }
        given.iter().for_each(|(kind, value)| *(kind.of)(&mut faults) = *value);
        Ok(faults)
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.seed)?;
        let mut none = Faults::none(self.seed);
        for kind in &KINDS {
            let value = *(kind.of)(&mut { *self });
            if kind.is_how || value != *(kind.of)(&mut none) {
                write!(f, ",{}={}", kind.name, kind.unit.written(value))?;
            }
        }
        Ok(())
    }
}

/// What happens to a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct PacketFault {
    /// Cycles that it is late before it leaves.
    late: u64,
    /// Times that it is lost.
    lost: u32,
    /// Whether it never comes.
    is_gone: bool,
}

impl Faults {
    /// Nothing goes wrong.
    fn none(seed: u64) -> Faults {
        Faults {
            seed,
            loss: 0,
            timeout: 1,
            tries: 0,
            delay: 0,
            slow: THOUSAND,
            pause: 0,
            every: 1,
            is_unordered: false,
        }
    }
    /// Faults with packets of a pair of nodes in no order: what no protocol survives, to show that checks find it.
    #[doc(hidden)]
    #[must_use]
    pub fn unordered(self) -> Faults {
        Faults { is_unordered: true, ..self }
    }
    /// The stream of draws for something.
    fn draws(&self, what: [u64; 3]) -> Rng {
        Rng::new(what.iter().fold(self.seed, |seed, n| Rng::new(seed ^ n).next_u64()))
    }

    /// What happens to the packet with this number of a pair of nodes.
    fn packet_fault(&self, (from, to): (u16, u16), number: u64) -> PacketFault {
        let mut draws = self.draws([1, u64::from(from) << 16 | u64::from(to), number]);
        let mut fault = PacketFault { late: draws.below(self.delay + 1), ..PacketFault::default() };
        while draws.chance(self.loss, MILLION) {
            fault.lost += 1;
            if u64::from(fault.lost) == self.tries {
                fault.is_gone = true;
                break;
            }
        }
        fault
    }
    /// The node that is slow, if one is.
    pub(crate) fn slow_node(&self, nodes: usize) -> Option<u16> {
        (self.slow > THOUSAND).then(|| self.draws([2, 0, 0]).below(nodes as u64) as u16)
    }
    /// The node that stands still now and then, if one does.
    fn pausing_node(&self, nodes: usize) -> Option<u16> {
        (self.pause > 0).then(|| self.draws([3, 0, 0]).below(nodes as u64) as u16)
    }
    /// Cycles before a pause, and of it.
    fn pause(&self, number: u64) -> (u64, u64) {
        let mut draws = self.draws([4, 0, number]);
        let before = self.every / 2 + draws.below(self.every) + 1;
        (before, 1 + draws.below(self.pause))
    }
    /// Cycles that the slow node takes for what others do in so many.
    pub(crate) fn slowed(&self, cycles: u64) -> u64 {
        (u128::from(cycles) * u128::from(self.slow) / u128::from(THOUSAND)).try_into().unwrap_or(u64::MAX)
    }
}

/// Faults that were injected into a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Injected {
    /// What was asked for, defaults included.
    pub faults: String,
    /// Packets between nodes.
    pub packets: u64,
    /// Times that a packet was lost.
    pub lost: u64,
    /// Packets that were given up.
    pub gone: u64,
    /// Packets that left late, those behind a late one of their pair included.
    pub delayed: u64,
    /// Cycles that the latest one was late.
    pub longest: u64,
    /// Packets that left before another one which their node had sent to another node before them.
    pub overtaking: u64,
    /// The node that was slow; null: none.
    pub slow_node: Option<u16>,
    /// The node that stood still now and then; null: none.
    pub pausing_node: Option<u16>,
    /// Pauses before the end of the run.
    pub pauses: u64,
    /// Cycles of the longest of them.
    pub longest_pause: u64,
}

/// A pair of nodes.
#[derive(Debug, Default)]
struct Pair {
    packets: u64,
    /// When the last one left.
    leaves: u64,
}

/// When a packet leaves.
#[derive(Debug)]
pub(crate) struct Leaving {
    /// When each time that it is lost.
    pub(crate) lost: Vec<u64>,
    /// When the time that it comes; `None`: never.
    pub(crate) comes: Option<u64>,
}

/// Faults of a run.
pub(crate) struct Injector {
    faults: Faults,
    slow: Option<u16>,
    pausing: Option<u16>,
    pairs: RefCell<HashMap<(u16, u16), Pair>>,
    /// The last packet to leave each node: when, and to where.
    latest: RefCell<Vec<(u64, u16)>>,
    injected: RefCell<Injected>,
    /// When each pause began, and its cycles.
    pauses: RefCell<Vec<(u64, u64)>>,
    /// Whether the next pause has been called for, and whether programs have done something since the last one.
    is_coming: Cell<bool>,
    is_active: Cell<bool>,
    /// Until then the pausing node stands still.
    stands: Cell<u64>,
}

impl Injector {
    pub(crate) fn new(faults: Faults, nodes: usize) -> Injector {
        let (slow, pausing) = (faults.slow_node(nodes), faults.pausing_node(nodes));
        let injected =
            Injected { faults: faults.to_string(), slow_node: slow, pausing_node: pausing, ..Injected::default() };
        Injector {
            faults,
            slow,
            pausing,
            pairs: RefCell::default(),
            latest: RefCell::new(vec![(0, 0); nodes]),
            injected: RefCell::new(injected),
            pauses: RefCell::default(),
            is_coming: Cell::default(),
            is_active: Cell::default(),
            stands: Cell::default(),
        }
    }

    /// A packet of a pair of nodes is there to leave.
    pub(crate) fn leaves(&self, (from, to): (u16, u16), now: u64) -> Leaving {
        let (mut pairs, mut injected) = (self.pairs.borrow_mut(), self.injected.borrow_mut());
        let pair = pairs.entry((from, to)).or_default();
        let fault = self.faults.packet_fault((from, to), pair.packets);
        pair.packets += 1;
        injected.packets += 1;
        injected.lost += u64::from(fault.lost);
        // It begins when the one before it has left for good.
        let begins = if self.faults.is_unordered { now } else { now.max(pair.leaves) };
        let (mut leaves, mut lost) = (begins + fault.late, Vec::new());
        for n in 0..fault.lost {
            lost.push(leaves);
            leaves += self.faults.timeout << n.min(DOUBLINGS);
        }
        if fault.is_gone {
            injected.gone += 1;
            return Leaving { lost, comes: None };
        }
        pair.leaves = leaves;
        if leaves > now {
            injected.delayed += 1;
            injected.longest = injected.longest.max(leaves - now);
        }
        let latest = &mut self.latest.borrow_mut()[usize::from(from)];
        if leaves >= latest.0 {
            *latest = (leaves, to);
        } else if latest.1 != to {
            injected.overtaking += 1;
        }
        Leaving { lost, comes: Some(leaves) }
    }

    /// Cycles that a node takes for what others do in so many.
    pub(crate) fn takes(&self, node: u16, cycles: u64) -> u64 {
        if self.slow == Some(node) { self.faults.slowed(cycles) } else { cycles }
    }

    /// A program does something: when the next pause begins, if that is to be called for.
    pub(crate) fn acts(&self, now: u64) -> Option<u64> {
        self.is_active.set(true);
        let calls = self.pausing.is_some() && !self.is_coming.replace(true);
        calls.then(|| now + self.faults.pause(self.pauses.borrow().len() as u64).0)
    }
    /// A pause begins: of which node, its cycles, and when the next one does. Without programs that do something there is none.
    pub(crate) fn pause(&self, now: u64) -> (u16, u64, Option<u64>) {
        let mut pauses = self.pauses.borrow_mut();
        let (_, cycles) = self.faults.pause(pauses.len() as u64);
        pauses.push((now, cycles));
        self.stands.set(now + cycles);
        let goes_on = self.is_active.replace(false);
        self.is_coming.set(goes_on);
        let next = goes_on.then(|| now + cycles + self.faults.pause(pauses.len() as u64).0);
        (self.pausing.unwrap_or_default(), cycles, next)
    }
    /// Until when a node stands still: the past if it does not.
    pub(crate) fn stands(&self, node: u16) -> u64 {
        if self.pausing == Some(node) { self.stands.get() } else { 0 }
    }

    /// Whether something is wrong that no protocol survives.
    pub(crate) fn is_fatal(&self) -> bool {
        self.faults.is_unordered || self.injected.borrow().gone > 0
    }
    /// Packets that were given up.
    pub(crate) fn gone(&self) -> u64 {
        self.injected.borrow().gone
    }
    /// What was injected into a run that was over at a time.
    pub(crate) fn injected(&self, end: u64) -> Injected {
        let pauses = self.pauses.borrow();
        let within = || pauses.iter().filter(|p| p.0 < end).map(|p| p.1);
        let (pauses, longest_pause) = (within().count() as u64, within().max().unwrap_or(0));
        Injected { pauses, longest_pause, ..self.injected.borrow().clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_what_is_read() {
        let all: Faults = "7".parse().expect("a seed");
        assert_eq!(
            all.to_string(),
            "7,loss=0.01,delay=20000,slow=2x,pause=100000,every=1000000,timeout=100000,tries=0"
        );
        assert_eq!(all.to_string().parse::<Faults>(), Ok(all));
        let some: Faults = "8,slow=1.5x".parse().expect("known");
        assert_eq!(some.to_string(), "8,slow=1.5x,every=1000000,timeout=100000,tries=0");
        assert_eq!("9,tries=1".parse::<Faults>().expect("known").loss, 10_000, "how alone: all faults");
        for (text, named) in [
            ("", "no seed"),
            ("loss=0.1", "no seed"),
            ("-1", "no seed"),
            ("7,fire=1", "known are loss, delay"),
            ("7,loss", "such as loss=0.01"),
            ("7,loss=-0.1", "a share from 0 to 0.5"),
            ("7,loss=1", "a share from 0 to 0.5"),
            ("7,loss=NaN", "a share"),
            ("7,slow=2", "such as slow=2x"),
            ("7,slow=0.5x", "a factor from 1x"),
            ("7,timeout=0", "from 1 to"),
            ("7,pause=99999999999999999999", "from 0 to"),
            ("7,loss=0.1,loss=0.2", "twice"),
        ] {
            let error = text.parse::<Faults>().expect_err("refused");
            assert!(error.contains(named), "{text}: {error}");
        }
    }

    #[test]
    fn packets_of_a_pair_leave_in_order_and_others_overtake() {
        let injector = Injector::new("3,loss=0.3,delay=5000,timeout=700".parse().expect("known"), 3);
        let (mut last, mut again) = ([0; 2], 0);
        for n in 0..2000u64 {
            let to = 1 + n % 2;
            let Leaving { lost, comes } = injector.leaves((0, to as u16), 100 * n);
            let comes = comes.expect("sent until it comes");
            assert!(comes >= last[n as usize % 2] && comes >= 100 * n);
            assert!(lost.iter().chain([&comes]).is_sorted() && lost.first().is_none_or(|t| *t >= last[n as usize % 2]));
            assert!(
                lost.iter()
                    .chain([&comes])
                    .zip(lost.iter().skip(1).chain([&comes]))
                    .all(|(a, b)| b == &comes || b - a >= 700)
            );
            (last[n as usize % 2], again) = (comes, again + lost.len());
        }
        let injected = injector.injected(0);
        assert_eq!((injected.packets, injected.lost, injected.gone), (2000, again as u64, 0));
        assert!((600..1200).contains(&again), "{again} of 2000 / 0.7 - 2000");
        assert!(injected.overtaking > 100 && injected.longest > 5000, "{injected:?}");
    }

    #[test]
    fn a_packet_that_may_be_sent_once_is_given_up() {
        let injector = Injector::new("3,loss=0.5,tries=1".parse().expect("known"), 2);
        let comes = (0..100).filter(|n| injector.leaves((0, 1), *n).comes.is_some()).count() as u64;
        assert_eq!(comes + injector.gone(), 100);
        assert!(injector.is_fatal() && (30..70).contains(&comes));
    }
}
