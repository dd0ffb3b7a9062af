//! `homenode svm agent`: the nodes of one host. The launcher on another host says on standard input what to do, and hears on standard
//! output what became of it; when the input ends, so do the nodes. A rank of MPI is that for its one node, over a connection.
use super::digest::{digest, library};
use super::frame::{self, Frame, FromAgent, Of, Prepare, SOME, Start, ToAgent};
use super::sent;
use crate::library::{PRELOAD_ENV, preload};
use homenode_base::NodeId;
use homenode_command::Failure;
use homenode_svm::image::Image;
use homenode_svm::job::{Hosts, JOB_ENV, Job};
use homenode_sys::process::{Inherited, Unrandomized, hide, signal_group};
use homenode_sys::words::memory_file;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, IsTerminal, Read, Write, pipe};
use std::net::TcpListener;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How often the agent looks after its nodes.
const LOOK: Duration = Duration::from_millis(20);
/// How long output may come after a node's end: a process that it started may have it open.
const OUTPUT_MOST: Duration = Duration::from_secs(1);
const SIGKILL: i32 = 9;

/// Where frames go: standard output, or a connection.
pub(crate) type Out = Arc<Mutex<dyn Write + Send>>;

/// What happens to an agent.
enum Event {
    Said(Frame<ToAgent>),
    /// The launcher has ended, or says what is no frame.
    Closed,
    /// A node will write no more.
    Quiet(u16),
}

/// A node of this host.
struct Node {
    number: u16,
    heap: File,
    region: File,
    listening: TcpListener,
    mailbox: Option<File>,
    gate: Option<io::PipeWriter>,
    child: Option<Child>,
    is_quiet: bool,
    ended: Option<Instant>,
}

/// Serves the launcher until it ends; the status to end with: 1 if nodes could not be made or started and the launcher has been told.
///
/// # Errors
/// The launcher could not be told, or there is none.
pub fn agent() -> Result<u8, Failure> {
    if io::stdin().is_terminal() {
        return Err(Failure::usage(
            "`homenode svm run --hosts` starts agents, and speaks with them; people have nothing to say here",
        ));
    }
    attend(io::stdin(), Arc::new(Mutex::new(io::stdout())), |_| Ok(None))
}

/// Serves a launcher that is heard on `input` and told on `out`. `expose` lets others reach the heap of a node, and gives
/// the node's mailbox if they can.
pub(crate) fn attend(
    mut input: impl Read + Send + 'static,
    out: Out,
    expose: impl FnMut(&File) -> io::Result<Option<File>>,
) -> Result<u8, Failure> {
    let (event, events) = channel();
    let hears = event.clone();
    std::thread::spawn(move || {
        while let Ok(Some(said)) = frame::read(&mut input) {
            if hears.send(Event::Said(said)).is_err() {
                return;
            }
        }
        let _ = hears.send(Event::Closed);
    });
    let Err(why) = serve(&out, event, &events, expose) else { return Ok(0) };
    let said = say(&out, &Frame::Message(FromAgent::Failed(why.clone())));
    said.map(|()| 1).map_err(|_| Failure::work(why))
}

fn say(out: &Out, frame: &Frame<FromAgent>) -> io::Result<()> {
    frame::write(&mut *out.lock().unwrap_or_else(PoisonError::into_inner), frame)
}

fn serve(
    out: &Out,
    event: Sender<Event>,
    events: &Receiver<Event>,
    mut expose: impl FnMut(&File) -> io::Result<Option<File>>,
) -> Result<(), String> {
    let heard = |e: io::Error| format!("the launcher does not hear any more: {e}");
    let Ok(Event::Said(Frame::Message(ToAgent::Prepare(wanted)))) = events.recv() else { return Err(stranger()) };
    let mut host = Host::prepare(&wanted)?;
    let listening = host.nodes.iter().map(|n| n.listening.local_addr()).collect::<io::Result<_>>();
    let listening = listening.map_err(|e| format!("cannot listen: {e}"))?;
    say(out, &Frame::Message(FromAgent::Listening(listening))).map_err(heard)?;
    for node in &mut host.nodes {
        let mailbox = expose(&node.heap);
        node.mailbox = mailbox.map_err(|e| format!("cannot let other ranks reach its node's memory: {e}"))?;
    }
    match events.recv() {
        Ok(Event::Said(Frame::Message(ToAgent::Start(start)))) => host.start(&wanted, &start, out, &event)?,
        Ok(Event::Closed) => return Ok(()),
        _ => return Err(stranger()),
    }
    loop {
        match events.recv_timeout(LOOK) {
            Ok(Event::Said(Frame::Data(node, of, offset, bytes))) => host.put(node, of, offset, &bytes)?,
            Ok(Event::Said(Frame::Message(ToAgent::Go))) => {
                host.go()?;
                say(out, &Frame::Message(FromAgent::Gone)).map_err(heard)?;
            }
            Ok(Event::Said(_)) => return Err(stranger()),
            Ok(Event::Quiet(number)) => {
                host.nodes.iter_mut().filter(|n| n.number == number).for_each(|n| n.is_quiet = true);
            }
            Ok(Event::Closed) | Err(RecvTimeoutError::Disconnected) => return Ok(()),
            Err(RecvTimeoutError::Timeout) => {}
        }
        host.look(out).map_err(heard)?;
    }
}

fn stranger() -> String {
    "standard input is not what `homenode svm run --hosts` says, which starts agents".to_owned()
}

/// The nodes of this host, which end with this value.
struct Host {
    nodes: Vec<Node>,
    image: File,
}

impl Drop for Host {
    fn drop(&mut self) {
        for child in self.nodes.iter_mut().filter_map(|n| n.child.as_mut()) {
            signal_group(child.id(), SIGKILL);
            // It was killed.
            let _ = child.wait();
        }
    }
}

/// A file in memory that no other program gets.
fn hidden(name: &str, bytes: u64) -> io::Result<File> {
    let file = memory_file(name, bytes)?;
    hide(file.as_fd())?;
    Ok(file)
}

/// A file in memory that no other program gets, with bytes in it.
fn filled(name: &str, bytes: &[u8]) -> io::Result<File> {
    let file = hidden(name, bytes.len() as u64)?;
    file.write_all_at(bytes, 0)?;
    Ok(file)
}

impl Host {
    fn prepare(wanted: &Prepare) -> Result<Host, String> {
        let (folder, program) = (Path::new(OsStr::from_bytes(&wanted.folder)), OsStr::from_bytes(&wanted.program));
        if wanted.library != library() {
            return Err("its homenode is another build than the launcher's".to_owned());
        }
        let program = Path::new(program);
        std::env::set_current_dir(folder).map_err(|e| format!("cannot go to {}: {e}", folder.display()))?;
        let found = digest(program).map_err(|e| format!("cannot read {}: {e}", program.display()))?;
        if found != wanted.digest {
            return Err(format!("its {} is another build than on node 0's host", program.display()));
        }
        let [heap_bytes, region_bytes] = wanted.bytes;
        let make = |number: &u16| {
            Ok(Node {
                number: *number,
                heap: hidden("homenode heap", heap_bytes)?,
                region: hidden("homenode region", region_bytes)?,
                listening: TcpListener::bind((wanted.address, 0)).map_err(|e| {
                    let what =
                        format!("cannot listen at {}, which the launcher takes for its address: {e}", wanted.address);
                    io::Error::new(e.kind(), what)
                })?,
                mailbox: None,
                gate: None,
                child: None,
                is_quiet: false,
                ended: None,
            })
        };
        let nodes = wanted.nodes.iter().map(make).collect::<io::Result<_>>().map_err(|e| e.to_string())?;
        Ok(Host { nodes, image: hidden("homenode image", 0).map_err(|e| e.to_string())? })
    }

    fn start(&mut self, wanted: &Prepare, start: &Start, out: &Out, event: &Sender<Event>) -> Result<(), String> {
        let failed =
            |e: io::Error| format!("cannot start {}: {e}", Path::new(OsStr::from_bytes(&wanted.program)).display());
        let job = Job::parse(&start.job).map_err(|why| format!("the job that the launcher gives is none: {why}"))?;
        let secret = filled("homenode secret", &start.secret).map_err(failed)?;
        let homes = start.homes.as_ref().map(|list| filled("homenode homes", list)).transpose().map_err(failed)?;
        let before = start.environment.iter().find(|(name, _)| name == PRELOAD_ENV.as_bytes());
        let preload = preload(before.map(|(_, value)| OsStr::from_bytes(value))).map_err(|e| e.message)?;
        let mut command = Command::new(OsStr::from_bytes(&wanted.program));
        let (first, arguments) = start.command.split_first().ok_or_else(stranger)?;
        command.arg0(OsStr::from_bytes(first)).args(arguments.iter().map(|a| OsStr::from_bytes(a)));
        command.env_clear().envs(start.environment.iter().map(|(n, v)| (OsStr::from_bytes(n), OsStr::from_bytes(v))));
        command.env(PRELOAD_ENV, preload).process_group(0).stdin(Stdio::null()).stdout(Stdio::piped());
        for node in &mut self.nodes {
            let stdout =
                node.start(&mut command, &job, [Some(&self.image), Some(&secret), homes.as_ref()]).map_err(failed)?;
            if let Some(stdout) = stdout {
                let (number, out, event) = (node.number, out.clone(), event.clone());
                std::thread::spawn(move || {
                    pass_on(stdout, |bytes| say(&out, &Frame::Output(bytes.to_vec())));
                    let _ = event.send(Event::Quiet(number));
                });
            }
        }
        Ok(())
    }

    fn put(&mut self, number: u16, of: Of, offset: u64, bytes: &[u8]) -> Result<(), String> {
        let node = self.nodes.iter().find(|n| n.number == number && n.gate.is_some());
        let done = match (of, node) {
            (Of::Image, _) => self.image.write_all_at(bytes, offset),
            (Of::Heap, Some(node)) => sent::put(&node.heap, offset, bytes),
            (Of::Region, Some(node)) => sent::put(&node.region, offset, bytes),
            (_, None) => return Err(stranger()),
        };
        done.map_err(|e| format!("no memory for node {number}: {e}"))
    }

    fn go(&mut self) -> Result<(), String> {
        Image::complete(&self.image).map_err(|e| format!("no variables of the program have come: {e}"))?;
        for node in &mut self.nodes {
            let mut gate = node.gate.take().ok_or_else(stranger)?;
            // Whoever is gone is seen gone soon.
            let _ = gate.write_all(&[1]);
        }
        Ok(())
    }

    /// Says which nodes are over.
    fn look(&mut self, out: &Out) -> io::Result<()> {
        for node in &mut self.nodes {
            let Some(child) = &mut node.child else { continue };
            if node.ended.is_none() && child.try_wait()?.is_some() {
                node.ended = Some(Instant::now());
            }
            if node.ended.is_some_and(|since| node.is_quiet || since.elapsed() > OUTPUT_MOST) {
                // What it started goes with it.
                signal_group(child.id(), SIGKILL);
                node.child = None;
                sent::frames(&node.region, node.number, Of::Region, |frame| say(out, &frame))?;
                say(out, &Frame::Message(FromAgent::Ended(node.number)))?;
            }
        }
        Ok(())
    }
}

impl Node {
    /// Starts the program, which waits at the node's gate; what it writes to its standard output. `common`: the files of the variables, the
    /// secret and the homes, which all nodes have.
    fn start(
        &mut self,
        command: &mut Command,
        job: &Job,
        common: [Option<&File>; 3],
    ) -> io::Result<Option<ChildStdout>> {
        let (reader, gate) = pipe()?;
        let [image, secret, plan] = common.map(|file| file.map(AsRawFd::as_raw_fd));
        let hosts = Hosts {
            me: NodeId(self.number),
            listening: self.listening.as_raw_fd(),
            image: image.ok_or(io::ErrorKind::NotFound)?,
            gate: Some(reader.as_raw_fd()),
            peers: job.hosts.as_ref().map(|hosts| hosts.peers.clone()).unwrap_or_default(),
        };
        let [heaps, regions] = [&self.heap, &self.region].map(|file| vec![file.as_raw_fd()]);
        let mailbox = self.mailbox.as_ref().map(AsRawFd::as_raw_fd);
        let job = Job { heaps, regions, secret, plan, mailbox, hosts: Some(hosts), ..job.clone() };
        let own = [self.heap.as_fd(), self.region.as_fd(), self.listening.as_fd(), reader.as_fd()];
        let rest = common.into_iter().flatten().chain(&self.mailbox).map(AsFd::as_fd);
        let _inherited = Inherited::of(own.into_iter().chain(rest))?;
        let _unrandomized = Unrandomized::set()?;
        let mut child = command.env(JOB_ENV, job.to_string()).spawn()?;
        let stdout = child.stdout.take();
        (self.gate, self.child) = (Some(gate), Some(child));
        Ok(stdout)
    }
}

/// Passes a node's output on, to its end: whole lines, if they are no longer than a frame.
fn pass_on(mut from: impl Read, mut say: impl FnMut(&[u8]) -> io::Result<()>) {
    let (mut bytes, mut filled) = (vec![0; SOME], 0);
    loop {
        let held = filled;
        match from.read(&mut bytes[filled..]) {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) | Ok(0) => break,
            Ok(read) => filled += read,
        }
        let end = bytes[held..filled].iter().rposition(|byte| *byte == b'\n').map(|at| held + at + 1);
        let Some(whole) = end.or_else(|| (filled == SOME).then_some(filled)) else { continue };
        if say(&bytes[..whole]).is_err() {
            return;
        }
        bytes.copy_within(whole..filled, 0);
        filled -= whole;
    }
    if filled > 0 {
        // Whoever does not hear it hears nothing more.
        let _ = say(&bytes[..filled]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives so many bytes at a time.
    struct Pieces<'b>(&'b [u8], usize);

    impl Read for Pieces<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let some = self.1.min(self.0.len()).min(into.len());
            into[..some].copy_from_slice(&self.0[..some]);
            self.0 = &self.0[some..];
            Ok(some)
        }
    }

    #[test]
    fn lines_are_passed_on_whole() {
        let long = vec![b'x'; 2 * SOME + 5];
        let text = [b"one\ntwo\n\nthree", &long[..], b"\nlast"].concat();
        for piece in [1, 7, 4096, SOME] {
            let mut said = Vec::new();
            pass_on(Pieces(&text, piece), |bytes| {
                said.push(bytes.to_vec());
                Ok(())
            });
            assert_eq!(said.concat(), text);
            let whole = said.iter().filter(|part| part.ends_with(b"\n")).count();
            // All but pieces of the long line, and the last.
            assert!(said.len() - whole <= 3 && said.iter().all(|part| !part.is_empty()), "{piece}: {}", said.len());
        }
    }
}
