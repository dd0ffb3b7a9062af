//! Pictures: figures 1.3 to 1.7, and 1.9.
use super::measure::{MEASURED, SIMULATED, Study};
use super::runs::Runs;
use super::settings::{CLUSTERS, LADDER, SWEEPS, Setting};
use homenode_judging::figure::Figure;
use homenode_reproducing::stacked::Stacked;
use homenode_study::analyses::Series;

/// Figures 1.3 to 1.7 as lines.
pub(super) fn figures(study: &Study<'_>) -> Vec<Figure> {
    let mut all: Vec<Figure> = SWEEPS
        .iter()
        .map(|sweep| {
            let line = |(name, r): (&'static str, &Runs)| {
                let best = r.cycles(&Setting::point(sweep, sweep.points[0]));
                let point = |p: &u64| (*p as f64, r.cycles(&Setting::point(sweep, *p)) / best);
                Series { label: name.into(), points: sweep.points.iter().map(point).collect() }
            };
            Figure {
                name: format!("bilas-{}", sweep.parameter),
                title: format!("figure {}: time over that at the best point, by {}", sweep.figure, sweep.parameter),
                axes: [AXES[SWEEPS.iter().position(|s| s.figure == sweep.figure).unwrap_or(0)], "times"],
                lines: study.rows(SIMULATED).map(line).collect(),
                ..Figure::default()
            }
        })
        .collect();
    let line = |(name, r): (&'static str, &Runs)| {
        let points = CLUSTERS.map(|c| (f64::from(c), r.speedup(&Setting::clustered(c))));
        Series { label: name.into(), points: points.into() }
    };
    all.push(Figure {
        name: "bilas-clusters".into(),
        title: "figure 1.7: speedup on 16 processors".into(),
        axes: ["processors of a node", "speedup"],
        lines: study.rows(SIMULATED).map(line).collect(),
        ..Figure::default()
    });
    all
}

const AXES: [&str; 4] =
    ["cycles to issue, and to deliver", "bytes a thousand cycles", "cycles a message", "cycles a packet"];

/// Figure 1.9: where the time goes, step by step.
pub(super) fn stacks(study: &Study<'_>) -> Vec<Stacked> {
    let bar = |name: &str, r: &Runs, setting: &Setting, label: &str| {
        let o = r.get(setting)?;
        let one = r.get(&Setting::measured("base")).map_or(o.cycles, |b| b.cycles).max(1) as f64;
        let of = |cycles: u64| cycles as f64 / o.processors.max(1) as f64 / one;
        let spent = [o.compute, o.local, o.data, o.lock, o.barrier, o.interrupted];
        let rest = (o.cycles * o.processors).saturating_sub(spent.iter().sum());
        Some((format!("{name} {label}"), spent.into_iter().chain([rest]).map(of).collect()))
    };
    let bars = study
        .rows(MEASURED)
        .flat_map(|(name, r)| LADDER.iter().filter_map(move |step| bar(name, r, &Setting::measured(step), step)));
    vec![Stacked {
        name: "bilas-ladder".into(),
        title: "figure 1.9: where the time of processors goes, step by step".into(),
        axis: "time over that of Base",
        pieces: vec!["compute", "local", "pages", "locks", "barriers", "interrupted", "other"],
        bars: bars.collect(),
    }]
}
