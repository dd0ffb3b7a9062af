//! What batches cost beside a bare loop of the system call over the same pages: prints nanoseconds a page for both and
//! their ratio. With one node the pages are asked to stay; with several they go back and forth between the first two.
use homenode_migrate::{MoveStatus, Mover, Request, mover::BATCH_PAGES};
use homenode_sys::numa;
use std::time::Instant;

const ROUNDS: usize = 41;

/// Arguments: pages, rounds.
fn argument(i: usize, default: usize) -> usize {
    std::env::args().nth(i).and_then(|a| a.parse().ok()).unwrap_or(default)
}

fn main() {
    let (pages, rounds) = (argument(1, 10_000), argument(2, ROUNDS));
    let memory = vec![1u8; (pages + 1) * 4096];
    let first = (memory.as_ptr() as u64).next_multiple_of(4096);
    let nodes = numa::allowed_nodes().expect("a kernel with NUMA");
    let addresses: Vec<u64> = (0..pages as u64).map(|i| first + i * 4096).collect();
    let (mut bare, mut ours) = (Vec::new(), Vec::new());
    for round in 0..rounds {
        let target = |step: usize| nodes[step % nodes.len().min(2)];
        bare.push(time_bare(&addresses, target(0)));
        // Nothing here may tell which way comes second: the other direction is measured in the next round.
        ours.push(time_ours(&addresses, target(1)));
        if round % 2 == 0 {
            ours.push(time_ours(&addresses, target(0)));
            bare.push(time_bare(&addresses, target(1)));
        }
    }
    let (bare, ours) = (median(&mut bare) / pages as f64, median(&mut ours) / pages as f64);
    println!(
        "pages {pages} nodes {} bare {bare:.1} ns/page batches {ours:.1} ns/page ratio {:.3}",
        nodes.len(),
        ours / bare
    );
}

fn time_bare(pages: &[u64], node: u32) -> f64 {
    let targets = vec![node as i32; BATCH_PAGES];
    let mut status = vec![0; BATCH_PAGES];
    let start = Instant::now();
    for batch in pages.chunks(BATCH_PAGES) {
        let left = numa::move_pages(0, batch, &targets[..batch.len()], &mut status[..batch.len()], false);
        assert_eq!(left.expect("own pages"), 0);
    }
    start.elapsed().as_nanos() as f64
}

fn time_ours(pages: &[u64], node: u32) -> f64 {
    let requests: Vec<Request> = pages.iter().map(|p| Request { page: *p, node }).collect();
    let (mut move_statuses, start) = (Vec::new(), Instant::now());
    Mover::new(0).run(&requests, None, &mut move_statuses);
    let took = start.elapsed().as_nanos() as f64;
    assert!(move_statuses.iter().all(|f| *f == MoveStatus::Moved));
    took
}

fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
