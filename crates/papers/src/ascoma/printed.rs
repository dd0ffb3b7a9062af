//! What the study's own numbers allow: bounds that need no run.
use homenode_judging::doc::Table;

/// Table 4: local and remote memory, in cycles.
const LOCAL: f64 = 58.0;
const REMOTE: f64 = 147.0;
/// Cycles of an interrupt and a relocation, refetches before one (sections 4.1, 5.1).
const RELOCATION: f64 = 2000.0 + 6000.0;
const THRESHOLD: f64 = 32.0;

/// Most that saving all remote misses can be of the time, in percent, where the processor does nothing but miss.
fn most_saved(remote_share: f64, remote: f64) -> f64 {
    let stalled = remote_share * remote + (1.0 - remote_share) * LOCAL;
    100.0 * remote_share * (remote - LOCAL) / stalled
}

/// Cycles of a remote miss from which on saving all of them can be so many percent of the time.
fn least_latency(remote_share: f64, percent: f64) -> f64 {
    let part = percent / 100.0;
    LOCAL * (remote_share + part * (1.0 - remote_share)) / (remote_share * (1.0 - part))
}

/// Most that relocations and the refetches before them can be of the time of an LU factorisation, in percent: a node does its
/// part of 2/3 n^3 operations, no two in a cycle.
fn relocations_of_lu(relocated: f64, n: f64, nodes: f64) -> f64 {
    let paid = relocated * (RELOCATION + THRESHOLD * (REMOTE - LOCAL)) / nodes;
    100.0 * paid / (2.0 * n * n * n / 3.0 / nodes + paid)
}

/// Bounds beside what is claimed.
pub(super) fn allows() -> Table {
    let row = |claim: &str, from: &str, allowed: String, printed: &str| {
        [claim, from, &allowed, printed].map(str::to_owned).to_vec()
    };
    Table {
        title: "what the study's own numbers allow, without a run".to_owned(),
        columns: ["claim", "from", "at most, %", "printed, %"].map(str::to_owned).to_vec(),
        rows: vec![
            row(
                "lu: hybrids over CC-NUMA",
                &format!(
                    "7 % of misses remote, 58 and 147 cycles, nothing but misses; it takes {:.0} cycles a remote miss",
                    least_latency(0.07, 33.0)
                ),
                format!("{:.1}", most_saved(0.07, REMOTE)),
                "33",
            ),
            row(
                "lu at 10 %: gain of allocating in the page cache first",
                "1606 relocations of 8000 cycles after 32 refetches, n = 1024 on 4 nodes, an operation a cycle",
                format!("{:.1}", relocations_of_lu(1606.0, 1024.0, 4.0)),
                "5",
            ),
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_met_with_equality() {
        // 7 of 100 misses: 93 x 58 + 7 x 147 = 6423 cycles, of which 7 x 89 = 623 can be saved.
        assert!((most_saved(0.07, REMOTE) - 100.0 * 623.0 / 6423.0).abs() < 1e-9);
        assert!((most_saved(0.07, least_latency(0.07, 33.0)) - 33.0).abs() < 1e-9);
        // A relocation and 32 refetches: 10848 cycles; 1000 x 2/3 operations.
        assert!((relocations_of_lu(1.0, 10.0, 1.0) - 100.0 * 10_848.0 / (2000.0 / 3.0 + 10_848.0)).abs() < 1e-9);
    }
}
