//! The same program under several regimes, one after the other.
use super::{RunRequest, followed, words};
use crate::live::doc::{ActDoc, RUN_SCHEMA, Regime};
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
    let mut regime = Regime {
        name: name.to_owned(),
        ran: false,
        note: String::new(),
        seconds: 0.0,
        exit_status: None,
        locality: None,
        mean_cost: None,
        moved_pages: 0,
        kernel_moves: 0,
        bytes_on_nodes: Vec::new(),
    };
    // Homenode works beside whatever the kernel does; the others are what their names say.
    let switched = match name {
        "homenode" => None,
        "autonuma" => match Switched::to(true) {
            Ok(switched) => Some(switched),
            Err(why) => {
                regime.note = why;
                return Ok(regime);
            }
        },
        _ => match Switched::to(false) {
            Ok(switched) => Some(switched),
            Err(why) => {
                regime.note = format!("the kernel's balancing stays on: {why}");
                None
            }
        },
    };
    let policy = (name == "interleave").then(|| interleave(true)).transpose()?;
    let before = moves_so_far();
    let mut one = ActDoc::new(RUN_SCHEMA, "live");
    let options = LiveOptions { journal: None, ..request.options.clone() };
    let request = RunRequest { options, ..request.clone() };
    let done = followed(&request, here, &mut one, name == "homenode", progress);
    if policy.is_some() {
        interleave(false)?;
    }
    drop(switched);
    let (live, _) = done?;
    regime.ran = true;
    (regime.seconds, regime.exit_status) = (one.seconds, one.exit_status);
    regime.locality = live.locality.after;
    regime.mean_cost = live.mean_cost_after;
    regime.moved_pages = live.moved_pages;
    regime.kernel_moves = moves_so_far().saturating_sub(before);
    regime.bytes_on_nodes = one.nodes.iter().map(|n| (n.node, n.after_bytes)).collect();
    Ok(regime)
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
