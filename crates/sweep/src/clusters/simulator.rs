//! Doing tasks of clusters.
use super::columns::{cells, columns, varied};
use super::{clusters, refused, runs};
use crate::resolved::ResolvedStudy;
use crate::task::ClusterTask;
use homenode_cluster::{Bound, run};
use homenode_command::Failure;
use homenode_command::gaps::Source;
use homenode_table::Table;

/// Does tasks, and keeps what those of the same trace on the same cluster have in common: instructions between references, shared pages and the
/// time of one processor.
#[derive(Default)]
pub(crate) struct Simulator<'a> {
    source: Option<(usize, Source<'a>)>,
    bound: Option<((usize, usize), Bound<'a>)>,
}

impl<'a> Simulator<'a> {
    /// The rows of a task; `told` hears of references that were run.
    ///
    /// # Errors
    /// A trace that cannot be read, or does not fit the cluster.
    pub(crate) fn rows(
        &mut self,
        resolved: &'a ResolvedStudy,
        task: ClusterTask,
        told: &mut dyn FnMut(u64),
    ) -> Result<Table, Failure> {
        let all = clusters(resolved);
        let (cluster, trace) = (&all[task.cluster], &resolved.traces[task.trace]);
        let reader = trace.reader()?;
        if self.source.as_ref().is_none_or(|(number, _)| *number != task.trace) {
            self.bound = None;
            self.source = Some((task.trace, Source::new(reader, 1.0)));
        }
        let Simulator { source: Some((_, source)), bound } = self else { unreachable!("it was made just now") };
        let of = (task.trace, task.cluster);
        if bound.as_ref().is_none_or(|(known, _)| *known != of) {
            let made = cluster.question(resolved).bind(reader, source.run());
            *bound = Some((of, made.map_err(|e| refused(resolved, task, e))?));
        }
        let (_, bound) = bound.as_ref().expect("it was bound just now");
        let parameters = varied(resolved);
        let mut table = Table::new(columns(&parameters));
        for (done, number) in (1..).zip(runs(resolved, cluster, task)) {
            let (step, what_ifs) = cluster.run(number);
            let row = run(&bound.with(&what_ifs), step, || source.run()).map_err(|e| refused(resolved, task, e))?;
            table.push(cells((&trace.label, cluster), &parameters, &what_ifs, &row));
            told(done * trace.refs);
        }
        let note = source.known().notes().join("; ");
        Ok(table.named("", note))
    }
}
