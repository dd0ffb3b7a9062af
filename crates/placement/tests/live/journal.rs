//! A recorded run is decided again to the same moves; damage is an error that names the line.
use crate::world::{World, id};
use crate::{config, real};
use homenode_base::{NodeId, Rng};
use homenode_placement::live::{Event, replay};
use homenode_placement::policies::Choice;

fn recorded(policy: &str) -> (String, usize, u64) {
    let m = real(3);
    let mut world = World::new(&m, policy, config());
    (world.fails_of_16, world.rng) = (4, Rng::new(3));
    let mut rng = Rng::new(17);
    (0..60).for_each(|p| _ = world.homes.insert(id(p), NodeId(0)));
    for window in 0..25 {
        let uses: Vec<_> = (0..60).map(|p| (p, ((p + window / 12) % 3) as u16, 1 + rng.below(30) as u32, 3)).collect();
        world.window(&uses);
        world.tell(Event::Spent { deciding_ns: rng.below(20_000_000) });
    }
    (world.journal.clone(), world.total_moves(), world.governor.stats().moved_pages)
}

#[test]
fn the_same_journal_gives_the_same_decisions() {
    for policy in ["affinity", "migrate-on-write", "ace"] {
        let (journal, moves, pages) = recorded(policy);
        let again = replay(&journal, None).expect("as written");
        assert_eq!((again.differs, again.complete), (None, true), "{policy}");
        assert_eq!((again.stats.moves as usize, again.stats.moved_pages), (moves, pages), "{policy}");
        assert!(moves > 30 && again.candidates as usize >= moves && again.events > 100, "{policy}: {moves} moves");
    }
}

#[test]
fn another_policy_or_a_changed_event_is_noticed() {
    let (journal, ..) = recorded("affinity");
    let other = Choice::parse("first-touch").expect("a policy");
    let (line, wanted) = replay(&journal, Some(&other)).expect("readable").differs.expect("it never moves");
    assert!(journal.lines().nth(line - 1).is_some_and(|l| l.contains("move")) && wanted == "None", "{line}: {wanted}");
    let changed = journal.replacen("\"reads\":", "\"reads\":9", 40);
    let again = replay(&changed, None).expect("readable");
    assert!(again.differs.is_some(), "other evidence, other decisions");
}

#[test]
fn damage_is_named_and_a_killed_recording_still_replays() {
    let (journal, ..) = recorded("affinity");
    let cut = &journal[..journal.len() - 7];
    let again = replay(cut, None).expect("all but the last line");
    assert!(!again.complete && again.differs.is_none());
    let second = journal.find('\n').expect("lines") + 1;
    for (text, part) in [
        (String::new(), "line 1"),
        ("{}\n".into(), "line 1"),
        (journal[second..].to_owned(), "header"),
        (journal.replacen("journal-1", "journal-9", 1), "schema"),
        (journal.replacen("affinity(", "nothing(", 1), "unknown policy"),
        (format!("{}{{\"in\":5}}\n{}", &journal[..second], &journal[second..]), "line 2"),
    ] {
        let error = replay(&text, None).map(|r| r.events).expect_err(part).to_string();
        assert!(error.contains(part), "{error}");
    }
}

/// Whatever is in the file: an answer or an error with its line, never a panic.
#[test]
fn no_journal_makes_it_panic() {
    let (journal, ..) = recorded("affinity");
    let mut rng = Rng::new(0xf022);
    let odd: [&[u8]; 8] = [b"0", b"18446744073709551615", b"-1", b"{", b"}", b"\n", b"4294967295", b"null"];
    let (mut read, mut refused) = (0, 0);
    for _ in 0..crate::common::cases(100) {
        let mut bytes = journal.as_bytes()[..journal.len().min(60_000)].to_vec();
        for _ in 0..1 + rng.below(2) {
            // Most damage goes to the header, where limits and sizes stand.
            let near = if rng.below(2) == 0 { 1500 } else { bytes.len() as u64 };
            let at = rng.below(near) as usize;
            let digit = (at..bytes.len()).find(|i| bytes[*i].is_ascii_digit()).unwrap_or(at);
            let with = odd[rng.below(8) as usize];
            bytes.splice(digit..(digit + 1).min(bytes.len()), with.iter().copied());
        }
        match replay(&String::from_utf8_lossy(&bytes), None) {
            Ok(_) => read += 1,
            Err(e) => {
                assert!(!e.to_string().is_empty());
                refused += 1;
            }
        }
    }
    assert!(read > 25 && refused > 50, "{read} read, {refused} refused");
}
