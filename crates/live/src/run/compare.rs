//! One program under several regimes, one after the other.
use crate::doc::{ActDoc, LiveDoc, RUN_SCHEMA, Regime};
use crate::here::Here;
use crate::kernel::moves_so_far;
use crate::options::{LiveOptions, ONE_NODE};
use crate::run::followed::followed;
use crate::run::request::RunRequest;
use crate::watch::SIGUSR1;
use homenode_command::{Failure, Progress};
use homenode_host::balancing::Switch;
use homenode_migrate::process::{Balancing, balancing};
use homenode_sampling::hinting::Kernel;
use homenode_sys::numa::{self, Mode};
use homenode_sys::signals::StopRequests;
use std::path::Path;

/// The regimes, in the order of the report.
const KNOWN: [&str; 4] = ["first-touch", "interleave", "autonuma", "homenode"];

/// Exit statuses of programs that SIGINT and SIGTERM ended.
const STOPPED: [i32; 2] = [-2, -15];

pub(crate) fn compare(request: &RunRequest, progress: &mut dyn Progress) -> Result<ActDoc, Failure> {
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
    doc.command = request.words();
    // From before a setting of the kernel changes until it is put back: a signal in between must not kill this process.
    let stop = StopRequests::install_with(&[SIGUSR1]).ok();
    for name in &request.compare {
        progress.at(name, 0, None);
        doc.regimes.push(regime(name, request, &here, progress)?);
        // Who interrupts one regime does not want the others.
        let told = stop.as_ref().and_then(StopRequests::take).is_some_and(|signal| signal != SIGUSR1);
        if told || doc.regimes.last().and_then(|r| r.exit_status).is_some_and(|s| STOPPED.contains(&s)) {
            if doc.regimes.len() < request.compare.len() {
                doc.notes.push("interrupted: the regimes after this one were not run".to_owned());
            }
            break;
        }
    }
    doc.exit_status = doc.regimes.iter().filter(|r| r.ran).filter_map(|r| r.exit_status).find(|s| *s != 0).or(Some(0));
    doc.seconds = doc.regimes.iter().map(|r| r.seconds).sum();
    doc.notes.push(
        "times include sampling; in a virtual machine that models no remote memory they say nothing about placement, \
         the mean cost by the machine model does"
            .to_owned(),
    );
    if here.one_node() {
        doc.notes.push(ONE_NODE.to_owned());
    }
    Ok(doc)
}

fn regime(name: &str, request: &RunRequest, here: &Here, progress: &mut dyn Progress) -> Result<Regime, Failure> {
    let mut regime = Regime { name: name.to_owned(), ..Regime::default() };
    let switched = match balanced(name, request) {
        Ok(switched) => switched,
        Err(why) => {
            regime.note = why;
            return Ok(regime);
        }
    };
    let before = moves_so_far();
    let mut one = ActDoc::new(RUN_SCHEMA, "live");
    let options = LiveOptions { journal: None, record: None, ..request.options.clone() };
    let request = RunRequest { options, ..request.clone() };
    let done = {
        let _inherited = Inherited::of(name)?;
        followed(&request, here, &mut one, name == "homenode", progress)
    };
    drop(switched);
    match done {
        Ok(live) => report(&mut regime, &one, live.map(|l| l.0), moves_so_far().saturating_sub(before)),
        Err(why) => regime.note = why.to_string(),
    }
    Ok(regime)
}

/// AutoNUMA needs the kernel's balancing; the others have nothing to do with its state: first touch and interleaving run
/// under policies that it leaves alone, and Homenode works beside whatever the kernel does.
fn balanced(name: &str, request: &RunRequest) -> Result<Option<Switch>, String> {
    if name != "autonuma" {
        return Ok(None);
    }
    match balancing() {
        Balancing::Absent => Err("the kernel has no NUMA balancing".to_owned()),
        Balancing::On(mode) if mode & 1 != 0 => Ok(None),
        _ if request.options.kernel() == Kernel::Untouched => {
            Err("kernel.numa_balancing is off; --tune-kernel switches it on for the time of this regime (root)"
                .to_owned())
        }
        _ => Switch::set(Path::new("/"), true).map_err(|e| format!("only root may switch kernel.numa_balancing ({e})")),
    }
}

fn report(regime: &mut Regime, one: &ActDoc, live: Option<LiveDoc>, kernel_moves: u64) {
    regime.ran = true;
    (regime.seconds, regime.exit_status) = (one.seconds, one.exit_status);
    match live {
        Some(live) => {
            (regime.locality, regime.mean_cost) = (live.locality.whole, live.mean_cost);
            regime.moved_pages = live.moved_pages;
        }
        None if regime.note.is_empty() => regime.note = one.notes.join("; "),
        None => {}
    }
    regime.kernel_moves = kernel_moves;
    regime.bytes_on_nodes = one.nodes.iter().map(|n| (n.node, n.after_bytes)).collect();
}

/// The memory policy that programs started from now on inherit, until it is dropped. Under a policy of its own a program is
/// left alone by the kernel's balancing (no hinting faults, no moves), whatever `kernel.numa_balancing` says.
struct Inherited(bool);

impl Inherited {
    fn of(regime: &str) -> Result<Inherited, Failure> {
        let set = match regime {
            "first-touch" => numa::set_mempolicy(Mode::Local as i32, &[]),
            "interleave" => {
                numa::allowed_nodes().and_then(|nodes| numa::set_mempolicy(Mode::Interleave as i32, &nodes))
            }
            _ => return Ok(Inherited(false)),
        };
        let refused = |e| Failure::work(format!("the kernel refuses the memory policy of {regime}: {e}"));
        set.map(|()| Inherited(true)).map_err(refused)
    }
}

impl Drop for Inherited {
    fn drop(&mut self) {
        if self.0 {
            // It is this process's own policy, which the kernel never refuses to reset.
            let _ = numa::set_mempolicy(Mode::Default as i32, &[]);
        }
    }
}
