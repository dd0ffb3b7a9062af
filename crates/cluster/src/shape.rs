//! Shapes of clusters: nodes x processors of each.
use homenode_hlrc::MAX_NODES;
use homenode_machine::Machine;

/// Most processors a node, and of a cluster.
const PROCESSORS_MAX: [u16; 2] = [64, 4096];

/// Nodes and processors of each.
pub type Shape = (u16, u16);

/// Reads a shape such as `4x4`.
///
/// # Errors
/// It is none.
pub fn shape(word: &str) -> Result<Shape, String> {
    let number = |text: &str, most: u16| text.parse().ok().filter(|n| (1..=most).contains(n));
    let [each, all] = PROCESSORS_MAX;
    let shape = word.split_once('x').and_then(|(n, of)| Some((number(n, MAX_NODES as u16)?, number(of, each)?)));
    shape.filter(|(nodes, of)| u32::from(*nodes) * u32::from(*of) <= all.into()).ok_or_else(|| {
        format!(
            "'{word}' is not nodes x processors of each, such as 4x4, at most {MAX_NODES} nodes, {each} processors each and {all} in all"
        )
    })
}

/// A machine in another shape.
#[must_use]
pub fn shaped(machine: &Machine, (nodes, each): Shape) -> Machine {
    let mut machine = machine.clone();
    machine.shape.cores = vec![each; nodes.into()];
    machine
}
