//! What the trait promises, held against every transport: nodes are opened in one process, each with threads of its own.
use super::{ALL, Transport, Wire};
use crate::bell;
use crate::block_on::block_on;
use crate::shared::{BELL, CALLS, Doing, EXPECTING, PROCESS, SIGNALS, WANTED};
use crate::trial::{HANDLER, HEAP_WORDS, LARGE, Nodes, PAGE};
use homenode_base::{NodeId, Rng};
use homenode_hlrc::host::Wake;
use homenode_sys::{fork, interrupt};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

/// Longest time that anything here may take.
const LIMIT: Duration = Duration::from_secs(60);

/// Runs a test on each transport; one that hangs fails.
fn on_each(nodes: u16, test: fn(&Nodes)) {
    for spec in ALL {
        let (done, wait) = mpsc::channel();
        let run = thread::spawn(move || {
            test(&Nodes::of(spec, nodes).expect("nodes"));
            done.send(()).expect("somebody waits");
        });
        match wait.recv_timeout(LIMIT) {
            Err(mpsc::RecvTimeoutError::Timeout) => panic!("{}: it hangs", spec.name),
            _ => run.join().unwrap_or_else(|_| panic!("{}: see above", spec.name)),
        }
    }
}

fn atomics(words: impl Iterator<Item = u64>) -> Vec<AtomicU64> {
    words.map(AtomicU64::new).collect()
}
fn plain(words: &[AtomicU64]) -> Vec<u64> {
    words.iter().map(|w| w.load(Ordering::Acquire)).collect()
}

#[test]
fn operations_do_what_they_say_to_others_and_to_oneself() {
    on_each(2, |nodes| {
        for to in [1, 0].map(NodeId) {
            let (wire, region, heap) = (&nodes.wires[0], &nodes.regions[to.index()], &nodes.heaps[to.index()]);
            block_on(async {
                wire.put(to, 10, &[1, 2, u64::MAX], Wake::Nobody).await;
                assert_eq!(wire.compare_swap(to, 11, 2, 20).await, 2);
                assert_eq!(wire.compare_swap(to, 11, 2, 21).await, 20);
                assert_eq!(
                    [wire.fetch_add(to, 12, 2, Wake::All).await, wire.fetch_add(to, 12, 0, Wake::Nobody).await],
                    [u64::MAX, 1]
                );
                let mut words = [0; 4];
                wire.get(to, 10, &mut words).await;
                assert_eq!(words, [1, 20, 1, 0]);
                for words in [PAGE, LARGE] {
                    let page = atomics((0..words as u64).map(|w| w * w));
                    wire.put_page(to, HEAP_WORDS - words, &page).await;
                    nodes.settle(0, to.0);
                    assert_eq!(plain(&heap[HEAP_WORDS - words..]), plain(&page));
                    let back = atomics((0..words as u64).map(|_| 7));
                    let mut before = [0; 2];
                    wire.get_page(to, (11, &mut before), (HEAP_WORDS - words, &back)).await;
                    assert_eq!(before, [20, 1]);
                    assert_eq!(plain(&back), plain(&page));
                }
                heap[3].store(0x1122_3344_5566_7788, Ordering::Release);
                wire.put_run(to, 2, &[(5, u64::MAX), (0xaaaa, 0xff00), (6, u64::MAX)]).await;
                nodes.settle(0, to.0);
                assert_eq!(plain(&heap[2..5]), [5, 0x1122_3344_5566_aa88, 6]);
            });
            assert_eq!(plain(&region[10..14]), [1, 20, 1, 0]);
        }
    });
}

#[test]
fn what_is_written_is_seen_in_the_order_in_which_it_was_written() {
    const ROUNDS: u64 = 400;
    on_each(2, |nodes| {
        let (wire, to, stamp) = (&nodes.wires[0], NodeId(1), nodes.layout.called());
        let turn = AtomicU64::new(1);
        let write = |mine: u64| {
            for round in (1..=ROUNDS).filter(|r| r % 2 == mine) {
                while turn.load(Ordering::Acquire) != round {
                    thread::yield_now();
                }
                block_on(async {
                    wire.put_page(to, 0, &atomics((0..PAGE as u64).map(|_| round))).await;
                    wire.put_run(to, PAGE, &[(round, u64::MAX); 100]).await;
                    wire.put(to, 0, &[round; 3], Wake::Nobody).await;
                    wire.put(to, stamp, &[round], Wake::All).await;
                });
                turn.store(round + 1, Ordering::Release);
            }
            wire.flush();
        };
        thread::scope(|scope| {
            scope.spawn(|| write(0));
            scope.spawn(|| write(1));
            let since = Instant::now();
            loop {
                let seen = nodes.regions[1][stamp].load(Ordering::Acquire);
                let there = nodes.heaps[1][..PAGE + 100].iter().chain(&nodes.regions[1][..3]);
                assert!(there.into_iter().all(|w| w.load(Ordering::Acquire) >= seen), "what came before {seen}");
                // A page does not overtake the word that was written before it.
                let page = nodes.heaps[1][0].load(Ordering::Acquire);
                let word = nodes.regions[1][stamp].load(Ordering::Acquire);
                assert!(word + 1 >= page, "{page} came before {word}");
                if seen == ROUNDS {
                    break;
                }
                assert!(since.elapsed() < LIMIT, "it came to {seen}");
                thread::yield_now();
            }
        });
    });
}

#[test]
fn words_are_changed_whole_whoever_changes_them() {
    const TIMES: u64 = 300;
    on_each(3, |nodes| {
        let (to, added, swapped) = (NodeId(1), 20, 21);
        let change = |wire: &Wire| {
            for _ in 0..TIMES {
                block_on(wire.fetch_add(to, added, 3, Wake::Nobody));
                let mut seen = 0;
                loop {
                    match block_on(wire.compare_swap(to, swapped, seen, seen + 1)) {
                        found if found == seen => break,
                        found => seen = found,
                    }
                }
            }
        };
        thread::scope(|scope| {
            for wire in nodes.wires.iter().chain(&nodes.wires) {
                scope.spawn(move || change(wire));
            }
            // A thread of the node itself, which changes its memory without any transport.
            scope.spawn(|| (0..TIMES).for_each(|_| _ = nodes.regions[1][added].fetch_add(3, Ordering::SeqCst)));
        });
        assert_eq!(plain(&nodes.regions[1][added..=swapped]), [7 * TIMES * 3, 6 * TIMES]);
    });
}

#[test]
fn nodes_that_write_and_read_more_than_anything_holds_do_not_wait_for_each_other() {
    on_each(2, |nodes| {
        thread::scope(|scope| {
            for me in [0, 1] {
                let (wire, to) = (&nodes.wires[me], NodeId(1 - me as u16));
                for half in [0, 1] {
                    scope.spawn(move || {
                        let page = atomics((0..LARGE as u64).map(|w| w + half as u64));
                        for _ in 0..24 {
                            block_on(wire.put_page(to, half * LARGE, &page));
                            wire.flush();
                        }
                    });
                    // Two readers, whose answers stand behind each other.
                    scope.spawn(move || {
                        let back = atomics((0..LARGE as u64).map(|_| 0));
                        (0..12).for_each(|_| block_on(wire.get_page(to, (0, &mut [0]), (half * LARGE, &back))));
                    });
                }
            }
        });
        for me in [0, 1] {
            nodes.settle(me, 1 - me as u16);
            for half in [0, 1] {
                let heap = &nodes.heaps[1 - me][half * LARGE..][..LARGE];
                assert!(heap.iter().enumerate().all(|(at, w)| w.load(Ordering::Acquire) == (at + half) as u64));
            }
        }
    });
}

#[test]
fn a_page_is_at_least_as_new_as_the_words_that_are_read_with_it() {
    const ROUNDS: u64 = 500;
    on_each(3, |nodes| {
        let (written, read, to) = (&nodes.wires[0], &nodes.wires[2], NodeId(1));
        thread::scope(|scope| {
            scope.spawn(move || {
                for round in 1..=ROUNDS {
                    block_on(written.put_page(to, 0, &atomics((0..PAGE).map(|_| round))));
                    block_on(written.put(to, 10, &[round], Wake::Nobody));
                    written.flush();
                }
            });
            let (mut stamp, page) = ([0], atomics((0..PAGE).map(|_| 0)));
            while stamp[0] < ROUNDS {
                block_on(read.get_page(to, (10, &mut stamp), (0, &page)));
                assert!(plain(&page).iter().all(|word| *word >= stamp[0]), "stamp {}", stamp[0]);
            }
        });
    });
}

/// Whether a thread of node 1 that waits is woken by a change.
fn woken(nodes: &Nodes, change: &dyn Fn()) {
    let its = nodes.shared(1);
    let seen = its.word(BELL).load(Ordering::SeqCst);
    thread::scope(|scope| {
        let waits = scope.spawn(|| (bell::wait(its, seen, 0, LIMIT), Instant::now()));
        let since = Instant::now();
        change();
        nodes.wires[0].flush();
        let (rung, at) = waits.join().expect("it waits");
        assert!(rung && at - since < LIMIT / 2);
    });
}

#[test]
fn who_waits_is_woken_by_what_it_waits_for() {
    on_each(2, |nodes| {
        let (wire, to, its) = (&nodes.wires[0], NodeId(1), nodes.shared(1));
        let woken = |change: &dyn Fn()| woken(nodes, change);
        woken(&|| block_on(wire.put(to, 0, &[1], Wake::All)));
        woken(&|| _ = block_on(wire.fetch_add(to, 0, 1, Wake::All)));
        let bell = || its.word(BELL).load(Ordering::SeqCst);
        let before = bell();
        block_on(async {
            for wake in [Wake::Nobody, Wake::Expecting] {
                wire.put(to, 0, &[1], wake).await;
                wire.fetch_add(to, 0, 1, wake).await;
            }
            wire.compare_swap(to, 0, 2, 3).await;
        });
        assert_eq!(bell(), before, "nobody waits for deposits");
        its.word(EXPECTING).fetch_add(1, Ordering::SeqCst);
        woken(&|| block_on(wire.put(to, 0, &[1], Wake::Expecting)));
        woken(&|| _ = block_on(wire.fetch_add(to, 0, 1, Wake::Expecting)));
        its.word(EXPECTING).fetch_sub(1, Ordering::SeqCst);
    });
}

#[test]
fn who_waits_is_called_and_who_computes_is_interrupted() {
    static SERVED: AtomicU64 = AtomicU64::new(0);
    let _handler = HANDLER.lock().unwrap_or_else(PoisonError::into_inner);
    interrupt::on_interrupt(|| _ = SERVED.fetch_add(1, Ordering::SeqCst)).expect("a handler");
    on_each(2, |nodes| {
        let (wire, to, its) = (&nodes.wires[0], NodeId(1), nodes.shared(1));
        its.word(PROCESS).store(std::process::id().into(), Ordering::SeqCst);
        let woken = |change: &dyn Fn()| woken(nodes, change);
        // Nobody is there: the first thread is called.
        woken(&|| block_on(wire.interrupt(to)));
        let words = || [WANTED, CALLS, SIGNALS].map(|word| its.word(word).load(Ordering::SeqCst));
        let until = |wanted: [u64; 3]| {
            let since = Instant::now();
            while words() != wanted {
                assert!(since.elapsed() < LIMIT, "{:?} instead of {wanted:?}", words());
                thread::yield_now();
            }
        };
        until([1, 1, 0]);
        let (ready, end) = (mpsc::channel(), AtomicBool::new(false));
        let before = SERVED.load(Ordering::SeqCst);
        thread::scope(|scope| {
            let (ended, tell) = (&end, ready.0);
            scope.spawn(move || {
                its.thread(1).does(fork::thread_id(), Doing::Computing);
                tell.send(()).expect("somebody waits");
                while !ended.load(Ordering::SeqCst) {
                    thread::yield_now();
                }
            });
            ready.1.recv().expect("it runs");
            block_on(wire.interrupt(to));
            until([2, 1, 1]);
            let since = Instant::now();
            while SERVED.load(Ordering::SeqCst) == before && since.elapsed() < LIMIT {
                thread::yield_now();
            }
            end.store(true, Ordering::SeqCst);
        });
        assert_eq!(SERVED.load(Ordering::SeqCst), before + 1);
        // Who is inside serves by itself.
        its.thread(1).does(1, Doing::Inside);
        woken(&|| block_on(wire.interrupt(to)));
        until([3, 1, 1]);
        block_on(wire.call(to));
        until([3, 2, 1]);
    });
}

/// Any operations in any order, of several threads, each with words of its own at every node: what is there at the end is what each wrote last.
#[test]
fn any_operations_in_any_order_leave_what_was_written_last() {
    const MINE: usize = 2048;
    on_each(3, |nodes| {
        let seeds = if std::env::var_os("HOMENODE_SLOW").is_some() { 0..100 } else { 0..4 };
        for seed in seeds {
            thread::scope(|scope| {
                for thread in 0..6 {
                    scope.spawn(move || writes(nodes, seed, thread, MINE));
                }
            });
        }
    });
}

/// One thread of that test: 200 operations, and what is there at its end.
fn writes(nodes: &Nodes, seed: u64, thread: usize, mine: usize) {
    let (from, mut rng) = (thread / 2, Rng::new(1000 * seed + thread as u64));
    let (wire, first) = (&nodes.wires[from], thread * mine);
    let mut wanted: Vec<[Vec<u64>; 2]> = (0..3)
        .map(|to| [plain(&nodes.regions[to][first..][..mine]), plain(&nodes.heaps[to][first..][..mine])])
        .collect();
    for _ in 0..200 {
        let (to, at) = (rng.below(3) as usize, rng.below(mine as u64) as usize);
        let count = 1 + rng.below((mine - at) as u64) as usize;
        let (node, [region, heap]) = (NodeId(to as u16), &mut wanted[to]);
        let new: Vec<u64> = (0..count).map(|_| rng.next_u64()).collect();
        match rng.below(7) {
            0 => {
                block_on(wire.put(node, first + at, &new, Wake::Nobody));
                region[at..][..count].copy_from_slice(&new);
            }
            1 => {
                block_on(wire.put_page(node, first + at, &atomics(new.iter().copied())));
                heap[at..][..count].copy_from_slice(&new);
            }
            2 => {
                let run: Vec<(u64, u64)> =
                    new.iter().map(|w| (*w, if w.is_multiple_of(3) { u64::MAX } else { 0xff00_00ff })).collect();
                block_on(wire.put_run(node, first + at, &run));
                run.iter().zip(&mut heap[at..]).for_each(|((w, mask), to)| *to = *to & !mask | w & mask);
            }
            3 => {
                assert_eq!(block_on(wire.fetch_add(node, first + at, new[0], Wake::Nobody)), region[at]);
                region[at] = region[at].wrapping_add(new[0]);
            }
            4 => {
                let old = if new[0].is_multiple_of(2) { region[at] } else { new[0] };
                assert_eq!(block_on(wire.compare_swap(node, first + at, old, 9)), region[at]);
                region[at] = if old == region[at] { 9 } else { region[at] };
            }
            5 => {
                nodes.settle(from, node.0);
                let mut there = vec![0; count];
                block_on(wire.get(node, first + at, &mut there));
                assert_eq!(there, region[at..][..count]);
            }
            _ => {
                nodes.settle(from, node.0);
                let there = atomics((0..count as u64).map(|_| 0));
                let mut before = [0];
                block_on(wire.get_page(node, (first, &mut before), (first + at, &there)));
                assert_eq!(before[0], region[0]);
                assert_eq!(plain(&there), heap[at..][..count]);
            }
        }
    }
    for (to, [region, heap]) in (0..).zip(&wanted) {
        nodes.settle(from, to);
        assert_eq!(plain(&nodes.regions[usize::from(to)][first..][..mine]), *region);
        assert_eq!(plain(&nodes.heaps[usize::from(to)][first..][..mine]), *heap);
    }
}
