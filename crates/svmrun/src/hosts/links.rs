//! The launcher's side: agents are started, told what to do, and heard.
use super::digest::{digest, library};
use super::frame::{self, Frame, FromAgent, Of, Prepare, Start, ToAgent};
use super::plan::Plan;
use super::{private, sent};
use crate::memory::{Memory, NodeEnd, region_bytes};
use homenode_base::NodeId;
use homenode_command::Failure;
use homenode_svm::image::Image;
use homenode_svm::job::{Hosts, JOB_ENV, Job};
use homenode_svm::shared::{IMAGE, SENT, WRITTEN};
use homenode_sys::process::hide;
use homenode_sys::sparse;
use homenode_sys::words::memory_file;
use homenode_table::clean;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long an agent may take to answer: a connection is made, and a user's profile read.
const ANSWER_MOST: Duration = Duration::from_secs(60);
/// How long nodes may take to end that were told to, and their agents.
const END_MOST: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(10);

/// What is to be told to an agent.
enum Telling {
    Message(ToAgent),
    /// What of a file is not zero.
    File(u16, Of, File),
}

/// What an agent says; `None` once it has ended.
type Heard = (usize, Option<Frame<FromAgent>>);

/// An agent of a host.
struct Agent {
    /// Index of the host.
    host: usize,
    /// `None` if it is no child of this process.
    child: Option<Child>,
    /// Reads what it says, to the end.
    reader: JoinHandle<()>,
    /// `None` once it has been told all.
    tell: Option<Sender<Telling>>,
    teller: Option<JoinHandle<()>>,
    nodes: Vec<u16>,
    has_gone: bool,
}

/// How far nodes on other hosts are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Processes wait for the program to create threads.
    Waiting,
    /// Memory is on its way.
    Sending,
    Running,
}

/// What ends a run, come from another host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Came {
    /// The program ended there, with this status.
    Exited(u8),
    /// A node or a host was lost.
    Lost(String),
    /// The program cannot go on with nodes on other hosts.
    Refused(String),
}

/// The agents of all hosts. When this value is dropped, so are they and their nodes.
pub(crate) struct Agents {
    plan: Plan,
    agents: Vec<Agent>,
    heard: Receiver<Heard>,
    stage: Stage,
    ended: BTreeSet<u16>,
    program: PathBuf,
    /// Node 0's.
    listening: TcpListener,
    /// For the program's variables.
    image: File,
    /// What a reader of the run should know.
    note: Option<String>,
}

impl Agents {
    /// Starts the agents, or takes them as they `came`, in the order of their hosts; they prepare their nodes, and the job is told where these listen.
    pub(crate) fn prepare(plan: Plan, came: Vec<TcpStream>, job: &mut Job, program: &Path) -> Result<Agents, Failure> {
        let failed = |what: &str, e: io::Error| Failure::work(format!("{what}: {e}"));
        let first = &plan.hosts[0];
        let listening = TcpListener::bind((first.address, 0)).map_err(|e| plan.unheard(&e))?;
        let folder = std::env::current_dir().map_err(|e| failed("there is no current folder", e))?;
        let program = folder.join(program);
        let wanted = Prepare {
            library: library(),
            folder: folder.as_os_str().as_bytes().to_vec(),
            program: program.as_os_str().as_bytes().to_vec(),
            digest: digest(&program).map_err(|e| failed(&program.to_string_lossy(), e))?,
            address: first.address,
            nodes: Vec::new(),
            bytes: [job.heap_bytes, region_bytes(job)],
        };
        let own = listening.local_addr().map_err(|e| failed("cannot listen", e))?;
        let image = memory_file("homenode image", 0).and_then(|file| hide(file.as_fd()).map(|()| file));
        let image = image.map_err(|e| failed("no memory for the program's variables", e))?;
        let (say, heard) = channel();
        let mut agents = Agents {
            agents: Vec::new(),
            heard,
            stage: Stage::Waiting,
            ended: BTreeSet::new(),
            program,
            listening,
            image,
            note: None,
            plan,
        };
        let mut came = came.into_iter();
        for host in 0..agents.plan.hosts.len() {
            let nodes: Vec<u16> = agents.plan.hosts[host].nodes.iter().copied().filter(|node| *node > 0).collect();
            if !nodes.is_empty() {
                let agent = match came.next() {
                    Some(connection) => Agent::connected(connection, host, nodes.clone(), say.clone()),
                    None => Agent::start(&agents.plan, host, nodes.clone(), say.clone()),
                }?;
                let address = agents.plan.hosts[host].address;
                agent.tell(Telling::Message(ToAgent::Prepare(Prepare { address, nodes, ..wanted.clone() })));
                agents.agents.push(agent);
            }
        }
        let peers = agents.addresses(own)?;
        let (listening, image) = (agents.listening.as_raw_fd(), agents.image.as_raw_fd());
        job.hosts = Some(Hosts { me: NodeId(0), listening, image, gate: None, peers });
        Ok(agents)
    }

    /// Waits until all agents have said where their nodes listen; addresses by node.
    fn addresses(&mut self, own: SocketAddr) -> Result<Vec<SocketAddr>, Failure> {
        let since = Instant::now();
        let mut found = std::collections::BTreeMap::from([(0, own)]);
        for _ in 0..self.agents.len() {
            let heard = self.heard.recv_timeout(ANSWER_MOST.saturating_sub(since.elapsed()));
            let Ok((host, frame)) = heard else {
                let missing = self.agents.iter().find(|a| !found.contains_key(&a.nodes[0])).map_or(0, |a| a.host);
                let (name, most) = (&self.plan.hosts[missing].name, ANSWER_MOST.as_secs());
                return Err(Failure::work(format!("host {name}: no answer from its agent for {most} s")));
            };
            let nodes = self.agents.iter().find(|a| a.host == host).map(|a| a.nodes.clone()).unwrap_or_default();
            match frame {
                Some(Frame::Message(FromAgent::Listening(there))) if there.len() == nodes.len() => {
                    found.extend(nodes.into_iter().zip(there));
                }
                other => return Err(Failure::work(self.failed(host, other))),
            }
        }
        Ok(found.into_values().collect())
    }

    /// In words, what an agent said that ends all.
    fn failed(&self, host: usize, said: Option<Frame<FromAgent>>) -> String {
        let name = &self.plan.hosts[host].name;
        match said {
            Some(Frame::Message(FromAgent::Failed(why))) => format!("host {name}: {}", clean(&why)),
            Some(_) => format!("host {name}: its agent says what no agent does"),
            None => format!("host {name}: {}", self.plan.ended(host)),
        }
    }

    /// Lets the agents start their nodes, which wait.
    pub(crate) fn start(&self, job: &Job, memory: &Memory, command: &[OsString]) -> io::Result<()> {
        let bytes = |word: &OsString| word.as_bytes().to_vec();
        let environment = std::env::vars_os().filter(|(name, _)| name != JOB_ENV);
        let start = Start {
            job: job.to_string(),
            secret: memory.secret()?,
            homes: memory.plan()?,
            command: command.iter().map(bytes).collect(),
            environment: environment.map(|(name, value)| (bytes(&name), bytes(&value))).collect(),
        };
        self.tell_all(|| ToAgent::Start(start.clone()));
        Ok(())
    }
    fn tell_all(&self, message: impl Fn() -> ToAgent) {
        self.agents.iter().for_each(|agent| agent.tell(Telling::Message(message())));
    }

    /// What node 0 inherits besides the memory.
    pub(crate) fn inherited(&self) -> [BorrowedFd<'_>; 2] {
        [self.listening.as_fd(), self.image.as_fd()]
    }
    /// The host that a node runs on.
    pub(crate) fn host(&self, node: u16) -> &str {
        &self.plan.host(node).name
    }

    /// Does what there is to do while the program, `main`, runs; what ends the run, if anything does.
    pub(crate) fn look(&mut self, memory: &Memory, main: u32) -> Option<Came> {
        let asked = memory.words(0).word(IMAGE).load(Ordering::Acquire) == WRITTEN;
        if self.stage == Stage::Waiting && asked {
            self.stage = Stage::Sending;
            if let Err(why) = self.send(memory, main) {
                return Some(Came::Refused(why));
            }
        }
        while let Ok((host, frame)) = self.heard.try_recv() {
            if let Some(came) = self.hear(memory, host, frame) {
                return Some(came);
            }
        }
        None
    }

    /// Sends all agents the memory of their nodes, as node 0 has left it, and the program's variables.
    fn send(&mut self, memory: &Memory, main: u32) -> Result<(), String> {
        let failed = |what: &str, e: io::Error| format!("{what}: {e}");
        let unread = |e| failed("cannot read the program's variables", e);
        let mut image = Image::read(&self.image).map_err(unread)?;
        let maps = fs::read_to_string(format!("/proc/{main}/maps"));
        let maps = maps.map_err(|e| failed("cannot see node 0's memory", e))?;
        let pointers = private::pointers(&image, &maps);
        let pointers = private::begin_anew(&mut image, pointers, &self.program);
        if self.plan.clears {
            self.note = private::note(&pointers, &self.program);
            private::clear(&mut image, &pointers);
        } else if let Some(why) = private::refusal(&pointers, &self.program) {
            return Err(why);
        }
        image.write(&self.image).map_err(unread)?;
        let copied = |e| failed("cannot send memory to other hosts", e);
        for agent in &self.agents {
            agent.tell(Telling::File(0, Of::Image, self.image.try_clone().map_err(copied)?));
            for &node in &agent.nodes {
                let [heap, region] = memory.files(node);
                agent.tell(Telling::File(node, Of::Heap, heap.try_clone().map_err(copied)?));
                agent.tell(Telling::File(node, Of::Region, region.try_clone().map_err(copied)?));
            }
        }
        self.tell_all(|| ToAgent::Go);
        Ok(())
    }

    fn hear(&mut self, memory: &Memory, host: usize, frame: Option<Frame<FromAgent>>) -> Option<Came> {
        let at = self.agents.iter().position(|a| a.host == host)?;
        match frame {
            Some(Frame::Output(bytes)) => {
                // Where nobody reads it, it is written in vain.
                let _ = io::stdout().write_all(&bytes).and_then(|()| io::stdout().flush());
                None
            }
            Some(Frame::Data(node, Of::Region, offset, bytes)) if self.is_running(at, node) => {
                let [_, region] = memory.files(node);
                sent::put(region, offset, &bytes).err().map(|e| Came::Lost(format!("host {}: {e}", self.host(node))))
            }
            Some(Frame::Message(FromAgent::Gone)) if self.stage == Stage::Sending => {
                self.agents[at].has_gone = true;
                self.agents.iter().all(|a| a.has_gone).then(|| self.begin(memory).err()).flatten()
            }
            Some(Frame::Message(FromAgent::Ended(node))) if self.agents[at].nodes.contains(&node) => {
                self.ended.insert(node);
                match (self.stage, memory.end(node.into())) {
                    (Stage::Running, NodeEnd::Told) => None,
                    (_, NodeEnd::Exited(status)) => Some(Came::Exited(status)),
                    _ => Some(Came::Lost(self.crashed(memory, node))),
                }
            }
            None if self.agents[at].nodes.iter().all(|node| self.ended.contains(node)) => None,
            other => Some(Came::Lost(self.failed(host, other))),
        }
    }
    fn crashed(&self, memory: &Memory, node: u16) -> String {
        let process = memory.processes().find(|(n, _)| *n == usize::from(node)).map(|(_, process)| process);
        let process = process.map_or_else(String::new, |process| format!(" (process {process})"));
        format!("node {node}{process} on host {} was killed or crashed", self.host(node))
    }
    fn is_running(&self, agent: usize, node: u16) -> bool {
        self.stage != Stage::Waiting && self.agents[agent].nodes.contains(&node) && !self.ended.contains(&node)
    }

    /// Lets node 0 go on, as all nodes of other hosts do.
    fn begin(&mut self, memory: &Memory) -> Result<(), Came> {
        // What nodes count will come from them, to take the place of what was sent.
        for &node in self.agents.iter().flat_map(|a| &a.nodes) {
            let [_, region] = memory.files(node);
            sparse::clear(region).map_err(|e| Came::Lost(format!("cannot clear memory: {e}")))?;
        }
        self.stage = Stage::Running;
        memory.words(0).word(IMAGE).store(SENT, Ordering::Release);
        Ok(())
    }

    /// Ends the agents; what a reader of the run should know.
    pub(crate) fn end(mut self) -> Option<String> {
        self.note.take()
    }
    /// Waits, after the program's end, for that of its nodes, and for what they counted.
    pub(crate) fn finish(&mut self, memory: &Memory) -> Option<Came> {
        let (since, nodes) = (Instant::now(), self.agents.iter().map(|a| a.nodes.len()).sum());
        while self.stage == Stage::Running && self.ended.len() < nodes {
            match self.heard.recv_timeout(END_MOST.saturating_sub(since.elapsed())) {
                Ok((host, frame)) => {
                    if let Some(came) = self.hear(memory, host, frame) {
                        return Some(came);
                    }
                }
                Err(_) => {
                    let missing = self.agents.iter().flat_map(|a| &a.nodes).find(|node| !self.ended.contains(node));
                    let missing = missing.copied().unwrap_or_default();
                    let (host, most) = (self.host(missing), END_MOST.as_secs());
                    return Some(Came::Lost(format!("node {missing} on host {host} did not end for {most} s")));
                }
            }
        }
        None
    }
}

impl Drop for Agents {
    fn drop(&mut self) {
        // All hear the end before one is waited for.
        self.agents.iter_mut().for_each(|agent| agent.tell = None);
    }
}

impl Agent {
    fn start(plan: &Plan, host: usize, nodes: Vec<u16>, say: Sender<Heard>) -> Result<Agent, Failure> {
        let name = &plan.hosts[host].name;
        let words = plan.command(host).unwrap_or_default();
        let Some((program, arguments)) = words.split_first() else {
            return Err(Failure::work(format!("host {name}: its agent has not come")));
        };
        let mut command = Command::new(program);
        // A group of its own: what the terminal tells the program is not for it.
        command.args(arguments).process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped());
        let failed = |e| Failure::work(format!("host {name}: cannot start {}: {e}", program.to_string_lossy()));
        let mut child = command.spawn().map_err(failed)?;
        let (Some(mut input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(Failure::work(format!("host {name}: its agent has no pipes")));
        };
        let tell = move |told: &Receiver<Telling>| tell_on(&mut input, told);
        Ok(Agent::of(host, nodes, Some(child), output, say, tell))
    }
    /// An agent that was started by somebody else.
    fn connected(to: TcpStream, host: usize, nodes: Vec<u16>, say: Sender<Heard>) -> Result<Agent, Failure> {
        let output = to.try_clone().map_err(|e| Failure::work(format!("cannot hear a rank: {e}")))?;
        let mut to = to;
        let tell = move |told: &Receiver<Telling>| {
            tell_on(&mut to, told);
            // One that has closed it hears nothing anyway.
            let _ = to.shutdown(Shutdown::Write);
        };
        Ok(Agent::of(host, nodes, None, output, say, tell))
    }
    fn of(
        host: usize,
        nodes: Vec<u16>,
        child: Option<Child>,
        mut output: impl Read + Send + 'static,
        say: Sender<Heard>,
        teller: impl FnOnce(&Receiver<Telling>) + Send + 'static,
    ) -> Agent {
        let reader = std::thread::spawn(move || {
            while let Ok(Some(frame)) = frame::read(&mut output) {
                if say.send((host, Some(frame))).is_err() {
                    break;
                }
            }
            let _ = say.send((host, None));
            // Whoever waits for its end waits for that of its output.
            let _ = io::copy(&mut output, &mut io::sink());
        });
        let (tell, told) = channel();
        let teller = Some(std::thread::spawn(move || teller(&told)));
        Agent { host, child, reader, tell: Some(tell), teller, nodes, has_gone: false }
    }

    fn is_over(&mut self) -> bool {
        match &mut self.child {
            Some(child) => !matches!(child.try_wait(), Ok(None)),
            None => self.reader.is_finished(),
        }
    }

    fn tell(&self, what: Telling) {
        if let Some(tell) = &self.tell {
            // One that is gone is heard to be.
            let _ = tell.send(what);
        }
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.tell = None;
        let since = Instant::now();
        while since.elapsed() < END_MOST && !self.is_over() {
            std::thread::sleep(LOOK);
        }
        if let Some(child) = &mut self.child {
            // One that is over already cannot be killed.
            let _ = child.kill();
            let _ = child.wait();
        }
        if let Some(teller) = self.teller.take().filter(|teller| self.child.is_some() || teller.is_finished()) {
            let _ = teller.join();
        }
    }
}

/// Tells an agent what is to be told, until there is no more.
fn tell_on(to: &mut impl Write, told: &Receiver<Telling>) {
    while let Ok(what) = told.recv() {
        let done = match what {
            Telling::Message(message) => frame::write(to, &Frame::Message(message)),
            Telling::File(node, of, file) => sent::frames::<ToAgent>(&file, node, of, |frame| frame::write(to, &frame)),
        };
        if done.is_err() {
            return;
        }
    }
}
