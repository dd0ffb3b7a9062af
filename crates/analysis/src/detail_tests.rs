use super::*;
use homenode_base::Rng;

/// One reference of a history: thread, operation, words, and whether the line had to come for it.
type Step = (u32, Op, u32, bool);

fn watch(history: &[Step]) -> Line {
    let mut detail = Detail::new(16);
    let mut watched = false;
    for &(thread, op, words, comes) in history {
        let piece = Piece { index: 7, unit: 3, words, new: false, detailed: watched };
        let r = Reference { thread, site: thread, object: 0, op };
        if watched {
            detail.reference(&piece, &r);
        }
        if comes {
            let new = detail.transfer(&piece, &r, Cost(10));
            assert_eq!(new, !watched);
            watched = true;
        }
    }
    detail.finish().0.pop().unwrap()
}

/// Useless transfers by the definition, from the whole history since the first transfer.
fn useless(history: &[Step]) -> u64 {
    let turn_begin = |i: usize| (0..=i).rev().take_while(|&k| history[k].0 == history[i].0).last().unwrap();
    let mut count = 0;
    for (i, &(me, _, _, comes)) in history.iter().enumerate() {
        // The first transfer gets the benefit of the doubt.
        if !comes || i == 0 {
            continue;
        }
        let end = (i + 1..history.len()).find(|&k| history[k].0 == me && history[k].3).unwrap_or(history.len());
        let before = (0..turn_begin(i)).rev().find(|&k| history[k].0 == me);
        let needed = |k: usize| {
            let (_, op, words, _) = history[k];
            (before.map_or(0, |b| b + 1)..k).any(|j| {
                let (other, wrote, theirs, _) = history[j];
                // Only the last word counts: what was overwritten by this thread since is its own.
                let mine_since = |mask: u32, only_writes: bool| {
                    (j + 1..k).any(|l| {
                        let r = history[l];
                        mask & r.2 != 0 && (r.1.writes() || !only_writes)
                    })
                };
                let read = (0..16).map(|w| 1 << w).filter(|w| words & theirs & w != 0);
                other != me
                    && read
                        .into_iter()
                        .any(|w| (wrote.writes() && !mine_since(w, true)) || (op.writes() && !mine_since(w, false)))
            })
        };
        let life: Vec<usize> = (i..end).filter(|&k| history[k].0 == me).collect();
        count += u64::from(!life.into_iter().any(needed));
    }
    count
}

#[test]
fn useless_transfers_are_those_of_the_definition() {
    let (mut some, mut most) = (0, 0);
    for seed in 0..3_000 {
        let mut rng = Rng::new(seed);
        let threads = 2 + rng.below(4);
        let own = rng.chance(1, 2);
        let history: Vec<Step> = (0..1 + rng.below(60))
            .map(|i| {
                let thread = rng.below(threads) as u32;
                let word = if own && rng.chance(9, 10) { u64::from(thread) } else { rng.below(6) };
                let op = [Op::Read, Op::Write, Op::Atomic][rng.below(3) as usize];
                (thread, op, 1 << word | u32::from(rng.chance(1, 20)) << 9, i == 0 || rng.chance(1, 2))
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
fn words_know_their_threads_but_not_the_final_check() {
    let mut history: Vec<Step> = (0..100).map(|i| (i % 3, Op::Atomic, 1 << (i % 3), true)).collect();
    history.push((5, Op::Read, 0b111, true));
    let line = watch(&history);
    for (w, word) in line.words.iter().enumerate().take(3) {
        assert_eq!(line.threads_of(word.threads), [w as u32]);
        assert_eq!((line.threads_of(word.writers), word.reads), (vec![w as u32], word.writes + 1));
    }
    assert!(line.words[3..].iter().all(|w| w.threads == 0));
}

#[test]
fn only_the_lines_with_most_transfers_are_kept() {
    let mut detail = Detail::new(16);
    let r = Reference { thread: 1, site: 1, object: 0, op: Op::Write };
    let mut index = 0;
    while !detail.is_full() {
        let piece = Piece { index, unit: index as u64, words: 1, new: false, detailed: false };
        (0..=index % 5).for_each(|_| _ = detail.transfer(&piece, &r, Cost(1)));
        index += 1;
    }
    let dropped = detail.prune();
    assert_eq!((dropped.len(), detail.finish().0.len()), (index - LINES_KEPT, LINES_KEPT));
    assert!(dropped.iter().all(|i| i % 5 <= 2), "lines with four and five transfers stay");
}

#[test]
fn rare_sites_make_room_and_many_threads_share_the_last_bit() {
    let history: Vec<Step> = (0..1000u32).map(|i| (i % 200, Op::Write, 1, true)).collect();
    let line = watch(&history);
    assert_eq!((line.sites.len(), line.users.len()), (SITES_MAX, 200));
    assert_eq!(line.threads_of(line.words[0].threads).len(), 200);
}
