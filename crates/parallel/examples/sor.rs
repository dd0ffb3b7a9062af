//! Red-black successive over-relaxation: rows of a grid are shared out, barriers stand between colours, a reduction ends it. The result is
//! held against that of one thread, bit by bit.
//!
//! `sor [SIZE [ITERATIONS]]`, by itself or under `homenode svm run`.
use homenode_parallel::{Error, SharedSlice, Worker, run, shared};
use std::process::ExitCode;

shared! {
    struct Sor {
        grid: SharedSlice<f64>,
        size: usize,
        iterations: usize,
        /// What the last sweep changed, and the seconds that the sweeps took.
        outcome: SharedSlice<f64>,
    }
}

/// Beginning of the grid: its edge stays as it is.
fn begin(size: usize, at: usize) -> f64 {
    let (row, column) = (at / size, at % size);
    if row == 0 || column == 0 || row + 1 == size || column + 1 == size {
        ((row * 7 + column * 3) % 11) as f64
    } else {
        0.0
    }
}

/// New values for the points of a colour in a row; what that changes in all.
fn relax(above: &[f64], row: &mut [f64], below: &[f64], first: usize) -> f64 {
    let mut changed = 0.0;
    for at in (first..row.len() - 1).step_by(2) {
        let to = row[at] + 1.2 * (0.25 * (above[at] + below[at] + row[at - 1] + row[at + 1]) - row[at]);
        changed += (to - row[at]).abs();
        row[at] = to;
    }
    changed
}

/// Column of the first point of a colour in a row, behind the edge.
fn first(row: usize, colour: usize) -> usize {
    1 + (row + 1 + colour) % 2
}

fn work(worker: &Worker, sor: &Sor) {
    let size = sor.size;
    let part = worker.part(size - 2);
    let rows = part.start + 1..part.end + 1;
    // A thread touches its own rows first, so that they live with it; the first and the last one have an edge, too.
    let (from, to) = (if part.start == 0 { 0 } else { rows.start }, if part.end == size - 2 { size } else { rows.end });
    (from * size..to * size).for_each(|at| sor.grid.set(at, begin(size, at)));
    worker.barrier();
    let since = std::time::Instant::now();
    let mut changed = 0.0;
    worker.phase(c"sweeps", || {
        for _ in 0..sor.iterations {
            changed = 0.0;
            for colour in 0..2 {
                changed += rows.clone().map(|row| relax_row(&sor.grid, size, row, colour)).sum::<f64>();
                worker.barrier();
            }
            changed = worker.sum(changed);
        }
    });
    if worker.index() == 0 {
        sor.outcome.write(0, &[changed, since.elapsed().as_secs_f64()]);
    }
}

fn relax_row(grid: &SharedSlice<f64>, size: usize, row: usize, colour: usize) -> f64 {
    let mut changed = 0.0;
    for column in (first(row, colour)..size - 1).step_by(2) {
        let at = row * size + column;
        let (old, around) =
            (grid.get(at), grid.get(at - size) + grid.get(at + size) + grid.get(at - 1) + grid.get(at + 1));
        let new = old + 1.2 * (0.25 * around - old);
        changed += (new - old).abs();
        grid.set(at, new);
    }
    changed
}

/// The same by one thread in memory of its own.
fn alone(size: usize, iterations: usize) -> Vec<f64> {
    let mut grid: Vec<f64> = (0..size * size).map(|at| begin(size, at)).collect();
    for _ in 0..iterations {
        for colour in 0..2 {
            for row in 1..size - 1 {
                let (before, rest) = grid.split_at_mut(row * size);
                let (own, below) = rest.split_at_mut(size);
                relax(&before[(row - 1) * size..], own, below, first(row, colour));
            }
        }
    }
    grid
}

fn sor(size: usize, iterations: usize) -> Result<bool, Error> {
    let (grid, outcome) = (SharedSlice::zeroed(size * size)?, SharedSlice::zeroed(2)?);
    run(0, Sor { grid, size, iterations, outcome }, work)?;
    let expected = alone(size, iterations);
    let is_same = (0..size * size).all(|at| grid.get(at).to_bits() == expected[at].to_bits());
    let (changed, seconds) = (outcome.get(0), outcome.get(1));
    println!("sor: {} x {size}, {iterations} sweeps, the last one changed {changed:.6}; {seconds:.3} s", size);
    Ok(is_same)
}

fn main() -> ExitCode {
    let numbers: Option<Vec<usize>> = std::env::args().skip(1).map(|word| word.parse().ok()).collect();
    let (size, iterations) = match numbers.as_deref() {
        Some([]) => (256, 20),
        Some([size]) if *size > 2 => (*size, 20),
        Some([size, iterations]) if *size > 2 => (*size, *iterations),
        _ => {
            eprintln!("usage: sor [SIZE [ITERATIONS]]; a SIZE is 3 or more");
            return ExitCode::from(2);
        }
    };
    match sor(size, iterations) {
        Ok(true) => {
            println!("sor: verified OK");
            ExitCode::SUCCESS
        }
        Ok(false) => {
            eprintln!("sor: SELF-CHECK FAILED: the grid is not that of one thread");
            ExitCode::FAILURE
        }
        Err(why) => {
            eprintln!("sor: {why}");
            ExitCode::FAILURE
        }
    }
}
