//! Questions, traces and machines for tests, and the comparison with the plain engine.
#![allow(dead_code, reason = "each test binary uses a part")]
use homenode_base::{Cost, NodeId, Rng};
use homenode_machine::{CopyCost, GlobalMemory, Machine, Matrix, models};
use homenode_placement::policies::{ALL, Choice};
use homenode_sim::ThreadBinding;
use homenode_study::{Answer, InMemory, Layout, Partition, Partitioner, Question, Vectors, Want, answer, plain};
use homenode_trace::{DataSource, Merged, Op};

/// A machine of the registry.
pub(crate) fn model(name: &str) -> Machine {
    models::find(name).expect("in the registry")
}

/// What a single-remote machine is made of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Single {
    pub(crate) nodes: u16,
    pub(crate) near: i64,
    /// Excess of a read from afar and of a write; `None`: no remote access.
    pub(crate) far: Option<(i64, i64)>,
    pub(crate) copy: i64,
    pub(crate) per_word: i64,
    /// Access, copy.
    pub(crate) global: Option<(i64, i64)>,
}

/// A machine with one remote cost and words of four bytes.
pub(crate) fn single(s: Single) -> Machine {
    let mut m = model("butterfly");
    m.name = format!("{s:?}").replace(char::is_whitespace, "");
    m.shape.cores = vec![1; usize::from(s.nodes)];
    m.shape.word_bytes = 4;
    let far = s.far.unwrap_or((1, 1));
    let matrix = |beyond: i64| Matrix::uniform(usize::from(s.nodes), Cost(s.near), Cost(s.near + beyond));
    (m.cost.read, m.cost.write) = (matrix(far.0), matrix(far.1));
    m.cost.write_back = m.cost.write.clone();
    m.cost.remote_access = s.far.is_some();
    m.cost.copy = CopyCost::linear(Cost(s.copy), Cost(s.per_word));
    m.cost.global = s.global.map(|(access, copy)| GlobalMemory {
        access: Cost(access),
        copy: CopyCost::linear(Cost(copy), Cost(s.per_word)),
    });
    m.sections.caches = None;
    m
}

/// A random one with this many nodes.
pub(crate) fn random_single(rng: &mut Rng, nodes: u16) -> Machine {
    let small = |rng: &mut Rng| if rng.chance(1, 8) { rng.below(100_000) as i64 } else { rng.below(60) as i64 };
    let near = rng.below(3) as i64;
    let equal = small(rng) + 1;
    let far = if rng.chance(1, 2) { (equal, equal) } else { (small(rng), small(rng)) };
    let least = far.0.min(far.1);
    let copy = small(rng);
    // R <= 2G, as the model asks: else a way through global memory is cheaper but takes two accesses.
    let global = rng.chance(1, 2).then(|| {
        let more = if rng.chance(1, 2) { 0 } else { small(rng) };
        (near + rng.below(least.max(0) as u64 + 1) as i64, (copy + 1) / 2 + more)
    });
    let far = if global.is_none() && rng.chance(1, 5) { None } else { Some(far) };
    single(Single { nodes, near, far, copy, per_word: rng.below(3) as i64, global })
}

/// One thread after another on the nodes of a machine, from a random node on.
pub(crate) fn bindings(rng: &mut Rng, machine: &Machine, spaces: &[u32]) -> Vec<ThreadBinding> {
    let cpus: usize = machine.shape.cores.iter().map(|c| usize::from(*c)).sum();
    let first = rng.below(cpus as u64) as usize;
    let binding = |(i, space): (usize, &u32)| {
        let cpu = (first + i) % cpus;
        let mut below = 0;
        let node = machine.shape.cores.iter().position(|c| {
            below += usize::from(*c);
            cpu < below
        });
        ThreadBinding { cpu: cpu as u16, node: NodeId(node.expect("a processor is on a node") as u16), space: *space }
    };
    spaces.iter().enumerate().map(binding).collect()
}

/// A reference of four bytes.
pub(crate) fn reference(thread: u32, op: Op, addr: u64) -> Merged {
    let source = DataSource::Unknown;
    Merged { addr, size: 4, site: 0, thread, weight: 1, op, source, cpu_code: 0, latency_code: 0 }
}

/// The default policies of the registry, and some with other parameters.
pub(crate) fn policies() -> Vec<Choice> {
    let mut all: Vec<Choice> = ALL.iter().map(|s| s.choose(&[]).expect("defaults are in range")).collect();
    for text in ["ace(0)", "ace(1)", "fixed(1)", "delay(3)", "affinity(50)", "phase-static(100)", "platinum(20,300)"] {
        all.push(Choice::parse(text).expect("a policy of the registry"));
    }
    all
}

/// Everything about these machines.
pub(crate) fn question(rng: &mut Rng, machines: Vec<Machine>, blocks: Vec<u64>, spaces: &[u32]) -> Question {
    let bindings = machines.iter().map(|m| bindings(rng, m, spaces)).collect();
    let mut q = Question::new(machines, bindings, blocks);
    q.policies = policies();
    (q.best_static, q.without_replication, q.with_replication) = (Want::Parts, Want::Parts, Want::Parts);
    q
}

/// The partition of these references, in pieces.
pub(crate) fn partition(rng: &mut Rng, q: &Question, refs: &[Merged]) -> Partition {
    let largest = q.blocks.last().expect("one size").max(&1024).trailing_zeros();
    let region_bytes = (rng.chance(3, 4)).then(|| 1 << (u64::from(largest) + rng.below(u64::from(22 - largest))));
    let budget_bytes = if rng.chance(1, 2) { rng.below(20_000) as usize } else { usize::MAX };
    let layout = Layout { region_bytes, budget_bytes, spill: Box::new(InMemory::default()) };
    let mut partitioner = Partitioner::new(q, layout).expect("a sound question");
    for piece in refs.chunks(1 + rng.below(1000) as usize) {
        partitioner.refs(piece).expect("memory takes all");
    }
    let built = partitioner.finish().expect("memory takes all");
    if rng.chance(1, 2) {
        return built;
    }
    let mut bytes = Vec::new();
    let written = built.write(&mut |b| {
        bytes.extend_from_slice(b);
        Ok(())
    });
    written.expect("memory takes all");
    Partition::open(Box::new(bytes)).expect("what was written can be opened")
}

/// The folded answer, put together from parts in random order.
pub(crate) fn folded(rng: &mut Rng, q: &Question, partition: &Partition) -> Answer {
    let (mut parts, mut from) = (Vec::new(), 0);
    while from < partition.regions() || parts.is_empty() {
        let to = from + (1 + rng.below(8) as usize).min(partition.regions() - from);
        parts.push(from..to);
        from = to;
    }
    let mut sum = Answer::default();
    while !parts.is_empty() {
        let part = parts.swap_remove(rng.below(parts.len() as u64) as usize);
        sum.add(&answer(q, partition, part).expect("it can be answered")).expect("answers to one question");
    }
    sum
}

/// Asserts that both engines say the same.
pub(crate) fn same(rng: &mut Rng, q: &Question, refs: &[Merged], label: &str) {
    let expected = plain::answer(q, refs).expect("it can be answered");
    let mut otherwise = q.clone();
    otherwise.fold_bytes = [q.fold_bytes, 0, 600, 8000][rng.below(4) as usize];
    let able: Vec<Vectors> = Vectors::ALL.into_iter().filter(|v| v.available()).collect();
    otherwise.vectors = able[rng.below(able.len() as u64) as usize];
    let partition = partition(rng, q, refs);
    let got = folded(rng, &otherwise, &partition);
    for (a, b) in expected.rows.iter().zip(&got.rows) {
        assert_eq!(a, b, "{label}: plain, folded; machine {}", q.machines[a.machine as usize].name);
    }
    assert_eq!(expected, got, "{label}");
}
