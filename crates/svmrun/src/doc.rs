//! What a run came to: the document of `homenode svm run`.
use homenode_hlrc::cluster::Layout;
use homenode_svm::job::Job;
use homenode_svm::shared::{COUNTED, Class, INTERRUPTED, Kind, SIGNALS, Shared};
use homenode_sys::words::Words;
use schemars::JsonSchema;
use serde::Serialize;
use std::sync::atomic::{AtomicU64, Ordering};

/// Identifier of these documents, described by `docs/schema/svm-run.json`.
pub(crate) const SCHEMA: &str = "https://github.com/homenode/homenode/schema/svm-run-1";

/// A program that ran on nodes that share their memory by a protocol.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SvmDoc {
    /// Identifier of this kind of document, described by `docs/schema/svm-run.json`.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: &'static str,
    /// The command that was run.
    pub command: Vec<String>,
    /// Exit status of the program; negative = killed by that signal.
    pub exit_status: i32,
    /// Seconds from the start to the end.
    pub seconds: f64,
    /// Step of the ladder.
    pub protocol: &'static str,
    /// Transport.
    pub transport: &'static str,
    /// Threads a node.
    pub threads_per_node: u16,
    /// Bytes of a page.
    pub page_bytes: u64,
    /// Bytes of the heap that were given out.
    pub heap_used_bytes: u64,
    /// Nodes; only the first one if the program created no thread.
    pub nodes: Vec<NodeDoc>,
    /// What a reader should know, in sentences.
    pub notes: Vec<String>,
}

/// What a node did.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct NodeDoc {
    /// Number.
    pub node: u16,
    /// Process id.
    pub pid: u32,
    /// Threads that ran there.
    pub threads: Vec<ThreadDoc>,
    /// What the protocol did.
    pub counts: Vec<Counted>,
    /// Interrupts of other nodes that this node asked for, by kind.
    pub interrupts: Vec<Counted>,
    /// Signals that were really sent to threads of this node.
    pub signals: u64,
    /// Messages to other nodes, by kind.
    pub messages: Vec<Messages>,
}

/// A thing and how often.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Counted {
    /// In words.
    pub what: &'static str,
    /// How often.
    pub times: u64,
}

/// Messages of a kind.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Messages {
    /// In words.
    pub kind: &'static str,
    /// How many.
    pub messages: u64,
    /// Bytes of data in them, without heads.
    pub bytes: u64,
}

/// What a thread did with its time.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct ThreadDoc {
    /// Number in the cluster.
    pub thread: u32,
    /// Faults at reads.
    pub read_faults: u64,
    /// Faults at writes.
    pub write_faults: u64,
    /// Seconds of its life; 0 if it was not over when the program ended.
    pub seconds: f64,
    /// Seconds of its own work: its life without all that follows; 0 like that.
    pub compute_seconds: f64,
    /// Seconds for data: faults.
    pub data_seconds: f64,
    /// Seconds for locks, conditions, flags, and words that are changed at once.
    pub lock_seconds: f64,
    /// Seconds at barriers and reductions.
    pub barrier_seconds: f64,
    /// Seconds for serving other nodes, interrupted.
    pub serving_seconds: f64,
    /// Seconds for creating and joining threads, and for memory.
    pub other_seconds: f64,
}

impl SvmDoc {
    /// The JSON document on one line.
    pub fn to_json(&self) -> String {
        homenode_command::json_line(self)
    }
    /// Status of the process: the program's; that of a shell if a signal killed it.
    pub fn status(&self) -> u8 {
        match self.exit_status {
            status if status < 0 => u8::try_from(128 - status).unwrap_or(1),
            status => u8::try_from(status).unwrap_or(1),
        }
    }
}

/// What nodes say of themselves in their regions.
pub(crate) fn nodes(job: &Job, layout: &Layout, regions: &[Words]) -> Vec<NodeDoc> {
    let began = |region: &&Words| process(region, layout) != 0;
    let numbered = (0..).zip(regions.iter().take_while(began));
    numbered
        .map(|(node, region)| node_doc(node, job, Shared::of(region, layout.extra()), process(region, layout)))
        .collect()
}

/// Process of a node; 0 before it has begun.
pub(crate) fn process(region: &[AtomicU64], layout: &Layout) -> u32 {
    load(Shared::of(region, layout.extra()).word(homenode_svm::shared::PROCESS)) as u32
}

fn load(word: &AtomicU64) -> u64 {
    word.load(Ordering::Acquire)
}

fn node_doc(node: u16, job: &Job, words: Shared<'_>, pid: u32) -> NodeDoc {
    let messages = |kind: &Kind| {
        let (messages, bytes) = words.messages(*kind);
        Messages { kind: kind.name(), messages: load(messages), bytes: load(bytes) }
    };
    let threads = (0..job.threads).filter_map(|t| thread_doc(u32::from(node) * u32::from(job.threads), t, words));
    NodeDoc {
        node,
        pid,
        threads: threads.collect(),
        counts: COUNTED.iter().map(|(c, what)| Counted { what, times: load(words.count(*c)) }).collect(),
        interrupts: INTERRUPTED.iter().map(|(i, what)| Counted { what, times: load(words.interrupts(*i)) }).collect(),
        signals: load(words.word(SIGNALS)),
        messages: Kind::ALL.iter().map(messages).collect(),
    }
}

/// What a thread did; `None` if it never ran.
fn thread_doc(first: u32, number: u16, words: Shared<'_>) -> Option<ThreadDoc> {
    let thread = words.thread(number);
    if thread.doing().0 == 0 {
        return None;
    }
    let seconds = |nanoseconds: u64| nanoseconds as f64 / 1e9;
    let of = |class| load(thread.time(class));
    let life = load(thread.life());
    let inside: u64 = Class::ALL.into_iter().map(of).fold(0, u64::saturating_add);
    Some(ThreadDoc {
        thread: first + u32::from(number),
        read_faults: load(thread.faults(false)),
        write_faults: load(thread.faults(true)),
        seconds: seconds(life),
        compute_seconds: seconds(life.saturating_sub(inside)),
        data_seconds: seconds(of(Class::Data)),
        lock_seconds: seconds(of(Class::Lock)),
        barrier_seconds: seconds(of(Class::Barrier)),
        serving_seconds: seconds(of(Class::Serving)),
        other_seconds: seconds(of(Class::Other)),
    })
}
