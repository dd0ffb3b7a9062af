//! Bandwidth in words: what first touch asks of memories, and which policy asks for less.
use crate::compare::{is_named, share};
use crate::units::percent;
use homenode_base::TotalCost;
use homenode_sim::Evaluation;
use homenode_sim::evaluation::{Bottleneck, Traffic, TrafficRow};

/// Parts of a time above which a difference is worth a reader's time.
const SHORT: f64 = 0.05;

/// By what part of its time a policy takes longer; `None` where that was not looked at.
pub(crate) fn longer(e: &Evaluation, policy: &str) -> Option<f64> {
    let row = e.traffic.as_ref()?.policies.iter().find(|row| row.name == policy)?;
    Some(share(row.longer, row.time))
}

/// Whether any policy waits for bandwidth.
pub(crate) fn matters(e: &Evaluation) -> bool {
    e.traffic.iter().flat_map(|t| &t.policies).any(|row| row.longer > TotalCost::ZERO)
}

/// What first touch asks of memories, beside what they serve: a sentence.
pub(crate) fn sentence(e: &Evaluation) -> Option<String> {
    let traffic = e.traffic.as_ref()?;
    let base = first_touch(traffic)?;
    let Some(most) = &base.most else {
        return Some("bandwidth: under first touch no memory is asked for more than it is known to serve".to_owned());
    };
    // Without the time of a run nobody knows what is computed between references.
    let computing = match traffic.reference_ps {
        Some(_) => "about",
        None => "at most",
    };
    Some(format!(
        "bandwidth, not in the costs: first touch takes {computing} {} longer, {}{}",
        percent(share(base.longer, base.time)),
        asked(most),
        better(e, traffic, base).unwrap_or_default()
    ))
}

/// As [`sentence`], where it speaks against "nothing to change": first touch takes longer than if its lines were spread over all memories. With
/// what would tell, as an imperative clause.
pub fn short(e: &Evaluation) -> Option<(String, &'static str)> {
    let traffic = e.traffic.as_ref()?;
    let base = first_touch(traffic)?;
    let words = sentence(e).filter(|_| share(whole(base) - base.evenly, base.evenly) > SHORT)?;
    let interleave = traffic.policies.iter().find(|row| row.name == "interleave");
    let is_less = interleave.is_some_and(|row| share(whole(base) - whole(row), whole(base)) > SHORT);
    Some((
        format!("B{}.", words.strip_prefix('b')?),
        if is_less { "run it with `numactl --interleave=all`" } else { "" },
    ))
}

/// Time of a policy with what bandwidth adds.
fn whole(row: &TrafficRow) -> TotalCost {
    row.time + row.longer
}

fn first_touch(traffic: &Traffic) -> Option<&TrafficRow> {
    traffic.policies.iter().find(|row| is_named(&row.name, "first touch"))
}

fn asked(most: &Bottleneck) -> String {
    let who = most.from.map_or(String::new(), |node| format!(" from node {node}"));
    format!(
        "for want of node {}'s memory, asked for {}{who} where it serves {}",
        most.home,
        rate(most.asked_mbs),
        rate(most.serves_mbs)
    )
}

/// `57.7 GB/s`.
fn rate(mbs: u64) -> String {
    format!("{:.1} GB/s", mbs as f64 / 1e3)
}

/// The policy that takes least time with what bandwidth adds, where its costs alone would not say so and the difference is worth a reader's time.
fn better(e: &Evaluation, traffic: &Traffic, base: &TrafficRow) -> Option<String> {
    let best = traffic.policies.iter().min_by_key(|row| whole(row))?;
    let cost = |name: &str| e.policies.iter().find(|p| p.name == name).map(|p| p.total);
    let less = share(whole(base) - whole(best), whole(base));
    let by_cost = cost(&best.name)? < cost(&base.name)?;
    (less > SHORT && !by_cost).then(|| format!("; {}, which costs more, takes {} less time", best.name, percent(less)))
}
