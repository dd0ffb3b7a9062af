//! Partitions as files, on a budget, and asked what they do not hold.
mod common;

use common::{folded, model, question, reference};
use homenode_base::Rng;
use homenode_study::{InMemory, Layout, Partition, Partitioner, Question, Spill, StudyError, answer, plain};
use homenode_trace::{Merged, Op, SampleUnit};
use std::sync::{Arc, Mutex};
use xxhash_rust::xxh3::xxh3_64;

fn refs(n: u64) -> Vec<Merged> {
    let op = |i: u64| if i.is_multiple_of(5) { Op::Write } else { Op::Read };
    (0..n).map(|i| reference((i * 7 % 4) as u32, op(i), 0x1000_0000 + i * 9973 % 600_000)).collect()
}

fn small(rng: &mut Rng) -> Question {
    question(rng, vec![model("ace"), model("two-socket")], vec![64, 4096], &[0; 4])
}

fn built(q: &Question, refs: &[Merged], layout: Layout) -> Partition {
    let mut partitioner = Partitioner::new(q, layout).expect("a sound question");
    partitioner.refs(refs).expect("memory takes all");
    partitioner.finish().expect("memory takes all")
}

fn bytes(partition: &Partition) -> Vec<u8> {
    let mut all = Vec::new();
    let written = partition.write(&mut |b| {
        all.extend_from_slice(b);
        Ok(())
    });
    written.expect("memory takes all");
    all
}

/// What opening and answering say about these bytes.
fn verdict(q: &Question, bytes: Vec<u8>) -> Result<(), StudyError> {
    let partition = Partition::open(Box::new(bytes))?;
    answer(q, &partition, 0..partition.regions()).map(|_| ())
}

#[test]
fn no_damage_goes_unnoticed() {
    let mut rng = Rng::new(1);
    let q = small(&mut rng);
    let good = bytes(&built(&q, &refs(300), Layout::default()));
    assert!(verdict(&q, good.clone()).is_ok());
    for _ in 0..300 {
        let mut bad = good.clone();
        let at = rng.below(bad.len() as u64) as usize;
        bad[at] ^= 1 << rng.below(8);
        assert!(matches!(verdict(&q, bad), Err(StudyError::Damaged(_))), "byte {at}");
        let length = rng.below(good.len() as u64) as usize;
        assert!(matches!(verdict(&q, good[..length].to_vec()), Err(StudyError::Damaged(_))), "{length} bytes");
    }
}

#[test]
fn a_hostile_index_is_rejected_or_answered_but_never_believed() {
    let mut rng = Rng::new(2);
    let q = small(&mut rng);
    let good = bytes(&built(&q, &refs(300), Layout::default()));
    let end = good.len() - 32;
    let word = |b: &[u8], at: usize| u64::from_le_bytes(b[at..at + 8].try_into().expect("eight bytes"));
    let begin = word(&good, end) as usize;
    let mut rejected = 0;
    for _ in 0..2000 {
        let mut bad = good.clone();
        let at = begin + rng.below(((end - begin) / 8) as u64) as usize * 8;
        let old = word(&bad, at);
        let new =
            [0, 1, old + 1, old.wrapping_sub(1), old << 1, 1 << 32, u64::MAX, rng.next_u64()][rng.below(8) as usize];
        bad[at..at + 8].copy_from_slice(&new.to_le_bytes());
        let checksum = xxh3_64(&bad[begin..end]);
        bad[end + 16..end + 24].copy_from_slice(&checksum.to_le_bytes());
        rejected += u32::from(verdict(&q, bad).is_err());
    }
    assert!(rejected > 1000, "{rejected}");
}

/// Counts what is spilled.
struct Counting(InMemory, Arc<Mutex<u64>>);

impl Spill for Counting {
    fn append(&mut self, region: u64, bytes: &[u8]) -> Result<(), String> {
        *self.1.lock().expect("one thread") += bytes.len() as u64;
        self.0.append(region, bytes)
    }
    fn read(&self, region: u64, each: &mut dyn FnMut(&[u8])) -> Result<(), String> {
        self.0.read(region, each)
    }
    fn bytes(&self, region: u64) -> u64 {
        self.0.bytes(region)
    }
}

#[test]
fn a_budget_is_kept_and_changes_nothing() {
    let mut rng = Rng::new(3);
    let q = small(&mut rng);
    let all = refs(20_000);
    let expected = plain::answer(&q, &all).expect("it can be answered");
    let mut last = 0;
    for budget_bytes in [1 << 30, 60_000, 10_000, 0] {
        let spilled = Arc::new(Mutex::new(0));
        let spill = Box::new(Counting(InMemory::default(), spilled.clone()));
        let partition = built(&q, &all, Layout { region_bytes: Some(4096), budget_bytes, spill });
        let spilled = *spilled.lock().expect("one thread");
        assert!(spilled >= last, "{budget_bytes}");
        last = spilled;
        assert_eq!(folded(&mut rng, &q, &partition), expected, "{budget_bytes}");
    }
    let words: u64 = all.len() as u64;
    assert!(last >= words * 4, "with nothing in memory everything is outside: {last}");
}

/// Pieces in which a file is read are no multiples of all records' lengths.
#[test]
fn no_record_is_torn_between_pieces() {
    let mut rng = Rng::new(5);
    for (machines, samples) in [(vec![model("ace")], false), (vec![model("butterfly")], true)] {
        let mut q = question(&mut rng, machines, vec![4096], &[0; 4]);
        if samples {
            q.options.sampled = Some(homenode_trace::Counting { unit: SampleUnit::Miss, sees_writes: true });
        }
        let all: Vec<Merged> = refs(40_000).into_iter().map(|r| Merged { addr: r.addr & !0xF_0000, ..r }).collect();
        let expected = plain::answer(&q, &all).expect("it can be answered");
        let partition = Partition::open(Box::new(bytes(&built(&q, &all, Layout::default())))).expect("just written");
        assert!((0..partition.regions()).any(|r| partition.weight(r) > 1 << 15), "longer than a piece");
        assert_eq!(folded(&mut rng, &q, &partition), expected);
    }
}

/// A disk that is full.
struct Full;

impl Spill for Full {
    fn append(&mut self, _: u64, _: &[u8]) -> Result<(), String> {
        Err("no space left".into())
    }
    fn read(&self, _: u64, _: &mut dyn FnMut(&[u8])) -> Result<(), String> {
        Err("nothing was written".into())
    }
    fn bytes(&self, _: u64) -> u64 {
        0
    }
}

#[test]
fn errors_say_what_is_wrong() {
    let mut rng = Rng::new(4);
    let q = small(&mut rng);
    let full = Layout { region_bytes: None, budget_bytes: 0, spill: Box::new(Full) };
    let mut partitioner = Partitioner::new(&q, full).expect("a sound question");
    let failed = partitioner.refs(&refs(5000)).and_then(|()| partitioner.finish().map(|_| ()));
    assert!(matches!(failed, Err(StudyError::Spill(why)) if why == "no space left"));
    let layout = |bytes| Layout { region_bytes: Some(bytes), ..Layout::default() };
    for bytes in [0, 1024, 5000, 4 << 20] {
        assert!(matches!(Partitioner::new(&q, layout(bytes)), Err(StudyError::Region(b)) if b == bytes));
    }
    let partition = built(&q, &refs(300), layout(4096));
    let n = partition.regions();
    assert!(matches!(answer(&q, &partition, 0..n + 1), Err(StudyError::Range(..))));
    let other = question(&mut rng, vec![model("opteron4")], vec![64], &[0; 4]);
    let asked = answer(&other, &partition, 0..n);
    assert!(matches!(asked, Ok(_) | Err(StudyError::Missing(_))));
    let mut larger = q.clone();
    larger.blocks.push(8192);
    assert!(matches!(answer(&larger, &partition, 0..n), Err(StudyError::Region(4096))));
    for blocks in [vec![], vec![64, 64], vec![128, 64]] {
        assert!(matches!(Question { blocks, ..q.clone() }.check(), Err(StudyError::Blocks)));
    }
    for bytes in [0, 2, 96, 4 << 20] {
        assert!(
            matches!(Question { blocks: vec![bytes], ..q.clone() }.check(), Err(StudyError::Block(b)) if b == bytes)
        );
    }
    let mut first = answer(&q, &partition, 0..n).expect("it can be answered");
    let second = answer(&other_blocks(&q), &partition, 0..n).expect("it can be answered");
    assert!(matches!(first.add(&second), Err(StudyError::OtherQuestion)));
}

fn other_blocks(q: &Question) -> Question {
    Question { blocks: vec![128, 2048], ..q.clone() }
}
