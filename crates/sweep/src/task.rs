//! What there is to do, in pieces that any worker can do by itself; as JSON they go to another process or machine.
use serde::{Deserialize, Serialize};

/// Something to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Task {
    /// Cut a replay into regions.
    Partition(usize),
    /// Answer for a group of regions and a batch of machines.
    Unit(Unit),
    /// Analyse a trace.
    Analysis(AnalysisTask),
    /// Run a trace on a cluster.
    Cluster(ClusterTask),
}

/// Some runs of one trace on one cluster, by their numbers in the study.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClusterTask {
    /// Number of the trace.
    pub trace: usize,
    /// Number of the machine in a shape.
    pub cluster: usize,
    /// Number of the batch of runs.
    pub batch: usize,
}

/// One analysis of one trace, by their numbers in the study.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnalysisTask {
    /// Number of the trace.
    pub trace: usize,
    /// Number of the analysis.
    pub analysis: usize,
}

/// One unit: the answer of a group of regions and a batch of machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Unit {
    /// Number of the replay: a trace in one order.
    pub replay: usize,
    /// Number of the group of regions in the plan of the replay.
    pub group: usize,
    /// Number of the batch of machines.
    pub batch: usize,
}
