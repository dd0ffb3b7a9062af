//! More records than memory is given, among them those of a very hot region: the same answer, in that memory.
#[path = "../examples/sweep_speed/one_file.rs"]
mod one_file;

use homenode_base::{Cost, NodeId};
use homenode_machine::{CopyCost, Machine, Matrix, models};
use homenode_sim::ThreadBinding;
use homenode_study::{Answer, InMemory, Layout, Partitioner, Question, Spill, Want, answer};
use homenode_trace::{DataSource, Merged, Op};
use one_file::OneFile;

const NODES: u32 = 4;
const MIB: usize = 1 << 20;

fn question(fold_bytes: usize) -> Question {
    let machine = |i: i64| -> Machine {
        let mut m = models::find("butterfly").expect("in the registry");
        m.shape.cores = vec![1; NODES as usize];
        m.shape.word_bytes = 4;
        m.cost.read = Matrix::uniform(NODES as usize, Cost(1), Cost(3 + i));
        (m.cost.write, m.cost.write_back) = (m.cost.read.clone(), m.cost.read.clone());
        m.cost.copy = CopyCost::linear(Cost(10 + 9 * i), Cost(2));
        m
    };
    let bindings: Vec<ThreadBinding> =
        (0..NODES).map(|t| ThreadBinding { cpu: t as u16, node: NodeId(t as u16), space: 0 }).collect();
    let mut q = Question::new((0..4).map(machine).collect(), vec![bindings; 4], vec![4, 64, 4096, 65536]);
    (q.with_replication, q.fold_bytes) = (Want::Cost, fold_bytes);
    q
}

/// Half of the references go to one region, by all threads in turn; the others sweep over 64 MiB.
fn stream(refs: u64, each: &mut dyn FnMut(&[Merged])) {
    let one = |i: u64| {
        let (thread, turn) = ((i / 2 % u64::from(NODES)) as u32, i / 2);
        let hot = 0x9000_0000 + turn * 7 % 9000 * 4;
        let addr = if i.is_multiple_of(2) { hot } else { 0x1000_0000 + turn * 4 % (64 << 20) };
        let op = if turn % 5 < 2 { Op::Write } else { Op::Read };
        let source = DataSource::Unknown;
        Merged { addr, size: 4, site: 0, thread, weight: 1, op, source, cpu_code: 0, latency_code: 0 }
    };
    let mut i = 0;
    while i < refs {
        let to = refs.min(i + 4096);
        each(&(i..to).map(one).collect::<Vec<Merged>>());
        i = to;
    }
}

fn answered(q: &Question, refs: u64, budget_bytes: usize, spill: Box<dyn Spill>) -> Answer {
    let layout = Layout { region_bytes: None, budget_bytes, spill };
    let mut partitioner = Partitioner::new(q, layout).expect("a sound question");
    stream(refs, &mut |refs| partitioner.refs(refs).expect("there is room in the file"));
    let partition = partitioner.finish().expect("there is room in the file");
    answer(q, &partition, 0..partition.regions()).expect("it can be answered")
}

fn peak_bytes() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux says");
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:")).expect("a line of it");
    line.split_whitespace().next().and_then(|n| n.parse::<usize>().ok()).expect("a number") << 10
}

#[test]
fn a_sweep_stays_within_its_memory() {
    let slow = std::env::var_os("HOMENODE_SLOW").is_some();
    let (refs, budget) = if slow { (60_000_000, 32 * MIB) } else { (1_000_000, MIB / 2) };
    let fold = budget / 2;
    let file = Box::new(OneFile::new().expect("a file for spilled records"));
    let within = answered(&question(fold), refs, budget, file);
    let peak = peak_bytes();
    let free = answered(&question(usize::MAX), refs, usize::MAX, Box::new(InMemory::default()));
    assert_eq!(within, free);
    assert_eq!(within.refs, refs);
    // The program itself, states of blocks of the hot region, and what allocators keep.
    let other = 64 * MIB;
    assert!(peak < budget + fold + other, "{} MiB", peak / MIB);
    if slow {
        assert!(peak_bytes() > budget + fold + 2 * other, "without a budget it takes more: {} MiB", peak_bytes() / MIB);
    }
}
