//! What is asked: 13 block sizes on up to 64 machines, optimum with replication.
use homenode_base::{Cost, NodeId};
use homenode_machine::{CopyCost, Machine, Matrix, models};
use homenode_sim::ThreadBinding;
use homenode_study::{Question, Vectors, Want};

/// Threads of the synthetic kernels, and nodes of all machines.
pub(crate) const NODES: u32 = 8;
/// Machines of the whole question.
pub(crate) const MACHINES: usize = 64;

/// Machines with r from 2 to 65 and R in proportion to it; thread t sits on node t modulo the number of nodes.
pub(crate) fn question(machines: usize, threads: u32, vectors: Vectors) -> Question {
    let machine = |i: usize| -> Machine {
        let mut m = models::find("butterfly").expect("in the registry");
        m.name = format!("m{i}");
        m.shape.cores = vec![1; NODES as usize];
        m.shape.word_bytes = 4;
        m.cost.read = Matrix::uniform(NODES as usize, Cost(1), Cost(2 + i as i64));
        (m.cost.write, m.cost.write_back) = (m.cost.read.clone(), m.cost.read.clone());
        m.cost.copy = CopyCost::linear(Cost(10 + 7 * i as i64), Cost(2));
        m
    };
    let binding = |t: u32| ThreadBinding { cpu: (t % NODES) as u16, node: NodeId((t % NODES) as u16), space: 0 };
    let bindings: Vec<ThreadBinding> = (0..threads).map(binding).collect();
    let blocks = (2..=14).map(|b| 1 << b).collect();
    let mut q = Question::new((0..machines).map(machine).collect(), vec![bindings; machines], blocks);
    q.with_replication = Want::Cost;
    q.vectors = vectors;
    q
}
