//! Shapes of clusters: nodes x processors of each.
use homenode_machine::Machine;

/// Most nodes, and most processors a node.
const MOST: u16 = 64;

/// Nodes and processors of each.
pub type Shape = (u16, u16);

/// Reads a shape such as `4x4`.
///
/// # Errors
/// It is none.
pub fn shape(word: &str) -> Result<Shape, String> {
    let number = |text: &str| text.parse().ok().filter(|n| (1..=MOST).contains(n));
    let shape = word.split_once('x').and_then(|(nodes, each)| Some((number(nodes)?, number(each)?)));
    shape.ok_or_else(|| format!("'{word}' is not nodes x processors of each, such as 4x4, at most {MOST}x{MOST}"))
}

/// A machine in another shape.
#[must_use]
pub fn shaped(machine: &Machine, (nodes, each): Shape) -> Machine {
    let mut machine = machine.clone();
    machine.shape.cores = vec![each; nodes.into()];
    machine
}
