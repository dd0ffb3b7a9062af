//! A recording on a machine that shares memory in hardware, which figure 1.10 has beside the clusters: CC-NUMA of `homenode_timed`, a
//! processor a node.
use super::program::Recorded;
use homenode_base::Cost;
use homenode_cluster::Question as OnCluster;
use homenode_command::Failure;
use homenode_command::gaps::Source;
use homenode_machine::costs::Matrix;
use homenode_machine::{Machine, models};
use homenode_timed::engine::Options;
use homenode_timed::memory::archs::BASE;
use homenode_timed::memory::{Question, run};

/// Name of the speedup among kept results.
const NAME: &str = "hardware";
/// Nodes.
const NODES: usize = 16;

fn known(name: &str) -> Result<Machine, Failure> {
    models::find(name).ok_or_else(|| Failure::work(format!("no machine '{name}'")))
}

/// Times that one processor with such caches and memory takes over what that machine takes.
///
/// # Errors
/// A recording that cannot be run, or a result that cannot be kept.
pub(super) fn speedup(recorded: &Recorded) -> Result<f64, Failure> {
    if let Some(known) = recorded.results.get(NAME) {
        return Ok(known);
    }
    let (mut machine, mut one) = (known("ascoma")?, known("svm-achievable")?);
    let hybrid = machine.sections.hybrid.clone().ok_or_else(|| Failure::work("ascoma has no [hybrid]"))?;
    let near_far = Matrix::uniform(NODES, Cost(hybrid.local() as i64), Cost(hybrid.remote() as i64));
    (machine.cost.read, machine.cost.write) = (near_far.clone(), near_far.clone());
    machine.cost.write_back = near_far;
    machine.shape.cores = vec![1; NODES];
    let options = Options { phase: Some(recorded.listed.phase.to_owned()), ..Options::default() };
    let source = Source::new(&recorded.reader, 1.0);
    let question = Question { machine: &machine, map: None, options: options.clone() };
    let bound = question.bind(&recorded.reader).map_err(Failure::work)?;
    let row = run(&bound, BASE, 1, || source.run()).map_err(Failure::work)?;
    if let Some(net) = one.sections.network.as_mut() {
        (net.l1_bytes, net.l2_bytes, net.l2_ways) = (hybrid.cache_bytes, hybrid.cache_bytes, 1);
        (net.l2_hit, net.memory, net.arbitration, net.bus) = (0, hybrid.local(), 0, 0);
    }
    let question = OnCluster { machine: &one, map: None, options, checks: false, faults: None };
    let bound = question.bind(&recorded.reader, source.run()).map_err(Failure::work)?;
    let speedup = bound.sequential() as f64 / row.cycles.max(1) as f64;
    recorded.results.keep(NAME, &speedup).map_err(|e| Failure::work(format!("cannot keep a result: {e}")))?;
    Ok(speedup)
}
