//! Distances between the nodes of a guest, as the firmware's table (ACPI SLIT) states them: 10 is local.
use anyhow::{Context, ensure};
use std::path::PathBuf;

/// Distance of a node to itself.
const LOCAL: u32 = 10;
/// What each hop adds.
const HOP: u32 = 10;

/// How the nodes are connected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Every node one hop from every other.
    Flat,
    /// Node k beside k - 1 and k + 1.
    Ring,
    /// Hops between nodes: as many as their numbers differ in bits.
    Hypercube,
    /// A square matrix of numbers in a text file.
    File(PathBuf),
}

impl Shape {
    /// Never fails: what is no name is a path, read by [`Shape::distances`].
    pub(crate) fn parse(text: &str) -> Result<Shape, std::convert::Infallible> {
        Ok(match text {
            "flat" => Shape::Flat,
            "ring" => Shape::Ring,
            "hypercube" => Shape::Hypercube,
            path => Shape::File(path.into()),
        })
    }

    /// The square matrix of `all` nodes of which the first `with_cpus` have processors; each of the others hangs on one of
    /// these by one more hop.
    pub(crate) fn distances(&self, with_cpus: usize, all: usize) -> anyhow::Result<Vec<Vec<u32>>> {
        let hops: fn(usize, usize, usize) -> usize = match self {
            Shape::Flat => |i, j, _| usize::from(i != j),
            Shape::Ring => |i, j, n| i.abs_diff(j).min(n - i.abs_diff(j)),
            Shape::Hypercube => {
                ensure!(with_cpus.is_power_of_two(), "a hypercube of {with_cpus} nodes: not a power of two");
                |i, j, _| (i ^ j).count_ones() as usize
            }
            Shape::File(path) => {
                let text = std::fs::read_to_string(path).with_context(|| {
                    format!("--topology {}: neither flat, ring, hypercube nor a file", path.display())
                })?;
                return matrix(&text, all).with_context(|| format!("--topology {}", path.display()));
            }
        };
        let detour = |i: usize| usize::from(i >= with_cpus);
        let distance = |i: usize, j: usize| {
            let between = hops(i % with_cpus, j % with_cpus, with_cpus) + detour(i) + detour(j);
            LOCAL + if i == j { 0 } else { HOP * u32::try_from(between).unwrap_or(u32::MAX / HOP - 1) }
        };
        let rows: Vec<Vec<u32>> = (0..all).map(|i| (0..all).map(|j| distance(i, j)).collect()).collect();
        check(&rows, all)?;
        Ok(rows)
    }
}

/// A matrix in text form: a row a line, numbers between blanks or commas, `#` begins a comment.
fn matrix(text: &str, size: usize) -> anyhow::Result<Vec<Vec<u32>>> {
    let lines = text.lines().map(|l| l.split('#').next().unwrap_or("").trim()).filter(|l| !l.is_empty());
    let number = |w: &str| w.parse::<u32>().with_context(|| format!("`{w}` is no distance"));
    let row = |l: &str| l.split([' ', '\t', ',']).filter(|w| !w.is_empty()).map(number).collect();
    let rows = lines.map(row).collect::<anyhow::Result<Vec<Vec<u32>>>>()?;
    check(&rows, size)?;
    Ok(rows)
}

/// What the kernel believes: diagonal 10, all else larger, and below 255 (which means unreachable).
fn check(rows: &[Vec<u32>], size: usize) -> anyhow::Result<()> {
    ensure!(rows.len() == size && rows.iter().all(|r| r.len() == size), "{size} rows of {size} distances are needed");
    for (i, row) in rows.iter().enumerate() {
        for (j, &d) in row.iter().enumerate() {
            let fits = if i == j { d == LOCAL } else { (LOCAL + 1..255).contains(&d) };
            ensure!(fits, "distance {d} from node {i} to node {j}: the diagonal must be 10, all else 11 to 254");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first_row(shape: &Shape, with_cpus: usize, all: usize) -> Vec<u32> {
        shape.distances(with_cpus, all).unwrap()[0].clone()
    }

    #[test]
    fn shapes_have_their_hops() {
        assert_eq!(first_row(&Shape::Flat, 3, 3), [10, 20, 20]);
        assert_eq!(first_row(&Shape::Ring, 4, 4), [10, 20, 30, 20]);
        assert_eq!(first_row(&Shape::Ring, 8, 8), [10, 20, 30, 40, 50, 40, 30, 20]);
        assert_eq!(first_row(&Shape::Hypercube, 8, 8), [10, 20, 20, 30, 20, 30, 30, 40]);
        for shape in [Shape::Flat, Shape::Ring, Shape::Hypercube] {
            let m = shape.distances(4, 6).unwrap();
            assert!((0..6).all(|i| (0..6).all(|j| m[i][j] == m[j][i])), "{shape:?} is symmetric");
        }
    }

    #[test]
    fn memory_only_nodes_hang_one_hop_off() {
        // Node 2 hangs on node 0, node 3 on node 1.
        let m = Shape::Flat.distances(2, 4).unwrap();
        assert_eq!(m, [[10, 20, 20, 30], [20, 10, 30, 20], [20, 30, 10, 40], [30, 20, 40, 10]]);
    }

    #[test]
    fn files_are_read_and_checked() {
        assert_eq!(matrix("# two\n10, 15 # asymmetric\n\n40\t10\n", 2).unwrap(), [[10, 15], [40, 10]]);
        for (text, word) in [
            ("10 20", "2 rows"),
            ("10 20\n20", "2 rows"),
            ("11 20\n20 10", "from node 0 to node 0"),
            ("10 10\n20 10", "from node 0 to node 1"),
            ("10 255\n20 10", "distance 255"),
            ("10 far\n20 10", "`far`"),
            ("10 -5\n20 10", "`-5`"),
        ] {
            assert!(format!("{:#}", matrix(text, 2).unwrap_err()).contains(word), "{text}");
        }
        assert!(Shape::Hypercube.distances(3, 3).is_err());
        // 25 hops cannot be told from "unreachable".
        assert!(Shape::Ring.distances(50, 50).is_err());
    }
}
