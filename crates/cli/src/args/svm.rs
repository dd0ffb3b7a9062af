//! Commands of shared virtual memory.
use super::names;
use super::values::bytes;
use clap::{Args, Subcommand, ValueHint};
use std::ffi::OsString;
use std::path::PathBuf;

#[derive(Subcommand, Debug)]
pub(crate) enum Svm {
    /// Run a program on nodes that share their memory by a protocol.
    Run(Box<SvmRun>),
    /// Say where the time of such a run went, and what would save some of it.
    Report(SvmReportArgs),
    /// Carry out again what nodes noted in journals, and compare what the protocol does.
    Replay(SvmReplayArgs),
    /// Look after nodes of this host for a launcher on another one, which starts this.
    #[command(
        after_help = "`homenode svm run --hosts` starts it on each host, speaks with it over its standard input and output,
and ends it with the run. There is nothing else to do with it.

Example (what the launcher does for a host):
  ssh -o BatchMode=yes b /usr/local/bin/homenode svm agent"
    )]
    Agent,
}

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  homenode svm run -n 2 --journal lu.journals -- ./lu -p 2
  homenode svm replay lu.journals

A journal has of each operation (a page fault, a lock, a barrier...) what the protocol asked its node
for and what the node gave: words read, pages fetched, interrupts. The protocol of this homenode is
given the same, and must ask for the same; the first thing that it does otherwise is named, with
status 1. So a run that went wrong can be looked at again, and a changed protocol be compared with
what happened. Contents of pages are not in it, but for the words that diffs carry.")]
pub(crate) struct SvmReplayArgs {
    /// Folder that `homenode svm run --journal` or `homenode sim cluster --journal` wrote.
    #[arg(value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub(crate) folder: PathBuf,
    /// Print the result as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  homenode svm run -n 4 -o radix.svm -- ./radix -p 4
  homenode svm report radix.svm
  homenode svm report radix.svm --compare radix-local.svm
  homenode svm report radix.svm --plan homes.json
  homenode svm run -n 4 --homes homes.json -- ./radix -p 4

Seconds a thread by class and phase, what was fetched of which object and page, which locks were
waited for, and advice with what it saves at most. Phases are those that the program marks with
homenode_phase_begin. Objects have names if the program was compiled with -g. With --compare, what
the other run did without. The plan of --plan names every page of memory that a line of the program
took: where it lived, or with the node that made nine of ten of its writes, if that is another one.")]
pub(crate) struct SvmReportArgs {
    /// Document that `homenode svm run -o` wrote.
    #[arg(value_name = "RUN", value_hint = ValueHint::FilePath)]
    pub(crate) run: PathBuf,
    /// Document of another run.
    #[arg(long, value_name = "OTHER", value_hint = ValueHint::FilePath)]
    pub(crate) compare: Option<PathBuf>,
    /// Write a plan of homes for the next run (`homenode svm run --homes`): each page with the node that writes it.
    #[arg(long, value_name = "PLAN", value_hint = ValueHint::FilePath)]
    pub(crate) plan: Option<PathBuf>,
    /// Replace that file.
    #[arg(long, requires = "plan")]
    pub(crate) force: bool,
    /// Print the result as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  homenode svm run -n 4 -- ./lu -p 4
  homenode svm run -n 2 --threads 2 --protocol base -- ./water -p 4
  homenode svm run -n 2 --transport tcp -- ./lu -p 2
  homenode svm run -n 4 --homes round-robin --json -- ./fft -p 4
  homenode svm run -n 4 --hosts a=10.0.0.1,b,c,d -- ./lu -p 4
  mpirun -n 4 homenode svm run --transport mpi -- ./lu -p 4
  homenode place fft.hnt --machine 4-nodes.toml -o plan.json
  homenode svm run -n 4 --homes plan.json -- ./fft -p 4

The program is written against homenode.h: it takes shared memory with homenode_shared_alloc, and
threads, locks, barriers and what else threads wait with of the same header; or in PARMACS, with the
macros of parmacs.m4. Its nodes are processes that share
nothing else; every page is copied between them. It must be linked dynamically, and be the program
itself and no script that starts it. With --hosts nodes run on other machines, too: homenode, the
program and its libraries must be the same there, at the same paths. With --transport mpi each rank
of the mpirun that starts this is a node, on whichever host (docs/design/svm-mpi.md). What it did is said on stderr (not with --quiet); the status
is the program's, and 1 with one line on stderr if a node was lost. `homenode list svm-steps` names
the protocols, `homenode list svm-transports` the transports. A plan is one of a recording of the
same source with threads (docs/design/svm-runtime.md): its objects are found by the line that takes
them, so both programs are compiled with -g; its nodes are those of the run that have the same threads.")]
pub(crate) struct SvmRun {
    /// Nodes, 1 to 64. With --transport mpi mpirun says it.
    #[arg(short, long, value_name = "N")]
    pub(crate) nodes: Option<u16>,
    /// Threads a node, 1 to 64.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) threads: u16,
    /// Step of the ladder from Base to GeNIMA: base, dw, rf, dd, nil (genima is the same).
    #[arg(long, value_name = "STEP", default_value = "genima", value_parser = names::STEP, hide_possible_values = true)]
    pub(crate) protocol: String,
    /// How nodes reach each other's memory: shm copies between memories of one host, tcp has sockets alone, mpi moves pages by the
    /// MPI of the mpirun that started this, or is tcp where that needs help there. Default: shm, with --hosts tcp.
    #[arg(long, value_name = "NAME", value_parser = names::family("svm-transports"), hide_possible_values = true)]
    pub(crate) transport: Option<String>,
    /// Hosts that nodes run on, each getting as many as any other or one more; the first one is this machine.
    #[arg(long, value_name = "HOST[=ADDRESS],...", value_delimiter = ',', value_hint = ValueHint::Hostname)]
    pub(crate) hosts: Vec<String>,
    /// Command that starts a program on another host, whose name takes the place of {host} [default: ssh -o BatchMode=yes {host}]
    #[arg(long, value_name = "COMMAND", requires = "hosts")]
    pub(crate) agent: Option<String>,
    /// Compiler of mpirun's MPI, with --transport mpi [default: the mpicc of the MPI that the environment names, else mpicc]
    #[arg(long, value_name = "PROGRAM", value_hint = ValueHint::CommandName)]
    pub(crate) mpicc: Option<PathBuf>,
    /// Global variables that point to memory which node 0 alone has, as of malloc: refuse the program, or make them null on other nodes.
    #[arg(long, value_name = "WHAT", default_value = "refuse", value_parser = ["refuse", "null"])]
    pub(crate) private_pointers: String,
    /// Homes of pages: first-touch (with who touches them first), round-robin (page by page in turn), block (equal parts of each
    /// piece of memory), or the file of a plan that `homenode place` wrote; what it does not name then lives with who touches
    /// it first. (A plan of such a name: ./block.)
    #[arg(long, value_name = "RULE|PLAN", default_value = "first-touch", value_hint = ValueHint::FilePath, value_parser = names::HOMES, hide_possible_values = true)]
    pub(crate) homes: String,
    /// Pages of which no other node has a copy stay writable at their homes, which tell nobody of it; from Base to GeNIMA it is not so.
    #[arg(long)]
    pub(crate) exclusive: bool,
    /// Pages that come with one that is fetched, if the program was not seen to leave them alone: 0 to 15, the paper's is 4.
    #[arg(long, value_name = "PAGES", default_value_t = 0, value_parser = clap::value_parser!(u8).range(..=15))]
    pub(crate) prefetch: u8,
    /// Homes move, at barriers, to the node that alone writes a page: three diffs of it without a notice of another node between them.
    #[arg(long)]
    pub(crate) migrate: bool,
    /// Give up pages that other nodes wrote in the order of pages, for all writers together: one call protects those that follow one another.
    #[arg(long)]
    pub(crate) sorted: bool,
    /// Nodes tell each other by a tree that a barrier is open, four each; else the last one to come tells all others.
    #[arg(long)]
    pub(crate) tree: bool,
    /// Who of a node's threads has a lock next: test-and-set (who looks first), ticket (who asked first).
    #[arg(long, value_name = "KIND", default_value = "test-and-set", value_parser = ["test-and-set", "ticket"])]
    pub(crate) node_locks: String,
    /// Bind threads to processors, in turn over all that the program may use, and place each node's heap on the memory node of its first thread.
    #[arg(long)]
    pub(crate) pin: bool,
    /// Note what the protocol does in journals in this folder, which is made or empty, for `homenode svm replay`: 16 bytes for each word
    /// it reads or writes, at most 512 MiB a thread. The run takes longer by that, most where threads take locks. Nodes of this host alone.
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath, conflicts_with = "hosts")]
    pub(crate) journal: Option<PathBuf>,
    /// Bytes of the shared heap; K, M, G and T are powers of 1024. Memory is taken where it is touched.
    #[arg(long, value_name = "BYTES", default_value = "16G", value_parser = bytes)]
    pub(crate) heap: u64,
    /// Bytes of a page: a power of two from 4096 to 1M.
    #[arg(long, value_name = "BYTES", default_value = "4096", value_parser = bytes)]
    pub(crate) page: u64,
    /// Which thread of a node an interrupt stops: the first that computes, one after the other (round-robin), or none (polled: each node
    /// has one more thread, which looks for what others ask for).
    #[arg(long, value_name = "WHICH", default_value = "first", value_parser = ["first", "round-robin", "polled"])]
    pub(crate) interrupts: String,
    /// How write notices come [default: the step's]: as messages with the lock or the barrier (base), deposited at all nodes at each release
    /// (pushed; dw and above), or read at the acquire out of the memory of those that wrote (fetched).
    #[arg(long, value_name = "HOW", value_parser = ["with-lock", "pushed", "fetched"])]
    pub(crate) notices: Option<String>,
    /// When changes go to the homes [default: the step's]: when another node asks for a lock, and at barriers (lazy; base), or at each
    /// release (dw and above).
    #[arg(long, value_name = "WHEN", value_parser = ["lazy", "at-release"])]
    pub(crate) diffs: Option<String>,
    /// Write the result as JSON to this file as well, for `homenode svm report`.
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,
    /// Replace that file.
    #[arg(long, requires = "output")]
    pub(crate) force: bool,
    /// Print the result as JSON, and nothing else on stdout: what the program prints there goes to stderr.
    #[arg(long)]
    pub(crate) json: bool,
    /// Program and its arguments, which may follow `--`; all options stand before it.
    #[arg(trailing_var_arg = true, required = true, value_name = "CMD", value_hint = ValueHint::CommandWithArguments)]
    pub(crate) command: Vec<OsString>,
}
