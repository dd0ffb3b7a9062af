//! The matrix of firmware distances.
use super::nodes::{NODES, NodeList};
use super::tree::Tree;

/// Distance of a node to itself by definition.
const OWN: u16 = 10;
/// Distance to another node where the firmware says nothing, as the kernel assumes.
const OTHER: u16 = 20;

/// Square over the nodes, repaired where rows are missing; empty if no node says anything usable.
pub(super) fn read(tree: &mut Tree, found: &NodeList) -> Vec<Vec<u16>> {
    let ids: Vec<u32> = found.nodes.iter().map(|n| n.os_id).collect();
    let rows: Vec<Option<Vec<u16>>> = ids.iter().map(|&id| row(tree, id, &ids, found)).collect();
    if rows.iter().all(Option::is_none) {
        return Vec::new();
    }
    let missing: Vec<u32> = ids.iter().zip(&rows).filter(|(_, r)| r.is_none()).map(|(id, _)| *id).collect();
    if !missing.is_empty() {
        tree.notes.push(format!("distances from nodes {missing:?} are unknown: as in the other direction"));
    }
    let cell = |i: usize, j: usize| match (&rows[i], &rows[j]) {
        (Some(row), _) => row[j],
        (None, Some(other)) => other[i],
        (None, None) => {
            if i == j {
                OWN
            } else {
                OTHER
            }
        }
    };
    let n = ids.len();
    let matrix: Vec<Vec<u16>> =
        (0..n).map(|i| (0..n).map(|j| if i == j && rows[i].is_none() { OWN } else { cell(i, j) }).collect()).collect();
    note_oddities(tree, &ids, &matrix);
    matrix
}

/// One node's row over `ids`. The kernel writes one value per online node; some versions count the possible ones.
fn row(tree: &mut Tree, id: u32, ids: &[u32], found: &NodeList) -> Option<Vec<u16>> {
    let file = format!("{NODES}/node{id}/distance");
    let text = tree.text(&file)?;
    let values: Option<Vec<u16>> = text.split_whitespace().map(|w| w.parse().ok()).collect();
    let Some(values) = values.filter(|v| !v.is_empty()) else {
        tree.notes.push(format!("{file}: not a row of distances; ignored"));
        return None;
    };
    let columns = [&found.online, &found.possible].into_iter().find(|c| c.len() == values.len());
    let place = columns.and_then(|c| ids.iter().map(|id| c.iter().position(|o| o == id)).collect::<Option<Vec<_>>>());
    let Some(place) = place else {
        tree.notes.push(format!("{file}: {} distances for {} nodes; ignored", values.len(), found.online.len()));
        return None;
    };
    Some(place.into_iter().map(|p| values[p]).collect())
}

fn note_oddities(tree: &mut Tree, ids: &[u32], matrix: &[Vec<u16>]) {
    let n = ids.len();
    let asymmetric = (0..n).flat_map(|i| (0..i).map(move |j| (j, i))).find(|&(i, j)| matrix[i][j] != matrix[j][i]);
    if let Some((i, j)) = asymmetric {
        let (there, back) = (matrix[i][j], matrix[j][i]);
        tree.notes.push(format!("distances are not symmetric: node {} to {} is {there}, back {back}", ids[i], ids[j]));
    }
    let nearer = (0..n).find(|&i| matrix[i].iter().any(|d| *d < matrix[i][i]));
    if let Some(i) = nearer {
        tree.notes
            .push(format!("node {} is nearer to another node than to itself: repaired where costs are made", ids[i]));
    }
}
