//! Which hosts nodes run on, and how agents are started there.
use homenode_command::Failure;
use homenode_table::clean;
use std::ffi::OsString;
use std::io;
use std::net::{IpAddr, ToSocketAddrs};
use std::path::PathBuf;

/// How an agent is started, if nothing else is said.
pub(crate) const AGENT: &str = "ssh -o BatchMode=yes {host}";
/// What stands for the host in it.
const HOST: &str = "{host}";

/// A host and its nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Host {
    /// As given.
    pub(crate) name: String,
    /// Where the others reach it.
    pub(crate) address: IpAddr,
    /// Nodes there, which follow each other.
    pub(crate) nodes: Vec<u16>,
}

/// How agents come to be.
#[derive(Clone, Debug, PartialEq, Eq)]
enum By {
    /// The launcher starts them.
    Command {
        /// Words that start a command on a host.
        words: Vec<String>,
        /// The file of homenode, the same on all hosts.
        homenode: PathBuf,
    },
    /// MPI has started them, one a node.
    Mpi,
}

/// Hosts in order; the first one is this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    pub(crate) hosts: Vec<Host>,
    /// How agents come to be.
    agents: By,
    /// Whether variables that point to private memory are null on other hosts, and not refused.
    pub(crate) clears: bool,
}

impl Plan {
    /// Reads `A,B=ADDRESS,...` and shares so many nodes out, each host getting as many as any other, or one more.
    pub(crate) fn new(hosts: &[String], agent: &str, homenode: PathBuf, nodes: u16) -> Result<Plan, Failure> {
        let agent: Vec<String> = agent.split_whitespace().map(str::to_owned).collect();
        if agent.is_empty() || !agent.iter().any(|word| word.contains(HOST)) {
            return Err(Failure::usage(format!("--agent: a command with {HOST} in it starts programs on a host")));
        }
        let count = hosts.len();
        if count > usize::from(nodes) {
            return Err(Failure::usage(format!("--hosts: {count} hosts for {nodes} nodes; each needs one at least")));
        }
        let mut planned: Vec<Host> = Vec::new();
        for (at, text) in hosts.iter().enumerate() {
            let (name, address) = host(text)?;
            if let Some(same) = planned.iter().find(|h| h.name == name || h.address == address) {
                return Err(Failure::usage(format!("--hosts: {name} and {} are the same host", same.name)));
            }
            let first = |host: usize| (host * usize::from(nodes) / count) as u16;
            planned.push(Host { name, address, nodes: (first(at)..first(at + 1)).collect() });
        }
        let local = planned.iter().find(|h| h.address.is_loopback());
        if let (Some(local), true) = (local, planned.iter().any(|h| !h.address.is_loopback())) {
            let (name, address) = (&local.name, local.address);
            let why = format!("is {address}, which other hosts cannot reach; write {name}=ADDRESS");
            return Err(Failure::usage(format!("--hosts: {name} {why}")));
        }
        Ok(Plan { hosts: planned, agents: By::Command { words: agent, homenode }, clears: false })
    }
    /// Ranks of MPI as hosts of one node each; several may be of one machine.
    pub(crate) fn of_ranks(hosts: Vec<Host>, clears: bool) -> Plan {
        Plan { hosts, agents: By::Mpi, clears }
    }

    /// The host of a node.
    pub(crate) fn host(&self, node: u16) -> &Host {
        self.hosts.iter().find(|host| host.nodes.contains(&node)).unwrap_or(&self.hosts[0])
    }

    /// The command that starts the agent of a host; of the first, where one needs not be brought to. `None` if nobody starts it here.
    pub(crate) fn command(&self, host: usize) -> Option<Vec<OsString>> {
        let By::Command { words, homenode } = &self.agents else { return None };
        let name = &self.hosts[host].name;
        let words = words.iter().map(|word| OsString::from(word.replace(HOST, name)));
        let agent = [homenode.clone().into(), "svm".into(), "agent".into()];
        Some(words.filter(|_| host > 0).chain(agent).collect())
    }
    /// In words, that an agent has ended.
    pub(crate) fn ended(&self, host: usize) -> String {
        let Some(command) = self.command(host) else { return format!("rank {host} of MPI ended") };
        let words: Vec<_> = command.iter().map(|word| word.to_string_lossy()).collect();
        format!("its agent ended, which was started by: {}", clean(&words.join(" ")))
    }
    /// Why node 0 cannot listen.
    pub(crate) fn unheard(&self, why: &io::Error) -> Failure {
        let Host { name, address, .. } = &self.hosts[0];
        match self.agents {
            By::Command { .. } => Failure::usage(format!(
                "--hosts: the first one must be this machine, where node 0 runs, and {name} ({address}) is not: {why}"
            )),
            By::Mpi => Failure::work(format!("cannot listen at {address}, where the other ranks reach rank 0: {why}")),
        }
    }
}

/// The name and the address of a host, given as `NAME` or `NAME=ADDRESS`.
fn host(text: &str) -> Result<(String, IpAddr), Failure> {
    let (name, address) = text.split_once('=').unwrap_or((text, text));
    if name.is_empty() || name.starts_with('-') {
        return Err(Failure::usage(format!("--hosts: '{text}' does not begin with the name of a host")));
    }
    let unknown = |why: &str| Failure::usage(format!("--hosts: {address} has no address: {why}; write {name}=ADDRESS"));
    let mut found = (address, 0).to_socket_addrs().map_err(|e| unknown(&e.to_string()))?;
    let found = found.next().ok_or_else(|| unknown("nothing is known"))?;
    Ok((name.to_owned(), found.ip()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use homenode_command::Class;

    fn plan(hosts: &[&str], agent: &str, nodes: u16) -> Result<Plan, Failure> {
        Plan::new(&hosts.iter().map(|&h| h.to_owned()).collect::<Vec<_>>(), agent, "/bin/homenode".into(), nodes)
    }

    #[test]
    fn nodes_are_shared_out_in_order() {
        let plan = plan(&["a=10.0.0.1", "10.0.0.2", "c=fe80::1"], "rsh -l me {host}", 5).expect("a plan");
        let nodes: Vec<&[u16]> = plan.hosts.iter().map(|h| &h.nodes[..]).collect();
        assert_eq!(nodes, [&[0][..], &[1, 2], &[3, 4]]);
        assert_eq!([0, 2, 4].map(|node| plan.host(node).name.as_str()), ["a", "10.0.0.2", "c"]);
        let command = |host: usize| plan.command(host).expect("a command");
        assert_eq!(command(2), ["rsh", "-l", "me", "c", "/bin/homenode", "svm", "agent"]);
        assert_eq!(command(0), ["/bin/homenode", "svm", "agent"]);
        assert!(plan.ended(2).contains("rsh -l me c /bin/homenode svm agent"));
        let ranks = Plan::of_ranks(plan.hosts, true);
        assert!(ranks.clears && ranks.command(2).is_none() && ranks.ended(2).contains("rank 2 of MPI"));
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let refused = |hosts: &[&str], agent: &str, nodes: u16, why: &str| {
            let failure = plan(hosts, agent, nodes).expect_err(why);
            assert_eq!(failure.class, Class::Usage);
            assert!(failure.message.contains(why), "{}", failure.message);
        };
        refused(&["127.0.0.1", "127.0.0.2"], AGENT, 1, "2 hosts for 1 nodes");
        refused(&["127.0.0.1", "127.0.0.1"], AGENT, 2, "the same host");
        refused(&["a=127.0.0.1", "a=127.0.0.2"], AGENT, 2, "the same host");
        refused(&["127.0.0.1", "10.0.0.2"], AGENT, 2, "cannot reach; write 127.0.0.1=ADDRESS");
        refused(&["=127.0.0.1"], AGENT, 2, "name of a host");
        refused(&["-oProxyCommand=x"], AGENT, 2, "name of a host");
        refused(&["no.such.host.invalid"], AGENT, 2, "has no address");
        refused(&["127.0.0.1"], "ssh", 2, "{host}");
        refused(&["127.0.0.1"], " ", 2, "{host}");
    }
}
