//! Figures that are machines, rules and algorithms: drawn again as code, and held against what they stand for.
use super::program::Program;
use super::{CLAIMS, Found, Gathered, Spec, Study};
use homenode_base::{NodeId, Rng, VirtualTime};
use homenode_command::Failure;
use homenode_judging::claims::Judged;
use homenode_judging::rules::Measures;
use homenode_machine::{AccessClass, Location, Machine, models};
use homenode_placement::policies::Choice;
use homenode_placement::policy::{Outcome, Sink};
use homenode_placement::{Access, AccessKind};

pub(super) static SPEC: Spec =
    Spec { id: "F", title: "figures of machines, rules and algorithms", begin: Gathered::<Figures>::boxed };

struct Figures;

impl Study for Figures {
    type Measured = ();
    const LOOKS: bool = false;
    fn measure(_: &Program) -> Result<(), Failure> {
        Ok(())
    }
    fn conclude(_: Vec<()>) -> Result<Found, Failure> {
        let ace = models::find("ace").ok_or_else(|| Failure::work("no machine ace"))?;
        let why = "boxes of a kernel and their names: neither references nor costs speak of them";
        let kernel = Judged::unknown("fig-3.2", "", why);
        Ok(Found {
            judged: vec![memory(&ace), kernel, manager(&ace)?, solo(), read_run(), intervals()],
            ..Found::default()
        })
    }
}

const PAGE: u64 = 4096;

fn memory(ace: &Machine) -> Judged {
    let word = |at| ace.access(AccessClass::Read, NodeId(0), at).0 as f64;
    let [local, global, remote] = [Location::Node(NodeId(0)), Location::Global, Location::Node(NodeId(1))].map(word);
    let all = Measures::of([
        ("processors", ace.nodes() as f64),
        ("local", local),
        ("global", global),
        ("another's memory", remote),
    ]);
    let ours =
        format!("{} processors; a word costs {local}, in global memory {global}, in another's {remote}", ace.nodes());
    CLAIMS.ruled("fig-3.1", ours, &all, "the machine `ace`")
}

/// Adds up what a policy pays for moves and copies.
struct Paid<'m>(&'m Machine, i64);

impl Sink for Paid<'_> {
    fn place(&mut self, _: Location) -> Outcome {
        Outcome::Done
    }
    fn replicate(&mut self, from: Location, to: Location) -> Outcome {
        self.1 += self.0.copy_cost(PAGE, from, to).0;
        Outcome::Done
    }
    fn migrate(&mut self, from: Location, to: Location) -> Outcome {
        self.replicate(from, to)
    }
    fn drop_copy(&mut self, _: Location) -> Outcome {
        Outcome::Done
    }
}

/// The three states of a page of figure 3.3, with the processors that hold it.
#[derive(Clone, Copy)]
enum State {
    ReadOnly(u8),
    LocalWritable(u8),
    GlobalWritable,
}

/// What the figure's transitions pay with the policy of section 3.1.3, which says LOCAL up to `k` invalidations; `copy`
/// to or from global memory, `global` a reference there.
fn transitions(trace: &[(u16, bool)], k: u32, (copy, global): (i64, i64)) -> i64 {
    let (mut state, mut used, mut paid) = (None, 0, 0);
    for &(q, write) in trace {
        let (me, local) = (1 << q, used < k);
        let (next, cost, invalidated) = match (state, write) {
            (None, false) => (State::ReadOnly(me), 1, false),
            (None, true) => (State::LocalWritable(me), 1, false),
            (Some(State::GlobalWritable), _) => (State::GlobalWritable, global, false),
            (Some(State::ReadOnly(held)), false) if held & me != 0 => (State::ReadOnly(held), 1, false),
            (Some(State::LocalWritable(held)), _) if held == me => (State::LocalWritable(held), 1, false),
            (Some(State::ReadOnly(_)), _) if !local => (State::GlobalWritable, global, false),
            (Some(State::LocalWritable(_)), _) if !local => (State::GlobalWritable, copy + global, false),
            (Some(State::ReadOnly(held)), false) => (State::ReadOnly(held | me), copy + 1, false),
            (Some(State::ReadOnly(held)), true) if held == me => (State::LocalWritable(me), 1, false),
            (Some(State::ReadOnly(held)), true) => {
                (State::LocalWritable(me), if held & me == 0 { copy + 1 } else { 1 }, true)
            }
            (Some(State::LocalWritable(held)), false) => (State::ReadOnly(held | me), 2 * copy + 1, false),
            (Some(State::LocalWritable(_)), true) => (State::LocalWritable(me), 2 * copy + 1, true),
        };
        (state, used, paid) = (Some(next), used + u32::from(invalidated), paid + cost);
    }
    paid
}

/// References tried one after the other: three processors, reads and writes, six in all.
const LENGTH: u32 = 6;

/// Figure 3.3 against the policy that the studies run, on every trace of [`LENGTH`].
fn manager(ace: &Machine) -> Result<Judged, Failure> {
    let prices = (ace.copy_cost(PAGE, Location::Global, Location::Node(NodeId(0))).0, 2);
    let (mut tried, mut other) = (0_u32, 0_u32);
    for k in 0..3 {
        let choice = Choice::parse(&format!("ace({k})")).map_err(Failure::work)?;
        let mut engine = choice.engine(ace, PAGE).map_err(Failure::work)?;
        let slot = engine.open(0, None);
        for number in 0..6_u32.pow(LENGTH) {
            let step = |i: u32| (number / 6_u32.pow(i)) % 6;
            let trace: Vec<(u16, bool)> = (0..LENGTH).map(|i| ((step(i) / 2) as u16, step(i) % 2 == 1)).collect();
            engine.reopen(slot, 0, None);
            let mut paid = Paid(ace, 0);
            for &(node, write) in &trace {
                let (kind, class) =
                    if write { (AccessKind::Write, AccessClass::Write) } else { (AccessKind::Read, AccessClass::Read) };
                let access = Access { node: NodeId(node), kind, class, weight: 1, t: VirtualTime(0) };
                let at = engine.step(slot, &access, &mut paid);
                paid.1 += ace.access(class, NodeId(node), at).0;
            }
            tried += 1;
            other += u32::from(paid.1 != transitions(&trace, k, prices));
        }
    }
    let ours = format!("{other} of {tried} traces cost another sum");
    let why = "the figure's body is lost: its transitions are taken from the text. Every trace of six references of three \
               processors, given up after 0, 1 and 2 invalidations, against the policy that all studies run";
    Ok(CLAIMS.ruled("fig-3.3", ours, &Measures::of([("traces that cost another sum", other.into())]), why))
}

/// Memories of the traces at random; the last one is the global one where there is one.
const MEMORIES: usize = 4;
const TRACES: u32 = 300;

/// What a move between memories costs: R, G where the global one is in it.
fn moved(from: usize, to: usize, (g, r): (i64, i64)) -> i64 {
    match (from == to, from.max(to) == MEMORIES - 1) {
        (true, _) => 0,
        (_, true) => g,
        _ => r,
    }
}

/// A word of a processor in a memory: 1, 2 in the global one, 5 in another's.
fn word(processor: usize, at: usize) -> i64 {
    if processor == at {
        1
    } else if at == MEMORIES - 1 {
        2
    } else {
        5
    }
}

/// Figure 4.1 as printed.
fn figure_4_1(trace: &[usize], prices @ (g, r): (i64, i64)) -> i64 {
    let global = MEMORIES - 1;
    let mut so_far = [0; MEMORIES];
    for &processor in trace {
        let (mut least, mut cheapest, mut come) = (so_far[global], global, g);
        for (m, cost) in so_far.iter().take(global).enumerate() {
            if cost + r < least + come {
                (least, cheapest, come) = (*cost, m, r);
            }
        }
        let new = |m: usize| {
            let come = if m == global { prices.0 } else { come };
            so_far[m].min(so_far[cheapest] + come) + word(processor, m)
        };
        so_far = std::array::from_fn(new);
    }
    so_far.into_iter().min().unwrap_or(0)
}

/// The least of all walks.
fn walks(trace: &[usize], at: Option<usize>, prices: (i64, i64)) -> i64 {
    let Some((processor, rest)) = trace.split_first() else { return 0 };
    let go = |m: usize| at.map_or(0, |a| moved(a, m, prices)) + word(*processor, m) + walks(rest, Some(m), prices);
    (0..MEMORIES).map(go).min().unwrap_or(0)
}

fn solo() -> Judged {
    let mut rng = Rng::new(41);
    let mut wrong = |prices: (i64, i64)| {
        let trace = |rng: &mut Rng| -> Vec<usize> { (0..7).map(|_| rng.below(MEMORIES as u64 - 1) as usize).collect() };
        let traces: Vec<Vec<usize>> = (0..TRACES).map(|_| trace(&mut rng)).collect();
        traces.iter().filter(|t| figure_4_1(t, prices) != walks(t, None, prices)).count()
    };
    let (inside, beyond) = (wrong((3, 6)) + wrong((3, 4)), wrong((1, 7)));
    let ours = format!(
        "{inside} of {} traces not optimal where R is at most 2 G; {beyond} of {TRACES} where it is 7 G",
        2 * TRACES
    );
    let why = "as printed, against all walks of seven references at random. One place serves as the cheapest to come from for \
               processors and for global memory, which is wrong where going through global memory is cheaper than R";
    CLAIMS.ruled("fig-4.1", ours, &Measures::of([("traces not optimal with R at most 2 G", inside as f64)]), why)
}

/// Figure 4.2 as printed, without what the run begins with.
fn figure_4_2(start: usize, set: u32, reads: &[usize], (r, copy): (i64, i64)) -> i64 {
    let each = reads.iter().map(|p| if set >> p & 1 == 1 { 1 } else { r }).sum::<i64>();
    each + copy * (i64::from(set.count_ones()) - i64::from(set >> start & 1))
}

/// The least that a run of reads costs if copies may be made before any read.
fn copying(held: u32, reads: &[usize], prices @ (r, copy): (i64, i64)) -> i64 {
    let Some((p, rest)) = reads.split_first() else { return 0 };
    let with = |set: u32| {
        let word = if set >> p & 1 == 1 { 1 } else { r };
        copy * i64::from((set & !held).count_ones()) + word + copying(set, rest, prices)
    };
    (0..1 << MEMORIES).filter(|set| set & held == held).map(with).min().unwrap_or(0)
}

fn read_run() -> Judged {
    let mut rng = Rng::new(42);
    let mut wrong = 0;
    for _ in 0..TRACES {
        let start = rng.below(MEMORIES as u64) as usize;
        let reads: Vec<usize> = (0..5).map(|_| rng.below(MEMORIES as u64) as usize).collect();
        let prices = (2 + rng.below(6) as i64, 1 + rng.below(12) as i64);
        let figure = (1..1 << MEMORIES).map(|set| figure_4_2(start, set, &reads, prices)).min();
        wrong += u32::from(figure != Some(copying(1 << start, &reads, prices)));
    }
    let ours = format!("{wrong} of {TRACES} runs");
    let why = "its least over all sets of copies, against copies made before any read of the run, at random prices";
    CLAIMS.ruled("fig-4.2", ours, &Measures::of([("runs of another cost", wrong.into())]), why)
}

/// Word, processor, whether it writes: the shortest references that the text of figure 7.1 fits.
const STRING: [(char, u8, bool); 5] =
    [('a', 0, true), ('b', 1, true), ('c', 0, false), ('a', 1, false), ('b', 0, false)];

fn intervals() -> Judged {
    let is_one = |from: usize, to: usize| {
        let part = &STRING[from..=to];
        let passes =
            |(i, w): (usize, &(char, u8, bool))| w.2 && part[i..].iter().any(|r| !r.2 && r.0 == w.0 && r.1 != w.1);
        let written = part.iter().any(|x| x.2);
        written && part.iter().any(|x| x.1 != part[0].1) && !part.iter().enumerate().any(passes)
    };
    let all: Vec<(usize, usize)> =
        (0..5).flat_map(|f| (f..5).map(move |t| (f, t))).filter(|(f, t)| is_one(*f, *t)).collect();
    let inside = |(f, t): &(usize, usize)| all.iter().any(|(g, u)| (g, u) != (f, t) && g <= f && t <= u);
    let most: Vec<&(usize, usize)> = all.iter().filter(|one| !inside(one)).collect();
    let overlap = most.windows(2).all(|w| w[1].0 <= w[0].1);
    let ours = format!("{} maximal intervals: {most:?}, counted from 0; they overlap: {overlap}", most.len());
    let why = "the drawing is lost: w_a^p w_b^q r_c^p r_a^q r_b^p is the shortest that its text fits, and all its intervals \
               are tried";
    let count = if overlap { most.len() as f64 } else { f64::NAN };
    CLAIMS.ruled("fig-7.1", ours, &Measures::of([("maximal intervals that overlap", count)]), why)
}
