//! # homenode-svmrun: a program on nodes that share their memory by a protocol
//!
//! The command `homenode svm run`: the launcher makes the memory of all nodes, starts the program with a library before it that makes
//! it the first node, and watches. What nodes count lies in their regions, where the launcher reads it.
//!
//! **Invariant:** when the command returns, no process of the cluster is left; a node that ended before its time is named.
//!
//! Reading order: `options`, `planned`, `memory`, `library`, `watch`, `journals`, `hosts` (nodes elsewhere), `mpi` (nodes that an mpirun starts), [`doc`], `collect`, `order`, `pages`, `sites`, `text`; then [`run`]; `advice`, [`report`], [`replan`].
//!
//! ```
//! use homenode_command::Class;
//! use homenode_svmrun::{SvmRequest, run};
//!
//! let mut request = SvmRequest { command: vec!["true".into()], nodes: Some(0), ..SvmRequest::default() };
//! assert_eq!(run(&request).unwrap_err().class, Class::Usage);
//!
//! // A program that creates no thread runs alone.
//! request.nodes = Some(2);
//! assert_eq!(run(&request)?.exit_status, 0);
//! # Ok::<(), homenode_command::Failure>(())
//! ```
#![forbid(unsafe_code)]

mod advice;
mod collect;
pub mod doc;
mod hosts;
mod journals;
mod library;
mod memory;
mod mpi;
mod options;
mod order;
mod pages;
mod planned;
mod replan;
mod report;
mod sites;
mod text;
mod watch;

pub use advice::{About, Advice, Evidence, Mean, advice};
pub use doc::SvmDoc;
pub use hosts::agent;
pub use journals::{JournalFolder, ReplayedDoc, SvmReplay, replay};
pub use mpi::{Joined, Ranks};
pub use options::SvmRequest;
pub use pages::{Page, Pages};
pub use replan::{Replanned, replan};
pub use report::{SvmReport, report};

use crate::collect::Regions;
use crate::hosts::Agents;
use crate::journals::Journals;
use crate::memory::Memory;
use crate::planned::Planned;
use homenode_command::Failure;
use homenode_host::clock::Real;
use homenode_host::launch;
use homenode_svm::job::{JOB_ENV, Job};
use homenode_sys::process::{Inherited, Subreaper, Unrandomized};
use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::{AsFd, AsRawFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

/// A run that has ended.
struct Ran {
    job: Job,
    program: PathBuf,
    memory: Memory,
    planned: Option<Planned>,
    /// Host of each node; none if all ran here.
    hosts: Vec<String>,
    notes: Vec<String>,
    status: i32,
    seconds: f64,
}

/// Runs the program and waits for its end.
pub fn run(request: &SvmRequest) -> Result<SvmDoc, Failure> {
    run_among(request, None)
}

/// Runs the program at rank 0 of an mpirun, with the other ranks as the other nodes, and waits for its end.
pub fn run_on(request: &SvmRequest, mut ranks: Ranks) -> Result<SvmDoc, Failure> {
    let doc = run_among(&ranks.request(request), Some(&mut ranks))?;
    ranks.leave();
    Ok(doc)
}

fn run_among(request: &SvmRequest, mut ranks: Option<&mut Ranks>) -> Result<SvmDoc, Failure> {
    let mut job = request.job()?;
    let program = launch::find_program(&request.command).map_err(Failure::work)?;
    if let Some(why) = launch::secure_mode(&program) {
        let what = format!("{} is {why}: the loader gives it no library; run a copy", program.display());
        return Err(Failure::work(what));
    }
    let preload = library::preload(std::env::var_os(library::PRELOAD_ENV).as_deref())?;
    let planned = request.planned(&job, &program)?;
    let found = match &mut ranks {
        Some(ranks) => Some(ranks.meet(request.clears()?)?),
        None => request.plan()?.map(|plan| (plan, Vec::new())),
    };
    let agents = found.map(|(plan, came)| Agents::prepare(plan, came, &mut job, &program));
    let mut agents = agents.transpose()?;
    let mut memory = Memory::make(&mut job, planned.as_ref().map(|p| p.list.to_string()).as_deref())?;
    let journals = request.journals.as_deref().map(|folder| Journals::make(folder, &mut job)).transpose()?;
    let exposed = ranks.as_mut().map(|ranks| ranks.expose(memory.files(0)[0])).transpose();
    let mailbox =
        exposed.map_err(|e| Failure::work(format!("cannot let ranks reach each other's memory: {e}")))?.flatten();
    job.mailbox = mailbox.as_ref().map(AsRawFd::as_raw_fd);
    let text = job.to_string();
    let environment: [(&str, &OsStr); 2] = [(JOB_ENV, OsStr::new(&text)), (library::PRELOAD_ENV, &preload)];
    // Nodes are children of the program: when it dies, they are the launcher's to wait for.
    let _reaper = Subreaper::set().map_err(|e| Failure::work(format!("cannot look after the nodes: {e}")))?;
    let start = Instant::now();
    let main = match &agents {
        None => {
            let inherited = journals.as_ref().map(Journals::inherited).transpose();
            let _inherited = inherited.map_err(|e| Failure::work(format!("cannot give journals to the nodes: {e}")))?;
            launch::start(&request.command, &environment).map_err(Failure::work)?
        }
        Some(agents) => start_on_hosts(agents, &job, (&memory, mailbox.as_ref()), request, &environment)?,
    };
    if agents.is_none() {
        memory.close();
    }
    let hosts = agents.iter().flat_map(|a| (0..job.nodes).map(|n| a.host(n).to_owned())).collect();
    let ended = watch::watch(main, &memory, agents.as_mut(), Arc::new(Real));
    let mut notes: Vec<String> = agents.and_then(Agents::end).into_iter().collect();
    notes.extend(ranks.and_then(|ranks| ranks.note()));
    notes.extend(journals.map(Journals::end).into_iter().flatten());
    let seconds = start.elapsed().as_secs_f64();
    match ended.lost {
        Some(lost) => Err(Failure::work(lost)),
        None => document(request, Ran { job, program, memory, planned, hosts, notes, status: ended.status, seconds }),
    }
}

/// What the nodes counted in a run.
fn document(request: &SvmRequest, ran: Ran) -> Result<SvmDoc, Failure> {
    let (job, memory) = (&ran.job, &ran.memory);
    let regions = Regions::of(job, &memory.layout, &memory.regions);
    let mut nodes = regions.nodes();
    nodes.iter_mut().zip(ran.hosts).for_each(|(node, host)| node.host = Some(host));
    if nodes.is_empty() {
        return Err(not_loaded(request, ran.status));
    }
    let mut notes = notes(usize::from(job.nodes), nodes.len(), memory.allocated());
    notes.extend(ran.notes);
    let (pieces, forgotten) = (regions.pieces(), regions.forgotten());
    let mut objects = sites::named(regions.objects(&pieces), &ran.program, &mut notes);
    notes.extend(ran.planned.iter().flat_map(|p| p.notes.clone()));
    match forgotten {
        0 => {}
        n => notes.push(format!(
            "{n} pieces of shared memory more than a node remembers were taken: their pages have no object"
        )),
    }
    let planned = ran.planned.map(|p| p.outcome(&pieces, forgotten));
    if planned.as_ref().is_some_and(|p| p.met == 0 && forgotten == 0) {
        notes.push("nothing of the plan was found: it is of another program, or of one that was changed".to_owned());
    }
    let pages = regions.pages(&mut objects, memory.allocated());
    let (locks, lock_groups) = regions.locks(&objects);
    Ok(SvmDoc {
        schema: doc::SCHEMA.to_owned(),
        command: request.command.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
        exit_status: ran.status,
        seconds: ran.seconds,
        protocol: job.step.name.to_owned(),
        options: request.beside(),
        transport: job.transport.name.to_owned(),
        threads_per_node: job.threads,
        processors: std::thread::available_parallelism().map_or(1, |n| u32::try_from(n.get()).unwrap_or(u32::MAX)),
        homes: job.homes.name().to_owned(),
        planned,
        page_bytes: job.page_bytes,
        heap_used_bytes: memory.allocated(),
        phases: regions.phases(),
        pages,
        locks,
        lock_groups,
        objects,
        notes,
        nodes,
    })
}

/// Starts node 0 here, where nothing is random about where it lies, and lets the agents start the others.
fn start_on_hosts(
    agents: &Agents,
    job: &Job,
    (memory, mailbox): (&Memory, Option<&File>),
    request: &SvmRequest,
    environment: &[(&str, &OsStr)],
) -> Result<u32, Failure> {
    let failed = |e| Failure::work(format!("cannot start node 0 as other hosts can follow: {e}"));
    agents.start(job, memory, &request.command).map_err(failed)?;
    let _inherited = Inherited::of(agents.inherited().into_iter().chain(mailbox.map(AsFd::as_fd))).map_err(failed)?;
    let _unrandomized = Unrandomized::set().map_err(failed)?;
    let main = launch::start(&request.command, environment).map_err(Failure::work)?;
    memory.hide().map_err(failed)?;
    Ok(main)
}

/// What to say of a program that ran, but not as a node.
fn not_loaded(request: &SvmRequest, status: i32) -> Failure {
    let program = request.command.first().map(|word| word.to_string_lossy().into_owned()).unwrap_or_default();
    Failure::work(format!(
        "{program} ended with status {status} and never loaded the library of shared memory: it is linked statically, or for another \
         processor; link it dynamically"
    ))
}

fn notes(wanted: usize, began: usize, heap_bytes: u64) -> Vec<String> {
    if wanted > 1 && began == 1 {
        return vec!["the program created no thread with homenode_create, so it ran alone on node 0".to_owned()];
    }
    if heap_bytes == 0 {
        return vec!["no memory of the shared heap was taken: homenode_shared_alloc gives it".to_owned()];
    }
    Vec::new()
}
