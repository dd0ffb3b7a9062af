//! The same program under several regimes, one after the other.
use super::{RunRequest, followed, words};
use crate::live::doc::{ActDoc, LiveDoc, RUN_SCHEMA, Regime};
use crate::live::kernel::{Switched, moves_so_far};
use crate::live::{Here, LiveOptions};
use crate::{Failure, Progress};
use homenode_sys::numa::{self, Mode};

/// The regimes, in the order of the report.
const KNOWN: [&str; 4] = ["first-touch", "interleave", "autonuma", "homenode"];

pub(super) fn compare(request: &RunRequest, progress: &mut dyn Progress) -> Result<ActDoc, Failure> {
    if let Some(unknown) = request.compare.iter().find(|r| !KNOWN.contains(&r.as_str())) {
        return Err(Failure::usage(format!(
            "--compare: there is no regime '{unknown}'; known are {}",
            KNOWN.join(", ")
        )));
    }
    if request.plan.is_some() {
        return Err(Failure::usage("--compare and --plan do not go together: run the plan by itself"));
    }
    let here = Here::read()?;
    let mut doc = ActDoc::new(RUN_SCHEMA, "compare");
    doc.command = words(&request.command);
    for name in &request.compare {
        progress.at(name, 0, None);
        doc.regimes.push(regime(name, request, &here, progress)?);
    }
    doc.exit_status = doc.regimes.iter().filter(|r| r.ran).filter_map(|r| r.exit_status).find(|s| *s != 0).or(Some(0));
    doc.seconds = doc.regimes.iter().map(|r| r.seconds).sum();
    doc.notes.push(
        "times include sampling; in a virtual machine that models no remote memory they say nothing about placement, \
         the mean cost by the machine model does"
            .to_owned(),
    );
    if here.one_node() {
        doc.notes.push(crate::live::ONE_NODE.to_owned());
    }
    Ok(doc)
}

fn regime(name: &str, request: &RunRequest, here: &Here, progress: &mut dyn Progress) -> Result<Regime, Failure> {
    let mut regime = Regime { name: name.to_owned(), ..Regime::default() };
    // Homenode works beside whatever the kernel does; the others are what their names say.
    let switched = (name != "homenode").then(|| Switched::to(name == "autonuma"));
    match &switched {
        Some(Err(why)) if name == "autonuma" => {
            regime.note.clone_from(why);
            return Ok(regime);
        }
        Some(Err(why)) => regime.note = format!("the kernel's balancing stays on: {why}"),
        _ => {}
    }
    let interleaved = name == "interleave";
    if interleaved {
        interleave(true)?;
    }
    let before = moves_so_far();
    let mut one = ActDoc::new(RUN_SCHEMA, "live");
    let options = LiveOptions { journal: None, record: None, ..request.options.clone() };
    let request = RunRequest { options, ..request.clone() };
    let done = followed(&request, here, &mut one, name == "homenode", progress);
    if interleaved {
        interleave(false)?;
    }
    drop(switched);
    match done {
        Ok(live) => report(&mut regime, &one, live.map(|l| l.0), moves_so_far().saturating_sub(before)),
        Err(why) => regime.note = why.to_string(),
    }
    Ok(regime)
}

fn report(regime: &mut Regime, one: &ActDoc, live: Option<LiveDoc>, kernel_moves: u64) {
    regime.ran = true;
    (regime.seconds, regime.exit_status) = (one.seconds, one.exit_status);
    match live {
        Some(live) => {
            (regime.locality, regime.mean_cost) = (live.locality.after, live.mean_cost_after);
            regime.moved_pages = live.moved_pages;
        }
        None if regime.note.is_empty() => regime.note = one.notes.join("; "),
        None => {}
    }
    regime.kernel_moves = kernel_moves;
    regime.bytes_on_nodes = one.nodes.iter().map(|n| (n.node, n.after_bytes)).collect();
}

/// The policy that programs started from now on inherit.
fn interleave(on: bool) -> Result<(), Failure> {
    let set = if on {
        numa::allowed_nodes().and_then(|nodes| numa::set_mempolicy(Mode::Interleave as i32, &nodes))
    } else {
        numa::set_mempolicy(Mode::Default as i32, &[])
    };
    set.map_err(|e| Failure::work(format!("the kernel refuses to interleave memory: {e}")))
}
