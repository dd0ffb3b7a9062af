//! How a process begins: as the program, which is the first node, or as another node of a program on another host.
use crate::border::{self, Border};
use crate::current::{announced, become_node};
use crate::job::Job;
use crate::node::Node;
use crate::process::handle_signals;
use crate::shared::{Class, EXITED, STATUS};
use crate::threads::attend;
use crate::transports::Files;
use crate::trouble::Trouble;
use crate::{hosts, me, phases};
use homenode_sys::fork;
use std::sync::atomic::Ordering;

/// What a process is for, once it is a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Started {
    /// The first node: the program runs.
    Program,
    /// Another node, of a program that runs on another host, which is over.
    Node,
}

/// Makes the program, before it begins, the first node of the cluster; or another node, if the job says so, until the cluster ends.
///
/// # Errors
/// Something that it needs cannot be had.
pub fn start(job: Job, files: Files, functions: Border) -> Result<Started, Trouble> {
    if !border::set(functions, note_death) {
        return Err(Trouble::of("the library is loaded twice"));
    }
    if files.hosts.is_some() {
        // Nobody else would end the first one, which may wait for a launcher, or the others, which wait for the first.
        fork::die_with_parent().map_err(|e| Trouble::new("cannot make a node of a process", e))?;
    }
    let waits = files.hosts.as_ref().filter(|_| job.waits());
    if let Some(hosts) = waits {
        if hosts::wait(hosts)? {
            let me = hosts.me;
            handle_signals()?;
            attend(become_node(Node::waited(job, files, me)?, false)?);
        }
        return Ok(Started::Node);
    }
    let first = become_node(Node::first(job, files)?, false)?;
    handle_signals()?;
    me::become_thread(0, fork::thread_id());
    phases::begin_thread(first);
    drop(first.enter(Class::Other));
    Ok(Started::Program)
}

/// Notes for the launcher that the process ends itself.
fn note_death() {
    if let Some(node) = announced() {
        node.shared().word(STATUS).store(EXITED | 1, Ordering::Release);
    }
}
