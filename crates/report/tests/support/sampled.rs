//! The rich report as if its recording had been sampled.
use super::{evaluation, manifest};
use homenode_report::{Provenance, ReportDoc};
use homenode_sim::evaluation::{Interval, SampleSpread, SampledTotals, SourceRow};
use homenode_trace::{DataSource, SampleUnit, Sampling};

/// How it was sampled.
pub(crate) fn sampling(unit: SampleUnit) -> Sampling {
    Sampling {
        unit,
        event: "cpu/mem-loads,ldlat=30/P".into(),
        period: 1_009,
        lost: 412,
        unaddressed: 3,
        sees_writes: unit != SampleUnit::Miss,
        kernel_moves: (unit == SampleUnit::Reference).then_some(17),
        elapsed_ns: 0,
    }
}

/// What was counted.
pub(crate) fn counted() -> SampledTotals {
    let row = |source: DataSource, samples: u64| SourceRow {
        source,
        samples,
        weight: samples * 1_009,
        charged: source.placement_matters(),
    };
    let sources = vec![
        row(DataSource::Cache, 1_200),
        row(DataSource::LocalMemory, 6_400),
        row(DataSource::RemoteMemory, 5_100),
        row(DataSource::RemoteModified, 300),
    ];
    let sum = |f: fn(&SourceRow) -> u64| sources.iter().map(f).sum();
    SampledTotals { samples: sum(|r| r.samples), weight: sum(|r| r.weight), sources: sources.clone() }
}

/// A sampled report.
pub(crate) fn report(unit: SampleUnit) -> ReportDoc {
    let mut m = manifest(13_000);
    m.mark_sampled(sampling(unit));
    m.backend = "perf".into();
    let mut e = evaluation();
    e.false_sharing.clear();
    e.findings.truncate(2);
    e.predicted_all = None;
    e.optimum.drain(..2);
    e.optimum[0].exact = false;
    e.totals.sampled = Some(counted());
    e.spread = Some(SampleSpread { charged: 11_500, effective: 4_210.4, design_effect: 2.2 });
    let around = |share: f64| Interval { low: (share - 0.021).max(0.0), high: share + 0.023 };
    let total = e.policies[0].total;
    e.objects.iter_mut().for_each(|o| o.share_interval = Some(around(o.cost.ratio_to(total))));
    e.findings.iter_mut().for_each(|f| f.saving_interval = Some(around(f.saving_share)));
    ReportDoc::new(&m, Provenance::from_manifest(&m, "stencil.hnt", "0.1.0", "model"), vec![e])
}
