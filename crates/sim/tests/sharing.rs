//! Lines that travel for nothing, in every shape: what is found, what is advised, and what the advised program costs.
mod common;
use common::objects::Arrays;
use homenode_base::{NodeId, TotalCost};
use homenode_machine::{Machine, models};
use homenode_sim::evaluation::{Finding, FindingKind, TrueUse};
use homenode_sim::{EvalContext, EvalOptions, Evaluation, Setup, ThreadBinding, evaluate};
use homenode_trace::event::{EventKind, SyncKind};
use homenode_trace::order::Listed;
use homenode_trace::{Event, Merged, Op};

const THREADS: u32 = 8;
const A: u64 = 0x10_0000_0000;
const B: u64 = 0x20_0000_0000;
const R: Op = Op::Read;
const W: Op = Op::Write;

/// One step of a program: a reference, or an acquisition of a lock.
#[derive(Clone, Copy)]
enum Step {
    Ref(Merged),
    Acquired(u32, u64),
}

fn go(thread: u32, op: Op, addr: u64, size: u32, site: u32) -> Step {
    Step::Ref(Merged { addr, size, site, weight: 1, thread, op, ..Merged::default() })
}

/// Steps of the threads in turn, one each.
fn in_turn(each: Vec<Vec<Step>>) -> Vec<Step> {
    let longest = each.iter().map(Vec::len).max().unwrap_or(0);
    (0..longest).flat_map(|i| each.iter().filter_map(move |steps| steps.get(i).copied())).collect()
}

/// What thread `t` does between: a table of its own, so that not everything is transfers.
fn own(t: u32, i: u64) -> Step {
    go(t, R, B + u64::from(t) * (1 << 20) + i * 64 % (1 << 16), 8, 99)
}

/// Threads with numbers of later generations sit where those before them sat.
fn bindings(machine: &Machine, threads: u32) -> Vec<ThreadBinding> {
    let cpus: Vec<u16> =
        machine.shape.cores.iter().enumerate().flat_map(|(n, c)| std::iter::repeat_n(n as u16, *c as usize)).collect();
    let cpu = |t: u32| (t % THREADS) as usize * cpus.len() / THREADS as usize;
    (0..threads).map(|t| ThreadBinding { cpu: cpu(t) as u16, node: NodeId(cpus[cpu(t)]), space: 0 }).collect()
}

fn report(steps: &[Step], arrays: &[(&'static str, u64, u64)]) -> Evaluation {
    let machine = models::find("two-socket").unwrap();
    let threads = steps.iter().map(|s| if let Step::Ref(r) = s { r.thread + 1 } else { 0 }).max().unwrap();
    let bindings = bindings(&machine, threads);
    let setup = Setup::exact(&machine, &bindings, 4096);
    let context = EvalContext { setup, policies: &[], options: EvalOptions::default(), workers: &homenode_sim::Alone };
    let (mut refs, mut events) = (Vec::new(), Vec::new());
    for step in steps {
        match *step {
            Step::Ref(r) => refs.push(r),
            Step::Acquired(thread, object) => {
                let kind = EventKind::Acquire { object, epoch: 0, seq: 0, sync: SyncKind::Mutex };
                events.push((refs.len(), Event { thread, at: 0, stamp: 0, kind }));
            }
        }
    }
    evaluate(&mut Listed::with_events(&refs, &events), &mut Arrays(arrays.to_vec()), &context).unwrap()
}

fn total(e: &Evaluation) -> TotalCost {
    e.policies.iter().find(|p| p.name == "first-touch").unwrap().total
}

fn only(e: &Evaluation) -> &Finding {
    let transfers: Vec<&Finding> = e.findings.iter().filter(|f| f.kind != FindingKind::FirstTouch).collect();
    assert_eq!(transfers.len(), 1, "{:#?}", e.findings);
    transfers[0]
}

/// The only finding is false sharing of this object, its advice says this, and the repaired program costs what it says.
fn assert_found(before: &Evaluation, object: &str, advice: &str, after: &Evaluation) {
    let f = only(before);
    assert_eq!((f.kind, f.object.as_str()), (FindingKind::FalseSharing, object));
    assert!(f.advice.contains(advice), "{}", f.advice);
    let realised = (total(before) - total(after)).0;
    assert!(
        (f.saving.0 - realised).abs() * 10 <= realised,
        "predicted {} realised {realised}: {}",
        f.saving.0,
        f.advice
    );
    assert_quiet(after);
}

/// Nothing is wrong with what travels.
fn assert_quiet(e: &Evaluation) {
    assert!(e.findings.iter().all(|f| f.kind != FindingKind::FalseSharing), "{:#?}", e.findings);
}

/// Each thread adds to a field of its own at `at(thread)`.
fn counters(rounds: u64, bytes: u32, at: impl Fn(u32) -> u64) -> Vec<Step> {
    let work =
        |t: u32| (0..rounds).flat_map(|i| [own(t, i), go(t, R, at(t), bytes, 6), go(t, W, at(t), bytes, 7)]).collect();
    in_turn((0..THREADS).map(work).collect())
}

#[test]
fn a_writer_beside_readers() {
    let run = |limit: u64| {
        let work = |t: u32| -> Vec<Step> {
            let step = move |i| match t {
                0 => vec![go(t, R, A, 8, 6), go(t, W, A, 8, 6)],
                _ => vec![go(t, R, A + limit, 8, 7), own(t, i)],
            };
            (0..3000).flat_map(step).collect()
        };
        report(&in_turn((0..THREADS).map(work).collect()), &[("config", A, limit + 8)])
    };
    assert_found(&run(8), "config", "away from what others only read", &run(64));
}

#[test]
fn flags_of_one_and_two_bytes() {
    for bytes in [1u32, 2] {
        let run = |stride: u64| {
            let at = |t: u32| A + u64::from(t) * stride;
            report(&counters(3000, bytes, at), &[("done", A, stride * u64::from(THREADS))])
        };
        let before = run(bytes.into());
        assert_found(&before, "done", &format!("Pad the {bytes}-byte elements"), &run(64));
        assert_eq!(before.false_sharing[0].words.len(), 8);
        assert!(before.patterns.iter().any(|p| p.pattern == "falsely shared" && p.bytes == u64::from(bytes * THREADS)));
    }
}

#[test]
fn generations_of_threads_own_in_turn() {
    let run = |stride: u64| {
        let steps: Vec<Step> = (0..5u32)
            .flat_map(|round| {
                let mut steps = counters(600, 8, |t| A + u64::from(t) * stride);
                steps.iter_mut().for_each(|s| {
                    if let Step::Ref(r) = s {
                        r.thread += round * THREADS;
                    }
                });
                steps
            })
            .collect();
        report(&steps, &[("hits", A, stride * u64::from(THREADS))])
    };
    assert_found(&run(8), "hits", "Pad the 8-byte elements", &run(64));
}

#[test]
fn elements_and_rows_that_are_dealt_out() {
    for (bytes, count) in [(4u64, 40_000u64), (40, 4_000)] {
        let each = count / u64::from(THREADS);
        let run = |block: bool| {
            let part = (each * bytes).next_multiple_of(64);
            let work = |t: u32| -> Vec<Step> {
                let t64 = u64::from(t);
                let sweep = move |_| {
                    (0..each).flat_map(move |i| {
                        let at = if block { A + t64 * part + i * bytes } else { A + (i * 8 + t64) * bytes };
                        (0..bytes / 4)
                            .step_by(3)
                            .flat_map(move |w| [go(t, R, at + w * 4, 4, 1), go(t, W, at + w * 4, 4, 2)])
                    })
                };
                (0..3).flat_map(sweep).collect()
            };
            report(&in_turn((0..THREADS).map(work).collect()), &[("a", A, part * 8)])
        };
        assert_found(&run(false), "a", "one contiguous block", &run(true));
    }
}

#[test]
fn structures_of_whole_lines_that_begin_inside_of_lines() {
    let run = |at: u64| {
        let work = |t: u32| -> Vec<Step> {
            let s = at + u64::from(t) * 64;
            let set = [go(0, W, s, 8, 20), go(0, W, s + 8, 8, 21)];
            let sums = (0..600).flat_map(|_| {
                (3..8u64).flat_map(|f| [go(t, R, s + f * 8, 8, f as u32), go(t, W, s + f * 8, 8, f as u32)])
            });
            set.into_iter().chain(sums).collect()
        };
        report(&in_turn((0..THREADS).map(work).collect()), &[("args", at, 64 * u64::from(THREADS))])
    };
    let before = run(A + 16);
    assert_found(&before, "args", "Align", &run(A));
    let places = &only(&before).places;
    assert_eq!(
        places[places.len() - 5..],
        ["main.c:3", "main.c:4", "main.c:5", "main.c:6", "main.c:7"],
        "all lines that write"
    );
}

#[test]
fn neighbours_in_one_line() {
    let run = |stride: u64| {
        let at = |t: u32| A + u64::from(t) * stride;
        let arrays: Vec<_> =
            ["a", "b", "c", "d", "e", "f", "g", "h"].into_iter().zip(0..).map(|(n, t)| (n, at(t), 8)).collect();
        report(&counters(3000, 8, at), &arrays)
    };
    let before = run(8);
    let dearest = only(&before).object.clone();
    assert_found(&before, &dearest, "cache lines of its own", &run(64));
    assert!(only(&before).sentence.contains("`b`"), "{}", only(&before).sentence);
}

/// Each thread takes the lock at `at(thread)` and counts in a line of its own.
fn lockers(at: impl Fn(u32) -> u64) -> Vec<Step> {
    let work = |t: u32| -> Vec<Vec<Step>> {
        let (lock, count) = (at(t), A + (1 << 16) + u64::from(t) * 128);
        let critical = move |i| {
            vec![
                own(t, i),
                Step::Acquired(t, lock),
                go(t, Op::Atomic, lock, 4, 1),
                go(t, W, count, 8, 2),
                go(t, W, lock, 4, 3),
            ]
        };
        (0..2000).map(critical).collect()
    };
    let all: Vec<Vec<Vec<Step>>> = (0..THREADS).map(work).collect();
    (0..2000).flat_map(|i| all.iter().flat_map(move |critical| critical[i].clone())).collect()
}

#[test]
fn adjacent_locks_are_padded_and_one_lock_is_not() {
    let run = |stride: u64| {
        let at = |t: u32| A + u64::from(t) * stride;
        report(&lockers(at), &[("locks", A, stride.max(8) * u64::from(THREADS)), ("counts", A + (1 << 16), 1024)])
    };
    let before = run(40);
    assert_found(&before, "locks", "Pad the 40-byte elements", &run(64));
    assert!(only(&before).sentence.contains("locks among them"), "{}", only(&before).sentence);
    let one = run(0);
    assert_quiet(&one);
    assert!(one.findings.is_empty(), "{:#?}", one.findings);
    let t = &one.transfer_breakdown;
    assert!(t.locks.cost.0 * 2 > total(&one).0, "{t:?}");
    assert_eq!((t.locks.object.as_deref(), t.locks.lines[0].place.as_str()), (Some("locks"), "main.c:1"));
}

#[test]
fn a_lock_beside_what_it_guards_is_fine_and_beside_what_another_uses_is_not() {
    let run = |data: u64, guarded: bool| {
        let work = |t: u32| -> Vec<Vec<Step>> {
            let critical = move |i| match t {
                0..4 => {
                    let own = if guarded { go(t, W, A + data, 8, 2) } else { own(t, i) };
                    vec![Step::Acquired(t, A), go(t, Op::Atomic, A, 4, 1), own, go(t, W, A, 4, 3)]
                }
                4 if !guarded => vec![go(t, R, A + data, 8, 5), go(t, W, A + data, 8, 5), own(t, i)],
                _ => vec![own(t, i)],
            };
            (0..2000).map(critical).collect()
        };
        let all: Vec<_> = (0..THREADS).map(work).collect();
        let steps: Vec<Step> =
            (0..2000).flat_map(|i| all.iter().flat_map(move |c: &Vec<Vec<Step>>| c[i].clone())).collect();
        report(&steps, &[("s", A, data + 8)])
    };
    assert_quiet(&run(8, true));
    let before = run(8, false);
    assert_found(&before, "s", "on cache lines of its own", &run(64, false));
}

#[test]
fn a_histogram_of_all_is_a_sum_and_a_mailbox_is_none() {
    let bins = 64u64;
    let run = |copies: bool| {
        let work = |t: u32| -> Vec<Step> {
            let base = A + if copies { u64::from(t) * bins * 8 } else { 0 };
            let add = move |i: u64| {
                let bin = base + (i * 37 + u64::from(t) * 11) % bins * 8;
                [own(t, i), go(t, Op::Atomic, bin, 8, 1)]
            };
            (0..3000).flat_map(add).collect()
        };
        report(&in_turn((0..THREADS).map(work).collect()), &[("histogram", A, bins * 8 * 8)])
    };
    let (before, after) = (run(false), run(true));
    let f = only(&before);
    assert_eq!((f.kind, f.object.as_str()), (FindingKind::SharedUpdates, "histogram"), "{}", f.sentence);
    let realised = (total(&before) - total(&after)).0;
    assert!((f.saving.0 - realised).abs() * 10 <= realised, "predicted {} realised {realised}", f.saving.0);
    assert!(after.findings.is_empty());
    // One writes a letter and a flag, the other reads them: nothing to pad, nothing to copy.
    let letter = |_| [go(0, W, A, 8, 1), go(0, W, A + 8, 4, 2), go(1, R, A + 8, 4, 3), go(1, R, A, 8, 4)];
    let e = report(&(0..4000).flat_map(letter).collect::<Vec<_>>(), &[("mail", A, 64)]);
    assert!(e.findings.is_empty(), "{:#?}", e.findings);
    assert_eq!(e.transfer_breakdown.falsely_shared.transfers, 0);
    assert!(e.transfer_breakdown.truly_shared.transfers > 3000);
}

/// Blocks that any thread may get, one at a time, from a list whose head all update by atomics: what is done to a block is
/// reading and writing back, by everybody, and yet no sum. The same updates under a lock or by atomics may be one.
#[test]
fn blocks_of_a_pool_are_no_sums() {
    let head = A + (1 << 12);
    let run = |how: usize| {
        let mut rng = homenode_base::Rng::new(5);
        let mut free: Vec<u64> = (0..12).map(|b| A + 64 * b).collect();
        let mut steps = Vec::new();
        for i in 0..24_000u64 {
            let t = rng.below(THREADS.into()) as u32;
            // The last one given back is the next one given out, or any.
            let at = if how == 1 { rng.below(free.len() as u64) as usize } else { free.len() - 1 };
            let block = free.remove(at);
            steps.push(own(t, i));
            match how {
                0 | 1 => {
                    steps.push(go(t, Op::Atomic, head, 8, 3));
                    let update = [go(t, R, block, 8, 1), go(t, R, block + 8, 8, 1), go(t, W, block + 8, 8, 1)];
                    steps.extend(update);
                    steps.extend([go(t, W, block, 8, 1), go(t, Op::Atomic, head, 8, 3)]);
                }
                2 => steps.push(go(t, Op::Atomic, block + 8, 8, 1)),
                _ => {
                    steps.extend([Step::Acquired(t, head), go(t, Op::Atomic, head, 8, 2)]);
                    steps.extend([go(t, R, block + 8, 8, 1), go(t, W, block + 8, 8, 1), go(t, W, head, 8, 2)]);
                }
            }
            free.push(block);
        }
        let e = report(&steps, &[("blocks", A, 64 * 12), ("head", head, 64)]);
        e.findings.iter().any(|f| f.kind == FindingKind::SharedUpdates && f.object == "blocks")
    };
    assert_eq!([0, 1, 2, 3].map(run), [false, false, true, true]);
}

/// What threads do to shared lines decides what may be advised.
#[test]
fn adding_is_told_from_handing_over() {
    let how = |steps: Vec<Step>| report(&steps, &[("cells", A, 1 << 16)]).transfer_breakdown.true_use;
    let each = |f: &dyn Fn(u32, u64) -> Vec<Step>| -> Vec<Step> {
        (0..2000u64).flat_map(|i| (0..THREADS).flat_map(move |t| [vec![own(t, i)], f(t, i)].concat())).collect()
    };
    // A counter, and one behind a lock on a line of its own.
    assert_eq!(how(each(&|t, _| vec![go(t, Op::Atomic, A, 8, 1)])), TrueUse::Added);
    let lock = A + (1 << 15);
    let locked = |t: u32, _| {
        let taken = [Step::Acquired(t, lock), go(t, Op::Atomic, lock, 8, 2)];
        [&taken[..], &[go(t, R, A, 8, 1), go(t, W, A, 8, 1), go(t, W, lock, 8, 2)]].concat()
    };
    assert_eq!(how(each(&locked)), TrueUse::Added);
    // Borders of parts: written by one, read by its neighbour; likewise elements of a ring.
    let border = |t: u32, i: u64| {
        let cell = |t: u32| A + u64::from(t % THREADS) * 256 + i % 8 * 8;
        vec![go(t, W, cell(t), 8, 1), go(t, R, cell(t + 1), 8, 2)]
    };
    assert_eq!(how(each(&border)), TrueUse::HandedOver);
    let ring = |t: u32, i: u64| {
        let slot = A + i % 64 * 64;
        if t == 0 {
            vec![go(0, W, slot, 8, 1)]
        } else if t == 5 {
            vec![go(5, R, slot, 8, 2)]
        } else {
            vec![]
        }
    };
    assert_eq!(how(each(&ring)), TrueUse::HandedOver);
    // Everybody writes, nobody reads.
    assert_eq!(how(each(&|t, _| vec![go(t, W, A, 8, 1)])), TrueUse::Unclear);
}
