use super::*;
use homenode_base::Rng;

/// One reference of a history: processor, operation, words, and whether the line had to come for it.
type Step = (u32, Op, u64, bool);

fn reference(cpu: u32, op: Op) -> Reference {
    Reference { thread: cpu, cpu, site: cpu, object: 0, op, lock: false, turn: 0 }
}

fn watch(history: &[Step]) -> Line {
    let mut line = Line::new(3, 0);
    let mut sums = Transfers::default();
    for &(cpu, op, words, comes) in history {
        let r = reference(cpu, op);
        line.reference(&r, words);
        if comes {
            line.transfer(Cost(10), Cause::default(), false, &mut sums);
        }
    }
    line.finish(&mut sums);
    line
}

/// Useless transfers by the definition, from the whole history since the first transfer, which is decided by the others.
fn useless(history: &[Step]) -> u64 {
    let turn_begin = |i: usize| (0..=i).rev().take_while(|&k| history[k].0 == history[i].0).last().unwrap();
    let (mut count, mut others) = (0, 0);
    for (i, &(me, _, _, comes)) in history.iter().enumerate() {
        if !comes || i == 0 {
            continue;
        }
        others += 1;
        let end = (i + 1..history.len()).find(|&k| history[k].0 == me && history[k].3).unwrap_or(history.len());
        let before = (0..turn_begin(i)).rev().find(|&k| history[k].0 == me);
        let needed = |k: usize| {
            let (_, op, words, _) = history[k];
            (before.map_or(0, |b| b + 1)..k).any(|j| {
                let (other, wrote, theirs, _) = history[j];
                // Only the last word counts: what was overwritten by this processor since is its own.
                let mine_since = |mask: u64, only_writes: bool| {
                    (j + 1..k).any(|l| {
                        let r = history[l];
                        mask & r.2 != 0 && (r.1.writes() || !only_writes)
                    })
                };
                let read = (0..64).map(|w| 1 << w).filter(|w| words & theirs & w != 0);
                other != me
                    && read
                        .into_iter()
                        .any(|w| (wrote.writes() && !mine_since(w, true)) || (op.writes() && !mine_since(w, false)))
            })
        };
        let life: Vec<usize> = (i..end).filter(|&k| history[k].0 == me).collect();
        count += u64::from(!life.into_iter().any(needed));
    }
    count + u64::from(others > 0 && count * 2 >= others)
}

/// Bits of `len` successive words from word `from` on.
fn span(from: u64, len: u64) -> u64 {
    (u64::MAX >> (64 - len.clamp(1, 64 - from))) << from
}

#[test]
fn useless_transfers_are_those_of_the_definition() {
    let (mut some, mut most) = (0, 0);
    for seed in 0..3_000 {
        let mut rng = Rng::new(seed);
        let cpus = 2 + rng.below(4);
        let own = rng.chance(1, 2);
        let history: Vec<Step> = (0..1 + rng.below(60))
            .map(|i| {
                let cpu = rng.below(cpus) as u32;
                let word = if own && rng.chance(9, 10) { u64::from(cpu) } else { rng.below(6) };
                let op = [Op::Read, Op::Write, Op::Atomic][rng.below(3) as usize];
                let len = if rng.chance(1, 20) { 40 } else { 1 + rng.below(3) };
                (cpu, op, span(word * 4, len), i == 0 || rng.chance(1, 2))
            })
            .collect();
        let line = watch(&history);
        let transfers = history.iter().filter(|s| s.3).count() as u64;
        assert_eq!(line.transfers, transfers);
        assert_eq!(line.useless, useless(&history), "seed {seed}: {history:?}");
        assert_eq!((line.cost.0, line.useless_cost.0), (10 * transfers as i128, 10 * line.useless as i128));
        some += u64::from(line.useless > 0);
        most += u64::from(line.useless * 2 > line.transfers);
    }
    assert!(some > 1_000 && most > 300, "{some} {most}");
}

#[test]
fn words_are_the_bytes_that_were_used_alike() {
    for seed in 0..2_000 {
        let mut rng = Rng::new(seed);
        let history: Vec<Step> = (0..1 + rng.below(40))
            .map(|i| {
                let op = [Op::Read, Op::Write, Op::Atomic][rng.below(3) as usize];
                let from = rng.below(64);
                (rng.below(3) as u32, op, span(from, 1 + rng.below(9)), i == 0)
            })
            .collect();
        let line = watch(&history);
        let mut expected = 0;
        for byte in 0..64u32 {
            let touched: Vec<&Step> = history.iter().filter(|s| s.2 >> byte & 1 == 1).collect();
            let word = line.words.iter().find(|w| w.mask() >> byte & 1 == 1);
            let reads = touched.iter().filter(|s| s.1 != Op::Write).count() as u64;
            let writes = touched.iter().filter(|s| s.1.writes()).count() as u64;
            assert_eq!(word.map_or((0, 0), |w| (w.reads, w.writes)), (reads, writes), "seed {seed} byte {byte}");
            expected |= u64::from(!touched.is_empty()) << byte;
        }
        assert_eq!(line.words.iter().map(Word::mask).fold(0, |a, b| a | b), expected);
        assert!(line.words.windows(2).all(|w| w[0].from + w[0].len <= w[1].from), "disjoint and ascending");
        let counts = |op: fn(&Step) -> bool, s: u32| history.iter().filter(|h| h.0 == s && op(h)).count() as u64;
        for s in &line.sites {
            let exact = (counts(|h| h.1 != Op::Write, s.site), counts(|h| h.1.writes(), s.site));
            assert_eq!((s.reads, s.writes), exact, "sites are counted exactly");
        }
    }
}

#[test]
fn words_know_their_users_but_not_the_final_check() {
    let mut history: Vec<Step> = (0..100).map(|i| (i % 3, Op::Atomic, 1 << (i % 3), true)).collect();
    history.push((5, Op::Read, 0b111, true));
    let line = watch(&history);
    for (w, word) in line.words.iter().enumerate() {
        assert_eq!(line.threads_of(word.users), [w as u32]);
        assert_eq!((line.threads_of(word.writers), word.reads), (vec![w as u32], word.writes + 1));
        assert_eq!(word.owner(), Some(w));
    }
    assert_eq!(line.words.len(), 3);
}

#[test]
fn owners_may_change_now_and_then_but_not_all_the_time() {
    // Two words, two processors, which exchange their words every ten turns: whoever has a word keeps it for a while.
    let phases: Vec<Step> = (0..400u32).map(|i| (i % 2, Op::Atomic, 1 << ((i + i / 20) % 2 * 4), true)).collect();
    let line = watch(&phases);
    assert!(line.words.iter().all(|w| w.owner().is_some()), "{:?}", line.words);
    assert_ne!(line.words[0].owner(), line.words[1].owner());
    let mixed: Vec<Step> = (0..400u32).map(|i| (i % 2, Op::Atomic, 1, true)).collect();
    assert_eq!(watch(&mixed).words[0].owner(), None);
}

#[test]
fn sums_are_told_from_flags() {
    let sum: Vec<Step> = (0..300u32)
        .flat_map(|i| [(i % 3, Op::Read, 0xFF, true), (i % 3, Op::Write, 0xFF, false)])
        .chain([(3, Op::Read, 0xFF, true)])
        .collect();
    let word = watch(&sum).words[0];
    assert_eq!((word.writes, word.blind, word.looks), (300, 0, 0));
    let flag: Vec<Step> =
        (0..300u32).flat_map(|i| [(0, Op::Write, 0xF, true), (1 + i % 2, Op::Read, 0xF, true)]).collect();
    let word = watch(&flag).words[0];
    assert_eq!((word.writes, word.blind, word.looks), (300, 300, 299));
}

#[test]
fn many_processors_share_the_last_bit() {
    let history: Vec<Step> = (0..1000u32).map(|i| (i % 200, Op::Write, 1, true)).collect();
    let line = watch(&history);
    assert_eq!((line.sites.len(), line.users.len()), (200, 200));
    assert_eq!(line.threads_of(line.words[0].users).len(), 200);
}

#[test]
fn a_line_is_named_after_what_is_written_most_and_not_after_who_came_first() {
    let mut line = Line::new(3, 7);
    for turn in 0..4 {
        // Everybody reads the pointer in the first word, which nobody writes, and counts in a word of his own.
        line.reference(&Reference { object: 7, ..reference(turn % 2, Op::Read) }, 1);
        line.reference(&Reference { object: 9, ..reference(turn % 2, Op::Write) }, 2 << (turn % 2));
    }
    line.finish(&mut Transfers::default());
    assert_eq!((line.object, line.written_object()), (7, 9));
}
