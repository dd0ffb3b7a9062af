//! A job: what the launcher tells the program in one environment variable.
use crate::homes::Homes;
use crate::profile::Profile;
use crate::transports::message::WORDS_MOST;
use crate::transports::{self, Stopped};
use homenode_base::NodeId;
use homenode_hlrc::PREFETCH_MOST;
use homenode_hlrc::cluster::{self, Cluster};
use homenode_hlrc::steps::{self, Intervals, Notices, Pages, Step};
use std::fmt;
use std::net::SocketAddr;

/// Environment variable with the text of a [`Job`].
pub const JOB_ENV: &str = "HOMENODE_SVM_JOB";
/// Most nodes, and most threads a node.
pub const MOST: u16 = homenode_hlrc::MAX_LIVE_NODES as u16;
/// Largest heap in bytes: 1 TiB.
pub const HEAP_MOST: u64 = 1 << 40;

/// Bytes of a job's secret.
pub const SECRET_BYTES: usize = 32;

/// Version of the text.
const VERSION: &str = "svm-1";
/// Entries of a log of notices.
const LOG: u32 = 1 << 16;
/// Fewest words of an inbox.
const INBOX: u32 = 1 << 14;
/// Slots for locks, barriers and whatever else has a name.
const SLOTS: u32 = 1 << 16;

/// A cluster that is to be, and the descriptors of its memory.
#[derive(Clone, Debug)]
pub struct Job {
    /// Nodes.
    pub nodes: u16,
    /// Threads a node.
    pub threads: u16,
    /// Step of the ladder.
    pub step: Step,
    /// Transport.
    pub transport: &'static transports::Spec,
    /// Whether homes keep pages exclusive of which no other node has a copy.
    pub exclusive: bool,
    /// How many pages come with one that is fetched, up to [`PREFETCH_MOST`].
    pub prefetch: u8,
    /// Whether the home of a page that one node alone writes moves to that node.
    pub migrate: bool,
    /// Whether pages that notices name are given up in the order of pages.
    pub sorted: bool,
    /// Whether threads of a node have a lock in the order in which they asked for it.
    pub tickets: bool,
    /// Whether nodes tell each other by a tree that a barrier is open.
    pub tree: bool,
    /// Whether threads are bound to processors, and each node's heap lies near its own.
    pub pin: bool,
    /// Homes of pages.
    pub homes: Homes,
    /// Bytes of the heap, a multiple of the page.
    pub heap_bytes: u64,
    /// Bytes of a page, a power of two.
    pub page_bytes: u64,
    /// Which thread an interrupt stops.
    pub stopped: Stopped,
    /// Descriptors of the heaps, one a node.
    pub heaps: Vec<i32>,
    /// Descriptors of the regions, one a node.
    pub regions: Vec<i32>,
    /// Descriptor of the job's secret, if the transport needs one: [`SECRET_BYTES`] random bytes.
    pub secret: Option<i32>,
    /// Descriptor of the list of homes ([`List`](crate::homes::List)) with [`Homes::Plan`].
    pub plan: Option<i32>,
    /// Descriptors of the files that nodes write journals to ([`journal`](crate::journal)), one a node; none if they write none.
    pub journals: Vec<i32>,
    /// Descriptor of the node's mailbox, if the transport needs one.
    pub mailbox: Option<i32>,
    /// What a node has besides if nodes run on several hosts. All but the first have the memory of themselves alone then.
    pub hosts: Option<Hosts>,
}

/// What a process is told that becomes one node of a cluster on several hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hosts {
    /// The node.
    pub me: NodeId,
    /// Descriptor of its listening socket.
    pub listening: i32,
    /// Descriptor of a file in memory for the program's variables ([`Image`](crate::image::Image)): the first node writes it, the
    /// others read it.
    pub image: i32,
    /// Descriptor of a pipe that a node other than the first waits at before `main`; a byte opens it.
    pub gate: Option<i32>,
    /// Where each node listens.
    pub peers: Vec<SocketAddr>,
}

impl Job {
    /// The cluster as a node knows it.
    pub fn cluster(&self, me: NodeId, alone: bool) -> Cluster {
        let mut cluster = Cluster {
            me,
            nodes: self.nodes,
            threads: self.threads,
            pages: u32::try_from(self.heap_bytes / self.page_bytes).unwrap_or(u32::MAX),
            page_words: (self.page_bytes / 8) as usize,
            step: self.step,
            homes: if self.homes == Homes::RoundRobin {
                cluster::Homes::RoundRobin
            } else {
                cluster::Homes::FirstTouch
            },
            alone,
            log: LOG,
            inbox: INBOX,
            slots: SLOTS,
            exclusive: self.exclusive,
            prefetch: self.prefetch,
            migrate: self.migrate,
            sorted: self.sorted,
            tickets: self.tickets,
            tree: self.tree,
            extra: 0,
        };
        cluster.extra = u32::try_from(Profile::words(&cluster)).unwrap_or(u32::MAX);
        cluster.inbox = INBOX.max(cluster.least_inbox().next_power_of_two());
        cluster
    }

    /// Whether the sizes make sense; what is wrong otherwise.
    pub fn check(&self) -> Result<(), String> {
        let within = |what: &str, n: u16| match n {
            1..=MOST => Ok(()),
            _ => Err(format!("{n} {what}: from 1 to {MOST} are possible")),
        };
        within("nodes", self.nodes)?;
        within("threads a node", self.threads)?;
        let page = self.page_bytes;
        if !page.is_power_of_two() || !(4096..=1 << 20).contains(&page) {
            return Err(format!("a page of {page} bytes: a power of two from 4096 to 1048576 is possible"));
        }
        let heap = self.heap_bytes;
        if heap == 0 || !heap.is_multiple_of(page) || heap > HEAP_MOST {
            return Err(format!("a heap of {heap} bytes: a multiple of the page, {page}, up to 1T is possible"));
        }
        if self.prefetch > PREFETCH_MOST {
            return Err(format!("{} pages to prefetch: up to {PREFETCH_MOST} are possible", self.prefetch));
        }
        if self.prefetch > 0 && self.step.pages != Pages::Fetched {
            return Err(format!(
                "pages to prefetch: {} asks homes for pages, and none come with them; rf fetches",
                self.step.name
            ));
        }
        let window = (u64::from(self.prefetch) + 1) * (page / 8);
        if self.prefetch > 0 && window > WORDS_MOST {
            let most = 8 * WORDS_MOST;
            return Err(format!(
                "{} pages to prefetch of {page} bytes: with the first, up to {most} bytes are possible",
                self.prefetch
            ));
        }
        Ok(())
    }

    /// Whether the process waits before `main` until it is a node of another host's program.
    pub fn waits(&self) -> bool {
        self.hosts.as_ref().is_some_and(|hosts| hosts.me != NodeId(0))
    }

    /// Reads the text of a job.
    pub fn parse(text: &str) -> Result<Job, String> {
        let mut words = text.split_ascii_whitespace();
        if words.next() != Some(VERSION) {
            return Err(format!("it does not begin with {VERSION}"));
        }
        let pairs: Vec<(&str, &str)> = words.filter_map(|w| w.split_once('=')).collect();
        let find = |key: &str| {
            let found = pairs.iter().find(|(k, _)| *k == key).map(|(_, value)| *value);
            found.ok_or_else(|| format!("it has no {key}"))
        };
        let bad = |key: &'static str| move || format!("its {key} cannot be read");
        let optional = |key: &'static str| match find(key) {
            Ok(text) => number(text).filter(|n| *n >= 0).map(Some).ok_or_else(bad(key)),
            Err(_) => Ok(None),
        };
        let job = Job {
            nodes: number(find("nodes")?).ok_or_else(bad("nodes"))?,
            threads: number(find("threads")?).ok_or_else(bad("threads"))?,
            step: step(find("step")?, find("notices")?, find("intervals")?)?,
            transport: transports::find(find("transport")?).ok_or_else(bad("transport"))?,
            homes: Homes::find(find("homes")?).ok_or_else(bad("homes"))?,
            exclusive: is_yes(find("exclusive")?).ok_or_else(bad("exclusive"))?,
            migrate: is_yes(find("migrate")?).ok_or_else(bad("migrate"))?,
            sorted: is_yes(find("sorted")?).ok_or_else(bad("sorted"))?,
            tickets: is_yes(find("tickets")?).ok_or_else(bad("tickets"))?,
            tree: is_yes(find("tree")?).ok_or_else(bad("tree"))?,
            pin: is_yes(find("pin")?).ok_or_else(bad("pin"))?,
            prefetch: number(find("prefetch")?).ok_or_else(bad("prefetch"))?,
            heap_bytes: number(find("heap")?).ok_or_else(bad("heap"))?,
            page_bytes: number(find("page")?).ok_or_else(bad("page"))?,
            stopped: stopped(find("interrupts")?).ok_or_else(bad("interrupts"))?,
            heaps: numbers(find("heaps")?).ok_or_else(bad("heaps"))?,
            regions: numbers(find("regions")?).ok_or_else(bad("regions"))?,
            secret: optional("secret")?,
            plan: optional("plan")?,
            journals: find("journals").map_or(Some(Vec::new()), numbers).ok_or_else(bad("journals"))?,
            mailbox: optional("mailbox")?,
            hosts: find("node").ok().map(|me| Hosts::parse(me, find)).transpose()?,
        };
        job.check()?;
        job.hosts.as_ref().map_or(Ok(()), |hosts| hosts.check(&job))?;
        let nodes = if job.waits() { 1 } else { usize::from(job.nodes) };
        if job.heaps.len() != nodes || job.regions.len() != nodes {
            return Err(format!("it does not have a heap and a region for each of {nodes} nodes"));
        }
        if !job.journals.is_empty() && (job.journals.len() != nodes || job.hosts.is_some()) {
            return Err(format!("it does not have a journal for each of {nodes} nodes of one host"));
        }
        if job.transport.is_apart && job.secret.is_none() {
            return Err(format!("it has no secret, which the transport {} needs", job.transport.name));
        }
        if job.transport.has_mailbox != job.mailbox.is_some() {
            return Err(format!("a mailbox is there with transport=mpi alone, and not with {}", job.transport.name));
        }
        if (job.homes == Homes::Plan) != job.plan.is_some() {
            return Err("a list of homes is there with homes=plan alone".to_owned());
        }
        Ok(job)
    }
}

impl fmt::Display for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{VERSION} nodes={} threads={} step={} ", self.nodes, self.threads, self.step.name)?;
        write!(f, "notices={} intervals={} ", self.step.notices.name(), self.step.intervals.name())?;
        write!(f, "transport={} homes={} ", self.transport.name, self.homes.name())?;
        write!(f, "heap={} page={} ", self.heap_bytes, self.page_bytes)?;
        let yes = |is: bool| if is { "yes" } else { "no" };
        write!(f, "exclusive={} prefetch={} migrate={} ", yes(self.exclusive), self.prefetch, yes(self.migrate))?;
        write!(f, "sorted={} tickets={} tree={} ", yes(self.sorted), yes(self.tickets), yes(self.tree))?;
        write!(f, "pin={} ", yes(self.pin))?;
        write!(f, "interrupts={} ", self.stopped.name())?;
        write!(f, "heaps={} regions={}", list(&self.heaps), list(&self.regions))?;
        self.secret.map_or(Ok(()), |secret| write!(f, " secret={secret}"))?;
        self.plan.map_or(Ok(()), |plan| write!(f, " plan={plan}"))?;
        if !self.journals.is_empty() {
            write!(f, " journals={}", list(&self.journals))?;
        }
        self.mailbox.map_or(Ok(()), |mailbox| write!(f, " mailbox={mailbox}"))?;
        self.hosts.as_ref().map_or(Ok(()), |hosts| write!(f, " {hosts}"))
    }
}

impl Hosts {
    /// Reads what a job says besides of this node.
    fn parse<'t>(me: &str, find: impl Fn(&str) -> Result<&'t str, String>) -> Result<Hosts, String> {
        let bad = |key: &'static str| move || format!("its {key} cannot be read");
        let file = |key: &'static str| number(find(key)?).filter(|n| *n >= 0).ok_or_else(bad(key));
        let peers = find("peers")?.split(',').map(|peer| peer.parse().ok()).collect::<Option<_>>();
        Ok(Hosts {
            me: NodeId(number(me).ok_or_else(bad("node"))?),
            listening: file("listening")?,
            image: file("image")?,
            gate: find("gate").is_ok().then(|| file("gate")).transpose()?,
            peers: peers.ok_or_else(bad("peers"))?,
        })
    }

    fn check(&self, job: &Job) -> Result<(), String> {
        if self.me.0 >= job.nodes || self.peers.len() != usize::from(job.nodes) {
            return Err(format!("it has no address for each of {} nodes", job.nodes));
        }
        if !job.transport.is_apart {
            return Err(format!("the transport {} does not reach other hosts", job.transport.name));
        }
        let needs_gate = self.me != NodeId(0);
        if self.gate.is_some() == needs_gate { Ok(()) } else { Err("its gate is not where it belongs".to_owned()) }
    }
}

impl fmt::Display for Hosts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let peers: Vec<String> = self.peers.iter().map(ToString::to_string).collect();
        write!(f, "node={} listening={} image={} peers={}", self.me, self.listening, self.image, peers.join(","))?;
        self.gate.map_or(Ok(()), |gate| write!(f, " gate={gate}"))
    }
}

fn is_yes(text: &str) -> Option<bool> {
    match text {
        "no" => Some(false),
        "yes" => Some(true),
        _ => None,
    }
}

fn number<N: std::str::FromStr>(text: &str) -> Option<N> {
    text.parse().ok()
}

fn numbers(text: &str) -> Option<Vec<i32>> {
    text.split(',').map(|n| number(n).filter(|n| *n >= 0)).collect()
}

fn list(numbers: &[i32]) -> String {
    numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

/// A step, its notices and its intervals, by their names.
fn step(name: &str, notices: &str, intervals: &str) -> Result<Step, String> {
    let bad = |key: &'static str| move || format!("its {key} cannot be read");
    let step = steps::find(name).ok_or_else(bad("step"))?;
    let notices = Notices::find(notices).ok_or_else(bad("notices"))?;
    let intervals = Intervals::find(intervals).ok_or_else(bad("intervals"))?;
    step.with(Some(notices), Some(intervals))
}

fn stopped(text: &str) -> Option<Stopped> {
    Stopped::ALL.into_iter().find(|s| s.name() == text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job() -> Job {
        Job {
            nodes: 2,
            threads: 3,
            step: steps::ALL[2].with(Some(Notices::Fetched), None).expect("they go together"),
            transport: transports::ALL[0],
            homes: Homes::Plan,
            heap_bytes: 1 << 30,
            page_bytes: 4096,
            stopped: Stopped::RoundRobin,
            exclusive: true,
            prefetch: 4,
            migrate: true,
            sorted: true,
            tickets: false,
            tree: true,
            pin: true,
            heaps: vec![3, 5],
            regions: vec![4, 6],
            secret: Some(7),
            plan: Some(9),
            journals: vec![11, 12],
            mailbox: None,
            hosts: None,
        }
    }

    /// Of a cluster on two hosts.
    fn on_hosts(me: u16) -> Job {
        let peers = ["10.0.0.1:4000", "[fe80::1]:4001"].map(|peer| peer.parse().expect("an address")).to_vec();
        let hosts = Hosts { me: NodeId(me), listening: 8, image: 9, gate: (me > 0).then_some(10), peers };
        let transport = transports::find("tcp").expect("known");
        let own = if me > 0 { vec![3] } else { vec![3, 5] };
        Job { transport, hosts: Some(hosts), journals: Vec::new(), heaps: own.clone(), regions: own, ..job() }
    }

    #[test]
    fn a_job_is_read_as_it_was_written() {
        let mpi = || transports::find("mpi").expect("known");
        let over_mpi = Job { transport: mpi(), mailbox: Some(11), ..on_hosts(1) };
        for job in [job(), on_hosts(0), on_hosts(1), over_mpi] {
            let text = job.to_string();
            assert_eq!(Job::parse(&text).expect("whole").to_string(), text);
        }
    }

    #[test]
    fn damaged_jobs_of_several_hosts_are_refused() {
        let refused = |me: u16, from: &str, to: &str, why: &str| {
            let text = on_hosts(me).to_string();
            assert!(text.contains(from), "{text}");
            let said = Job::parse(&text.replace(from, to)).expect_err(to);
            assert!(said.contains(why), "{said}");
        };
        refused(1, "node=1", "node=2", "no address for each");
        refused(1, "node=1", "node=x", "its node");
        refused(1, ",[fe80::1]:4001", "", "no address for each");
        refused(1, "10.0.0.1:4000", "somewhere", "its peers");
        refused(1, " gate=10", "", "its gate");
        refused(0, "node=0", "node=1", "its gate");
        refused(1, "heaps=3", "heaps=3,4", "each of 1 nodes");
        refused(0, "heaps=3,5", "heaps=3", "each of 2 nodes");
        refused(0, "transport=tcp", "transport=shm", "does not reach other hosts");
        refused(0, "image=9", "image=-9", "its image");
        refused(0, "listening=8 ", "", "no listening");
        refused(1, "transport=tcp", "transport=mpi", "a mailbox");
        refused(1, " gate=10", " gate=10 mailbox=12", "a mailbox");
    }

    #[test]
    fn damaged_jobs_are_refused_in_words() {
        let text = job().to_string();
        let refused = |from: &str, to: &str, why: &str| {
            assert!(text.contains(from));
            let said = Job::parse(&text.replace(from, to)).expect_err(to);
            assert!(said.contains(why), "{said}");
        };
        refused("svm-1", "svm-9", "begin with");
        refused("nodes=2", "nodes=0", "from 1 to 64");
        refused("nodes=2", "nodes=65", "from 1 to 64");
        refused("nodes=2", "nodes=3", "each of 3 nodes");
        refused("threads=3", "threads=-1", "its threads");
        refused("step=rf", "step=base", "asks homes for pages");
        refused("prefetch=4", "prefetch=16", "up to 15");
        refused("prefetch=4", "prefetch=x", "its prefetch");
        refused("page=4096", "page=1048576", "with the first");
        refused("step=rf", "step=bass", "its step");
        refused("notices=fetched", "notices=heard", "its notices");
        refused("intervals=at-release", "intervals=often", "its intervals");
        refused("intervals=at-release", "intervals=lazy", "notices with the lock");
        refused("transport=shm ", "", "no transport");
        refused("page=4096", "page=4095", "power of two");
        refused("heap=1073741824", "heap=99999999999999", "a heap of");
        refused("heaps=3,5", "heaps=3,-5", "its heaps");
        refused("homes=plan", "homes=plane", "its homes");
        refused("homes=plan", "homes=block", "homes=plan alone");
        refused(" plan=9", "", "homes=plan alone");
        refused("plan=9", "plan=-9", "its plan");
        refused("secret=7", "secret=-7", "its secret");
        refused("journals=11,12", "journals=11,x", "its journals");
        refused("journals=11,12", "journals=11", "a journal for each");
        for option in ["migrate=yes", "sorted=yes", "tickets=no", "tree=yes", "pin=yes"] {
            let (name, _) = option.split_once('=').expect("a pair");
            refused(option, &format!("{name}=1"), &format!("its {name}"));
        }
        refused("exclusive=yes", "exclusive=maybe", "its exclusive");
        refused("transport=shm", "transport=ether", "its transport");
        let apart = text.replace("transport=shm", "transport=tcp");
        assert_eq!(Job::parse(&apart).expect("whole").to_string(), apart);
        assert!(
            Job::parse(&apart.replace(" secret=7", ""))
                .expect_err("no secret")
                .contains("which the transport tcp needs")
        );
        for end in 0..text.len() - 1 {
            // A number that is cut short is another number; everything else is refused, and nothing panics.
            let _ = Job::parse(&text[..end]);
        }
    }
}
