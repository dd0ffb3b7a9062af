//! References of different threads to the same four bytes, one of them a write, that nothing recorded puts into an order: in a recording
//! of a program without data races each is synchronisation that was not seen.
//!
//! `cargo run --release -p homenode-command --example races DATASET` prints how many pairs of code locations there are, the most
//! frequent first. Atomics and busy waiting are left out.
use homenode_trace::order::{Order, OrderKind, Stream};
use homenode_trace::{DatasetReader, Event, EventKind, Merged, Op, TraceError};
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::process::ExitCode;

type Clock = Vec<u32>;

/// A reference, as far as later ones have to know it.
#[derive(Clone, Copy)]
struct Seen {
    thread: u32,
    at: u32,
    site: u32,
}

#[derive(Default)]
struct Word {
    write: Option<Seen>,
    reads: Vec<Seen>,
}

#[derive(Default)]
struct Races {
    clocks: Vec<Clock>,
    objects: HashMap<(u32, u64, u64), Clock>,
    words: HashMap<u64, Word>,
    found: BTreeMap<(u32, u32), u64>,
}

fn join(into: &mut Clock, from: &Clock) {
    into.iter_mut().zip(from).for_each(|(a, b)| *a = (*a).max(*b));
}

impl Races {
    fn new(threads: usize) -> Races {
        let clock = |t: usize| (0..threads).map(|other| u32::from(other == t)).collect();
        Races { clocks: (0..threads).map(clock).collect(), ..Races::default() }
    }

    fn event(&mut self, e: &Event, space: u32) {
        let t = e.thread as usize;
        let (object, acquires, releases) = match e.kind {
            EventKind::Acquire { object, epoch, .. } => ((space, object, epoch), true, false),
            EventKind::Release { object, epoch, .. } => ((space, object, epoch), false, true),
            EventKind::AcqRel { object, epoch, .. } => ((space, object, epoch), true, true),
            EventKind::Spawn { child } => {
                let mine = self.clocks[t].clone();
                if let Some(clock) = self.clocks.get_mut(child as usize) {
                    join(clock, &mine);
                }
                self.clocks[t][t] += 1;
                return;
            }
            _ => return,
        };
        let of = self.objects.entry(object).or_insert_with(|| vec![0; self.clocks.len()]);
        if acquires {
            join(&mut self.clocks[t], of);
        }
        if releases {
            join(of, &self.clocks[t]);
            self.clocks[t][t] += 1;
        }
    }

    fn reference(&mut self, r: &Merged) {
        if matches!(r.op, Op::Atomic | Op::Spin) {
            return;
        }
        let clock = &self.clocks[r.thread as usize];
        let here = Seen { thread: r.thread, at: clock[r.thread as usize], site: r.site };
        let unordered = |s: &&Seen| s.thread != r.thread && clock[s.thread as usize] < s.at;
        for word in r.addr / 4..=(r.addr + u64::from(r.size.max(1)) - 1) / 4 {
            let w = self.words.entry(word).or_default();
            let reads = if r.op.writes() { &w.reads[..] } else { &[] };
            for other in w.write.iter().chain(reads).filter(unordered) {
                *self.found.entry((other.site, here.site)).or_default() += 1;
            }
            if r.op.writes() {
                w.reads.clear();
                w.write = Some(here);
            } else {
                w.reads.retain(|s| s.thread != r.thread);
                w.reads.push(here);
            }
        }
    }
}

/// Pairs of sites, each with how often.
fn unordered(reader: &DatasetReader, kind: OrderKind) -> Result<BTreeMap<(u32, u32), u64>, TraceError> {
    let mut races = Races::new(reader.threads() as usize);
    let mut order = Order::new(reader, kind)?;
    while let Some(piece) = order.pull()? {
        piece.refs.iter().for_each(|r| races.reference(r));
        if let Some((event, _)) = piece.event {
            races.event(event, reader.address_space(event.thread));
        }
    }
    Ok(races.found)
}

fn main() -> ExitCode {
    let Some(path) = std::env::args_os().nth(1) else {
        eprintln!("races DATASET");
        return ExitCode::FAILURE;
    };
    let reader = match homenode_command::dataset::open(Path::new(&path)) {
        Ok(opened) => opened.reader,
        Err(e) => {
            eprintln!("{e}");
            return ExitCode::FAILURE;
        }
    };
    // Where stamps contradict what was recorded (a thread waited for the recorder between an atomic and its note), the model order is left.
    let orders = [OrderKind::Recorded { seed: 1 }, OrderKind::Model];
    let found = orders.into_iter().find_map(|kind| unordered(&reader, kind).ok());
    let Some(found) = found else {
        eprintln!("no order is possible");
        return ExitCode::FAILURE;
    };
    let place = |id: u32| {
        let site = reader.symbols().sites.get(id as usize);
        site.map_or(String::new(), |s| {
            format!("{}:{} ({})", s.file.rsplit('/').next().unwrap_or(""), s.line, s.function)
        })
    };
    let mut found: Vec<((u32, u32), u64)> = found.into_iter().collect();
    found.sort_by_key(|f| std::cmp::Reverse(f.1));
    println!("{} pairs of code locations without an order", found.len());
    for ((first, second), times) in found.into_iter().take(20) {
        println!("{times:>10}  {}  and  {}", place(first), place(second));
    }
    ExitCode::SUCCESS
}
