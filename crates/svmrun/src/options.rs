//! What `homenode svm run` is asked to do.
use crate::hosts::{AGENT, Plan};
use crate::planned::{self, Planned, Shape};
use homenode_command::Failure;
use homenode_hlrc::steps::{self, Intervals, Notices, Step};
use homenode_svm::homes::Homes;
use homenode_svm::job::Job;
use homenode_svm::transports::{self, Spec, Stopped};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Name of the transport for which the ranks of an mpirun are nodes.
pub(crate) const MPI: &str = "mpi";

/// A cluster and a program.
#[derive(Clone, Debug)]
pub struct SvmRequest {
    /// Program and arguments.
    pub command: Vec<OsString>,
    /// Nodes; `None` for as many as an mpirun has started ranks.
    pub nodes: Option<u16>,
    /// Threads a node.
    pub threads: u16,
    /// Step of the ladder, by name.
    pub protocol: String,
    /// Transport, by name, or `mpi` for what reaches the ranks of an mpirun ([`Ranks`](crate::Ranks)); `None` for the fastest that reaches
    /// all nodes.
    pub transport: Option<String>,
    /// Hosts that nodes run on, the first of which is this one, each `NAME` or `NAME=ADDRESS`; none for this one alone.
    pub hosts: Vec<String>,
    /// Command that starts another on a host, with `{host}` in it; `None` for ssh.
    pub agent: Option<String>,
    /// The compiler of the mpirun's MPI; `None` for the one that is found.
    pub mpicc: Option<PathBuf>,
    /// Variables that point to memory of node 0 alone, with other hosts or ranks: `refuse` the program, or make them `null` there.
    pub private_pointers: String,
    /// The file of `homenode` on all hosts; `None` for this program's own.
    pub homenode: Option<PathBuf>,
    /// `first-touch`, `round-robin`, `block`, or the file of a plan.
    pub homes: String,
    /// Whether homes keep pages writable, without notices, of which no other node has a copy.
    pub exclusive: bool,
    /// How many pages come with one that is fetched.
    pub prefetch: u8,
    /// Whether homes move to the node that alone writes a page.
    pub migrate: bool,
    /// Whether pages that notices name are given up in the order of pages.
    pub sorted: bool,
    /// Whether nodes tell each other by a tree that a barrier is open.
    pub tree: bool,
    /// Locks among the threads of a node: `test-and-set`, `ticket`.
    pub node_locks: String,
    /// Whether threads are bound to processors, and each node's heap lies near its own.
    pub pin: bool,
    /// Folder for journals of the nodes, which must be empty or not there; `None` if they write none.
    pub journals: Option<PathBuf>,
    /// Bytes of the heap.
    pub heap_bytes: u64,
    /// Bytes of a page.
    pub page_bytes: u64,
    /// `first`, `round-robin`, or `polled` for none.
    pub interrupts: String,
    /// How notices come: `with-lock`, `pushed`, `fetched`; `None` for the step's own way.
    pub notices: Option<String>,
    /// When changes are sent: `lazy`, `at-release`; `None` for the step's own way.
    pub diffs: Option<String>,
}

impl Default for SvmRequest {
    fn default() -> SvmRequest {
        SvmRequest {
            command: Vec::new(),
            nodes: Some(SvmRequest::NODES),
            threads: 1,
            protocol: "genima".to_owned(),
            transport: None,
            hosts: Vec::new(),
            agent: None,
            mpicc: None,
            private_pointers: "refuse".to_owned(),
            homenode: None,
            homes: "first-touch".to_owned(),
            exclusive: false,
            prefetch: 0,
            migrate: false,
            sorted: false,
            tree: false,
            node_locks: "test-and-set".to_owned(),
            pin: false,
            journals: None,
            heap_bytes: 16 << 30,
            page_bytes: 4096,
            interrupts: "first".to_owned(),
            notices: None,
            diffs: None,
        }
    }
}

impl SvmRequest {
    /// Nodes if nothing is said.
    pub(crate) const NODES: u16 = 2;

    /// Refuses what is said of ways to other hosts that the request does not go.
    pub(crate) fn check_ways(&self) -> Result<(), Failure> {
        let is_mpi = self.transport.as_deref() == Some(MPI);
        let has_hosts = !self.hosts.is_empty();
        let clears = self.clears()?;
        match () {
            () if is_mpi && has_hosts => {
                Err(Failure::usage("--hosts: with --transport mpi the hosts are those of mpirun"))
            }
            () if self.agent.is_some() && !has_hosts => {
                Err(Failure::usage("--agent: it starts programs on --hosts, and there are none"))
            }
            () if self.mpicc.is_some() && !is_mpi => {
                Err(Failure::usage("--mpicc: it is the compiler of the MPI for --transport mpi"))
            }
            () if clears && !has_hosts && !is_mpi => Err(Failure::usage(
                "--private-pointers: it is of --hosts and --transport mpi, and without them all nodes have this memory",
            )),
            () => Ok(()),
        }
    }
    /// What to do where no mpirun has started this, and one is needed.
    pub(crate) fn without_mpirun(&self) -> Failure {
        let nodes = self.nodes.unwrap_or(SvmRequest::NODES);
        let command = self.command.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ");
        Failure::usage(format!(
            "--transport mpi: no mpirun started this; one starts a node a rank: mpirun -n {nodes} homenode svm run --transport mpi -- {command}"
        ))
    }
    /// Whether variables that point to private memory are null on other nodes, and not refused.
    pub(crate) fn clears(&self) -> Result<bool, Failure> {
        match self.private_pointers.as_str() {
            "refuse" => Ok(false),
            "null" => Ok(true),
            other => Err(unknown("private-pointers", other, &["refuse", "null"])),
        }
    }

    /// The job for the program, still without memory.
    pub(crate) fn job(&self) -> Result<Job, Failure> {
        let unsaid = "-n: how many nodes? Only with --transport mpi mpirun says it";
        let job = Job {
            nodes: self.nodes.ok_or_else(|| Failure::usage(unsaid))?,
            threads: self.threads,
            step: self.step()?,
            transport: self.wire()?,
            homes: self.homes()?,
            heap_bytes: self.heap_bytes,
            page_bytes: self.page_bytes,
            stopped: self.stopped()?,
            exclusive: self.exclusive,
            prefetch: self.prefetch,
            migrate: self.migrate,
            sorted: self.sorted,
            tickets: self.tickets()?,
            tree: self.tree,
            pin: self.pin,
            heaps: Vec::new(),
            regions: Vec::new(),
            secret: None,
            hosts: None,
            plan: None,
            journals: Vec::new(),
            mailbox: None,
        };
        job.check().map_err(Failure::usage)?;
        if self.journals.is_some() && (!self.hosts.is_empty() || job.transport.has_mailbox) {
            let what = "--journal: nodes of one host alone can write journals, not those of --hosts or of an mpirun";
            return Err(Failure::usage(what));
        }
        Ok(job)
    }

    /// What is said of the protocol beside the step, as on the command line.
    pub(crate) fn beside(&self) -> Vec<String> {
        let default = SvmRequest::default();
        let flags = [
            (self.exclusive, "--exclusive"),
            (self.migrate, "--migrate"),
            (self.sorted, "--sorted"),
            (self.tree, "--tree"),
            (self.pin, "--pin"),
        ];
        let values = [
            ("--prefetch", (self.prefetch > 0).then(|| self.prefetch.to_string())),
            ("--node-locks", (self.node_locks != default.node_locks).then(|| self.node_locks.clone())),
            ("--interrupts", (self.interrupts != default.interrupts).then(|| self.interrupts.clone())),
            ("--notices", self.notices.clone()),
            ("--diffs", self.diffs.clone()),
        ];
        let flags = flags.into_iter().filter(|(is_on, _)| *is_on).map(|(_, name)| name.to_owned());
        let values = values.into_iter().filter_map(|(name, value)| value.map(|value| format!("{name} {value}")));
        flags.chain(values).collect()
    }

    fn step(&self) -> Result<Step, Failure> {
        let step = steps::find(&self.protocol).ok_or_else(|| {
            let known: Vec<&str> = steps::ALL.iter().flat_map(|s| [s.name, s.also]).collect();
            unknown("protocol", &self.protocol, &known)
        })?;
        let find_notices = |name: &String| {
            Notices::find(name).ok_or_else(|| unknown("notices", name, &Notices::ALL.map(Notices::name)))
        };
        let find_intervals = |name: &String| {
            Intervals::find(name).ok_or_else(|| unknown("diffs", name, &Intervals::ALL.map(Intervals::name)))
        };
        let notices = self.notices.as_ref().map(find_notices).transpose()?;
        step.with(notices, self.diffs.as_ref().map(find_intervals).transpose()?).map_err(Failure::usage)
    }
    fn wire(&self) -> Result<&'static Spec, Failure> {
        let reaches = |t: &&&'static Spec| self.hosts.is_empty() || t.is_apart;
        let Some(name) = &self.transport else {
            let found = transports::ALL.iter().find(reaches);
            return found.copied().ok_or_else(|| Failure::usage("--hosts: no transport reaches other hosts"));
        };
        let found = transports::find(name).ok_or_else(|| {
            let known: Vec<&str> = transports::ALL.iter().map(|t| t.name).collect();
            unknown("transport", name, &known)
        })?;
        match reaches(&&found) {
            true => Ok(found),
            false => Err(Failure::usage(format!("--transport: {name} does not reach other hosts"))),
        }
    }
    /// Which nodes run where, if not all do here.
    pub(crate) fn plan(&self) -> Result<Option<Plan>, Failure> {
        self.check_ways()?;
        if self.transport.as_deref() == Some(MPI) {
            return Err(self.without_mpirun());
        }
        if self.hosts.is_empty() {
            return Ok(None);
        }
        let own = || std::env::current_exe().unwrap_or_else(|_| "homenode".into());
        let homenode = self.homenode.clone().unwrap_or_else(own);
        let agent = self.agent.as_deref().unwrap_or(AGENT);
        let mut plan = Plan::new(&self.hosts, agent, homenode, self.nodes.unwrap_or(SvmRequest::NODES))?;
        plan.clears = self.clears()?;
        Ok(Some(plan))
    }
    fn homes(&self) -> Result<Homes, Failure> {
        match Homes::find(&self.homes).filter(|homes| *homes != Homes::Plan) {
            Some(homes) => Ok(homes),
            None if Path::new(&self.homes).exists() => Ok(Homes::Plan),
            None => {
                let known = Homes::ALL.iter().filter(|(homes, _)| *homes != Homes::Plan).map(|(_, name)| *name);
                Err(unknown("homes", &self.homes, &known.chain(["the file of a plan"]).collect::<Vec<_>>()))
            }
        }
    }
    /// The plan that homes come from, for this program.
    pub(crate) fn planned(&self, job: &Job, program: &Path) -> Result<Option<Planned>, Failure> {
        let shape = Shape { nodes: job.nodes, threads: job.threads, page_bytes: job.page_bytes };
        let is_planned = job.homes == Homes::Plan;
        is_planned.then(|| planned::read(Path::new(&self.homes), program, shape)).transpose()
    }

    fn tickets(&self) -> Result<bool, Failure> {
        match self.node_locks.as_str() {
            "test-and-set" => Ok(false),
            "ticket" => Ok(true),
            other => Err(unknown("node-locks", other, &["test-and-set", "ticket"])),
        }
    }
    fn stopped(&self) -> Result<Stopped, Failure> {
        let found = Stopped::ALL.into_iter().find(|s| s.name() == self.interrupts);
        found.ok_or_else(|| unknown("interrupts", &self.interrupts, &Stopped::ALL.map(Stopped::name)))
    }
}

fn unknown(what: &str, given: &str, known: &[&str]) -> Failure {
    let mut known = known.to_vec();
    known.dedup();
    Failure::usage(format!("--{what}: '{given}' is none of {}", known.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use homenode_command::Class;

    #[test]
    fn what_cannot_be_is_said_before_anything_is_started() {
        let said = |change: fn(&mut SvmRequest)| {
            let mut request = SvmRequest::default();
            change(&mut request);
            let failure = request.job().expect_err("it cannot be");
            assert_eq!(failure.class, Class::Usage);
            failure.message
        };
        assert!(said(|r| r.nodes = Some(0)).contains("0 nodes: from 1 to 64"));
        assert!(said(|r| r.nodes = None).contains("how many nodes"));
        assert!(said(|r| r.nodes = Some(65)).contains("65 nodes"));
        assert!(said(|r| r.threads = 0).contains("0 threads a node"));
        assert!(said(|r| r.page_bytes = 5000).contains("power of two"));
        assert!(said(|r| r.page_bytes = 0).contains("power of two"));
        assert!(said(|r| r.heap_bytes = 4097).contains("multiple of the page"));
        assert!(said(|r| r.protocol = "bass".to_owned()).contains("base, dw, rf, dd, nil, genima"));
        assert!(said(|r| r.transport = Some("ether".to_owned())).contains("shm, tcp, mpi"));
        assert!(
            said(|r| (r.transport, r.hosts) = (Some("shm".to_owned()), vec!["a".to_owned()])).contains("other hosts")
        );
        assert!(said(|r| r.homes = "x".to_owned()).contains("first-touch, round-robin, block, the file of a plan"));
        assert!(said(|r| r.homes = "plan".to_owned()).contains("first-touch"));
        let journals = |r: &mut SvmRequest| (r.journals, r.hosts) = (Some("j".into()), vec!["a".to_owned()]);
        assert!(said(|r| r.node_locks = "mcs".to_owned()).contains("test-and-set, ticket"));
        assert!(said(|r| r.prefetch = 16).contains("up to 15"));
        assert!(said(|r| (r.prefetch, r.protocol) = (4, "dw".to_owned())).contains("dw asks homes"));
        assert!(said(|r| (r.prefetch, r.page_bytes) = (4, 1 << 20)).contains("with the first"));
        assert!(said(journals).contains("--journal"));
        assert!(said(|r| r.interrupts = "x".to_owned()).contains("first, round-robin, polled"));
        assert!(said(|r| r.notices = Some("heard".to_owned())).contains("with-lock, pushed, fetched"));
        assert!(said(|r| r.notices = Some("with-lock".to_owned())).contains("no host hands over the locks of nil"));
        assert!(said(|r| r.diffs = Some("soon".to_owned())).contains("lazy, at-release"));
        assert!(said(|r| r.diffs = Some("lazy".to_owned())).contains("notices with the lock"));
        SvmRequest::default().job().expect("defaults are possible");
    }

    #[test]
    fn options_of_ways_that_are_not_gone_are_refused() {
        let said = |change: fn(&mut SvmRequest)| {
            let mut request = SvmRequest::default();
            change(&mut request);
            let failure = request.check_ways().expect_err("it is of no use");
            assert_eq!(failure.class, Class::Usage);
            failure.message
        };
        let over_mpi = |r: &mut SvmRequest| r.transport = Some("mpi".to_owned());
        assert!(said(|r| r.agent = Some("ssh {host}".to_owned())).contains("--agent"));
        assert!(said(|r| r.mpicc = Some("mpicc".into())).contains("--mpicc"));
        assert!(said(|r| r.private_pointers = "null".to_owned()).contains("--private-pointers"));
        assert!(said(|r| r.private_pointers = "void".to_owned()).contains("refuse, null"));
        let both = |r: &mut SvmRequest| (r.transport, r.hosts) = (Some("mpi".to_owned()), vec!["a".to_owned()]);
        assert!(said(both).contains("those of mpirun"));
        let mut whole = SvmRequest {
            mpicc: Some("mpicc".into()),
            private_pointers: "null".to_owned(),
            nodes: None,
            ..SvmRequest::default()
        };
        over_mpi(&mut whole);
        whole.check_ways().expect("it is possible");
    }

    #[test]
    fn without_an_mpirun_the_command_line_is_said() {
        let command = ["./lu", "-p", "4"].map(Into::into).to_vec();
        let why = SvmRequest { nodes: Some(4), command, ..SvmRequest::default() }.without_mpirun().message;
        assert!(why.contains("mpirun -n 4 homenode svm run --transport mpi -- ./lu -p 4"), "{why}");
    }
}
