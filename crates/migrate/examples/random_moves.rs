//! Moves random pages of a running process to random nodes and compares every verdict with what the kernel says afterwards:
//! `random_moves PID SECONDS SEED`. Status 1 if a page that was reported as moved is elsewhere (nobody else may move pages
//! meanwhile) or if nothing moved.
use homenode_migrate::process::{Area, areas};
use homenode_migrate::{MoveStatus, Mover, Request, where_are};
use homenode_sys::numa;
use std::collections::BTreeSet;
use std::process::ExitCode;
use std::time::{Duration, Instant};

const PAGE: u64 = 4096;
/// Requests of one run of the mover at most.
const REQUESTS_MAX: u64 = 2000;
/// Some runs are cut short, as the live loop's are.
const LIMIT: Duration = Duration::from_millis(20);

/// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014); this crate has no other use for random numbers.
struct Rng(u64);

impl Rng {
    /// A number in `0..bound`.
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % bound
    }
}

#[derive(Default)]
struct Tally {
    asked: u64,
    moved: u64,
    wrong: u64,
}

fn main() -> ExitCode {
    let words: Vec<u64> = std::env::args().skip(1).filter_map(|a| a.parse().ok()).collect();
    let [pid, seconds, seed] = words[..] else {
        eprintln!("usage: random_moves PID SECONDS SEED");
        return ExitCode::from(2);
    };
    let pid = u32::try_from(pid).expect("a process id has 32 bits");
    let (mut rng, mut tally) = (Rng(seed), Tally::default());
    let nodes = numa::allowed_nodes().expect("a kernel with NUMA");
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_secs(seconds) {
        let Ok(mapped) = areas(pid) else { break };
        if !round(pid, &mapped, &nodes, &mut rng, &mut tally) {
            break;
        }
    }
    println!("random_moves: asked {} moved {} wrongly reported {}", tally.asked, tally.moved, tally.wrong);
    if tally.moved > 0 && tally.wrong == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// One run of the mover; false once the process is gone.
fn round(pid: u32, areas: &[Area], nodes: &[u32], rng: &mut Rng, tally: &mut Tally) -> bool {
    let pages: u64 = areas.iter().map(|a| (a.end - a.start) / PAGE).sum();
    if pages == 0 {
        return false;
    }
    let count = 1 + rng.below(REQUESTS_MAX);
    let chosen: BTreeSet<u64> = (0..count).map(|_| page(areas, rng.below(pages))).collect();
    let node = |rng: &mut Rng| nodes[rng.below(nodes.len() as u64) as usize];
    let requests: Vec<Request> = chosen.iter().map(|&page| Request { page, node: node(rng) }).collect();
    let mut move_statuses = Vec::new();
    let limit = (rng.below(4) == 0).then_some(LIMIT);
    Mover::new(pid).batch(1 + rng.below(512) as usize).run(&requests, limit, &mut move_statuses);
    assert_eq!(move_statuses.len(), requests.len(), "a verdict for each");
    let addresses: Vec<u64> = requests.iter().map(|r| r.page).collect();
    let Ok(places) = where_are(pid, &addresses) else { return false };
    for ((request, move_status), at) in requests.iter().zip(&move_statuses).zip(&places) {
        tally.asked += 1;
        if *move_status == MoveStatus::Moved {
            tally.moved += 1;
            // A huge page goes where the last request for any part of it sent it: only the others can be judged.
            let huge = areas.iter().any(|a| a.huge_bytes > 0 && (a.start..a.end).contains(&request.page));
            tally.wrong += u64::from(!huge && at.node().is_some_and(|n| n != request.node));
        }
    }
    true
}

fn page(areas: &[Area], mut number: u64) -> u64 {
    for area in areas {
        let pages = (area.end - area.start) / PAGE;
        if number < pages {
            return area.start + number * PAGE;
        }
        number -= pages;
    }
    unreachable!("the number is below the sum of all pages")
}
