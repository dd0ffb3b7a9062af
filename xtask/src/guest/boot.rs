//! One run of one guest, from the image to the status.
use super::options::Vm;
use super::stream::Stream;
use super::{image, kernel, packages, qemu};
use anyhow::{Context, ensure};
use std::io::{Read, Write};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// How many lines of the guest's console explain a failure.
const LAST_LINES: usize = 60;
/// How often the harness looks whether QEMU still lives.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// After QEMU's end nothing new is written, only read: this much silence means that all has been read.
const SILENCE: Duration = Duration::from_millis(300);

/// Where bytes come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Port {
    /// Standard output of the command.
    Out,
    /// Standard error of the command.
    Err,
    /// Status of the command and /out.
    Result,
    /// The kernel's console, and what QEMU itself says.
    Console,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// The command ended with this status.
    Status(u8),
    /// The command was not done in time.
    TimeOut,
    /// The guest or QEMU ended before the command did: why, in one line.
    Broken(String),
}

/// One finished run.
#[derive(Debug)]
pub(crate) struct Run {
    /// How it ended.
    pub(crate) ended: Ended,
    /// The last lines of the console, each with a prefix; empty if the command ended by itself.
    pub(crate) last_lines: String,
}

/// Receives output as it comes.
pub(crate) type Sink<'a> = dyn FnMut(Port, &[u8]) + 'a;

/// Boots a guest, runs `command`, ends the guest.
///
/// # Errors
/// What prevents a start; a guest that starts and then fails is a [`Run`].
pub(crate) fn run(vm: &Vm, command: &[String], verbose: bool, sink: &mut Sink) -> anyhow::Result<Run> {
    packages::check()?;
    let kernel = kernel::image(vm.kernel.as_deref())?;
    let folder = tempfile::Builder::new().prefix("guest.").tempdir()?;
    let mark = end_mark()?;
    let initramfs = folder.path().join("image");
    image::write(&initramfs, vm, command, &mark)?;
    let sockets = [1, 2, 3].map(|n| folder.path().join(format!("port{n}")));
    let (send, receive) = channel();
    for (socket, port) in sockets.iter().zip([Port::Out, Port::Err, Port::Result]) {
        let listener = UnixListener::bind(socket).with_context(|| format!("{}", socket.display()))?;
        forward(send.clone(), port, move || listener.accept().map(|(stream, _)| stream).ok());
    }
    let ports = [sockets[0].as_path(), &sockets[1], &sockets[2]];
    let files = qemu::Files { kernel: &kernel, image: &initramfs, ports };
    let distances = vm.topology.distances(vm.nodes, vm.all_nodes())?;
    let words = qemu::arguments(vm, &distances, &files, verbose);
    if verbose {
        eprintln!("guest: qemu-system-x86_64 {}", words.join(" "));
    }
    let qemu = start(&words, &send)?;
    drop(send);
    let guest = Guest { qemu, receive, mark };
    guest.attend(Duration::from_secs(vm.timeout_s), vm.out.as_deref(), sink)
}

/// Random, and beginning with a byte that text does not contain.
fn end_mark() -> anyhow::Result<String> {
    let mut random = [0; 16];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut random)?;
    Ok(format!("\u{1}end-{:032x}\u{1}", u128::from_ne_bytes(random)))
}

/// `setpriv` asks the kernel to kill QEMU when this process dies, whatever it dies of.
fn start(words: &[String], send: &Sender<(Port, Vec<u8>)>) -> anyhow::Result<Child> {
    let mut qemu = Command::new("setpriv")
        .args(["--pdeathsig", "KILL", "qemu-system-x86_64"])
        .args(words)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .context("starting QEMU")?;
    let (out, err) = (qemu.stdout.take(), qemu.stderr.take());
    forward(send.clone(), Port::Console, || out);
    forward(send.clone(), Port::Console, || err);
    Ok(qemu)
}

/// Sends whatever comes from `open()` to the channel, on a thread of its own that ends with the stream.
fn forward<R: Read>(send: Sender<(Port, Vec<u8>)>, port: Port, open: impl FnOnce() -> Option<R> + Send + 'static) {
    std::thread::spawn(move || {
        let mut buffer = vec![0; 1 << 16];
        let Some(mut from) = open() else { return };
        while let Ok(n @ 1..) = from.read(&mut buffer) {
            if send.send((port, buffer[..n].to_vec())).is_err() {
                return;
            }
        }
    });
}

struct Guest {
    qemu: Child,
    receive: Receiver<(Port, Vec<u8>)>,
    mark: String,
}

impl Drop for Guest {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.qemu.kill();
        let _ = self.qemu.wait();
    }
}

impl Guest {
    /// Passes output on until the command is done, the guest is gone or the time is over.
    fn attend(mut self, limit: Duration, out: Option<&Path>, sink: &mut Sink) -> anyhow::Result<Run> {
        let deadline = Instant::now() + limit;
        let mut streams = [Port::Out, Port::Err, Port::Result].map(|p| (p, Stream::new(&self.mark)));
        let (mut console, mut result, mut gone) = (Vec::new(), Vec::new(), false);
        let ended = loop {
            match self.receive.recv_timeout(if gone { SILENCE } else { LOOK_EVERY }) {
                Ok((Port::Console, bytes)) => {
                    sink(Port::Console, &bytes);
                    console.extend(bytes);
                }
                Ok((port, bytes)) => {
                    let stream = streams.iter_mut().find(|s| s.0 == port).expect("every other port has a stream");
                    let bytes = stream.1.feed(&bytes);
                    if port == Port::Result { result.extend(bytes) } else { sink(port, &bytes) }
                }
                Err(RecvTimeoutError::Timeout) if !gone => gone = self.qemu.try_wait()?.is_some(),
                Err(_) => break Ended::Broken(why(&String::from_utf8_lossy(&console))),
            }
            if streams.iter().all(|s| s.1.ended()) {
                return Ok(Run { ended: Ended::Status(finish(&result, out)?), last_lines: String::new() });
            }
            if Instant::now() >= deadline {
                break Ended::TimeOut;
            }
        };
        Ok(Run { ended, last_lines: last_lines(&String::from_utf8_lossy(&console)) })
    }
}

/// The status that the guest sent; unpacks the /out that follows it.
fn finish(result: &[u8], out: Option<&Path>) -> anyhow::Result<u8> {
    let end = result.iter().position(|&b| b == b'\n').context("the guest sent no status")?;
    let status = String::from_utf8_lossy(&result[..end]).parse().context("the guest's status is no number")?;
    if let Some(folder) = out {
        std::fs::create_dir_all(folder).with_context(|| format!("--out {}", folder.display()))?;
        let mut tar = Command::new("tar")
            .args(["-xf", "-", "--no-same-owner", "--no-overwrite-dir", "-C"])
            .arg(folder)
            .stdin(Stdio::piped())
            .spawn()
            .context("running tar")?;
        tar.stdin.take().expect("a pipe was asked for").write_all(&result[end + 1..])?;
        ensure!(tar.wait()?.success(), "the guest's /out cannot be unpacked into {}", folder.display());
    }
    Ok(status)
}

/// Why a guest ended by itself, from what its console and QEMU said.
fn why(console: &str) -> String {
    let line = |word: &str| console.lines().find(|l| l.contains(word)).map(|l| l.trim().to_owned());
    if let Some(panic) = line("Kernel panic") {
        // The kernel numbers its complaints; the first one is the cause.
        let cause = line("[#1]").map_or_else(String::new, |cause| format!("{cause}; "));
        return format!("the guest's kernel stopped: {cause}{panic}");
    }
    match line("qemu-system-x86_64:") {
        Some(complaint) => format!("QEMU refused: {complaint}"),
        None => "the guest ended before COMMAND did (does every node have enough memory?)".to_owned(),
    }
}

fn last_lines(console: &str) -> String {
    let lines: Vec<&str> = console.lines().map(str::trim_end).filter(|l| !l.is_empty()).collect();
    lines[lines.len().saturating_sub(LAST_LINES)..].iter().map(|l| format!("console| {l}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_of_a_dead_guest_is_found() {
        assert!(why("a\r\n[ 1.0] Kernel panic - not syncing: no init\r\n").contains("not syncing: no init"));
        let oops =
            "[ 1.5] int3: 0000 [#1] PREEMPT SMP\n[ 1.6] RIP: enqueue_timer\n[ 1.7] Kernel panic - not syncing: Fatal\n";
        assert_eq!(
            why(oops),
            "the guest's kernel stopped: [ 1.5] int3: 0000 [#1] PREEMPT SMP; [ 1.7] Kernel panic - not syncing: Fatal"
        );
        assert!(why("qemu-system-x86_64: -numa: bad\n").contains("-numa: bad"));
        assert!(why("").contains("memory"));
    }

    #[test]
    fn only_the_last_lines_are_shown() {
        let console: String = (0..200).map(|i| format!("line {i}\r\n\r\n")).collect();
        let shown = last_lines(&console);
        assert_eq!(shown.lines().count(), LAST_LINES);
        assert!(shown.starts_with("console| line 140\n") && shown.ends_with("console| line 199\n"));
    }

    #[test]
    fn the_status_precedes_the_archive() {
        assert_eq!(finish(b"3\nrest", None).unwrap(), 3);
        for wrong in [&b""[..], b"\n", b"x\n", b"256\n"] {
            assert!(finish(wrong, None).is_err());
        }
    }

    #[test]
    fn marks_differ() {
        assert_ne!(end_mark().unwrap(), end_mark().unwrap());
    }
}
