//! Latencies without contention, measured: what one access more adds to a small program.
use homenode_command::Failure;
use homenode_machine::Machine;
use homenode_synthetic::Builder;
use homenode_timed::engine::{NoGaps, Options};
use homenode_timed::memory::archs::BASE;
use homenode_timed::memory::{Question, run};

const PAGE: u64 = 0x10_0000;
const LINE: u64 = 32;
const CHUNK: u64 = 128;
/// Memory of thread 0 alone, elsewhere in the cache than the page.
const OWN: u64 = 0x7000_0800;
/// Pages that are shared besides, so that every node of the machine has one.
const OTHERS: u64 = 0x20_0800;
/// Hits until all messages of the barrier are where they were going.
const PAUSE: u32 = 2000;

/// A hit, the remote access cache, memory of the own node, of another one, and what a forward adds, in cycles.
///
/// # Errors
/// The machine cannot run them.
pub(super) fn latencies(machine: &Machine) -> Result<[u64; 5], Failure> {
    let none = cycles(machine, &[])?;
    let more = |accesses: &[(u32, u64)]| cycles(machine, accesses).map(|c| c - none);
    // The page is thread 1's; its first chunk was copied by thread 0, its fifth is dirty at thread 2.
    let remote = more(&[(0, PAGE + 2 * CHUNK)])?;
    Ok([
        more(&[(0, PAGE)])?,
        more(&[(0, PAGE + LINE)])?,
        more(&[(1, PAGE + 3 * CHUNK)])?,
        remote,
        more(&[(0, PAGE + 4 * CHUNK)])?.saturating_sub(remote),
    ])
}

/// Cycles of references, kernel and synchronisation left out, of a program that ends with these reads.
fn cycles(machine: &Machine, last: &[(u32, u64)]) -> Result<u64, Failure> {
    let mut b = Builder::new(3);
    b.write(1, PAGE);
    for page in 0..machine.nodes() as u64 {
        b.read(1, OTHERS + page * 4096).read(2, OTHERS + page * 4096);
    }
    b.barrier(0x9000, 0..3);
    b.write(2, PAGE + 4 * CHUNK).barrier(0x9000, 0..3);
    b.read(0, PAGE);
    for thread in 0..2 {
        (0..PAUSE).for_each(|_| _ = b.read(thread, OWN + u64::from(thread) * 4096));
    }
    last.iter().for_each(|(thread, address)| _ = b.read(*thread, *address));
    let data = b.open().map_err(Failure::work)?;
    let bound = Question { machine, map: None, options: Options::default() }.bind(&data).map_err(Failure::work)?;
    let times = run(&bound, BASE, 50, || NoGaps).map_err(Failure::work)?.times;
    Ok(times.instructions + times.private + times.shared)
}

#[cfg(test)]
mod tests {
    use super::super::program::LIST;
    use super::*;

    #[test]
    fn latencies_are_those_of_table_4_on_the_machine_of_every_program() {
        for listed in &LIST {
            let machine = listed.machine().expect("in the registry");
            assert_eq!(latencies(&machine).expect("runs"), [1, 23, 58, 147, 33], "{}", listed.name);
        }
    }
}
