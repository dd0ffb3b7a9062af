//! Program and recorder in one.
use hashbrown::HashMap;
use homenode_trace::columns::Column;
use homenode_trace::event::{AllocSource, Event, EventKind, SyncKind};
use homenode_trace::frame::{BATCH_REFS_MAX, FRAME_REFS_MAX, RawRef};
use homenode_trace::framing::Codec;
use homenode_trace::manifest::{Manifest, Process, Thread};
use homenode_trace::record::Op;
use homenode_trace::sample::{Sample, Sampling};
use homenode_trace::store::MemStore;
use homenode_trace::symbols::{Global, Site, Symbols};
use homenode_trace::writer::Writer;
use homenode_trace::{DatasetReader, TraceError};
use std::io;
use std::sync::Arc;

#[derive(Clone, Copy, Debug)]
struct Made {
    raw: RawRef,
    sample: Sample,
}

/// What a thread did, in its program order.
#[derive(Clone, Debug, Default)]
struct Script {
    refs: Vec<Made>,
    /// Clock and references before each stamp.
    stamps: Vec<(u64, usize)>,
    /// What optional columns hold: by reference, in that order.
    columns: Vec<(usize, &'static Column, u64)>,
}

/// Builds a dataset. Threads are numbered from 0 and all of them start at once unless [`Builder::spawn`] creates them.
/// Every call on it advances the clock of the stamps by one tick.
#[derive(Clone, Debug)]
pub struct Builder {
    manifest: Manifest,
    scripts: Vec<Script>,
    events: Vec<Event>,
    symbols: Symbols,
    numbers: HashMap<(u64, u64), u64>,
    generations: HashMap<u64, u64>,
    clock: u64,
    batch_refs: usize,
    frame_refs: usize,
    codec: Codec,
}

/// Size and program counter of a reference made by [`Builder::read`] and [`Builder::write`].
const WORD_BYTES: u32 = 8;
const READ_PC: u64 = 0x40_1000;
const WRITE_PC: u64 = 0x40_2000;

impl Builder {
    /// A program of `threads` threads in one process, without references yet.
    pub fn new(threads: u32) -> Builder {
        let manifest = Manifest {
            complete: true,
            backend: "synthetic".into(),
            command: vec!["synthetic".into()],
            exit_status: Some(0),
            clock: homenode_trace::manifest::Clock::Logical,
            host_cpus: 1,
            processes: vec![Process { pid: 1000, address_space: 0, executable: "/synthetic".into() }],
            threads: (0..threads).map(|t| Thread { tid: 1000 + t, ..Thread::default() }).collect(),
            synchronised: true,
            ..Manifest::default()
        }
        .of_format();
        let mut b = Builder {
            manifest,
            scripts: vec![Script::default(); threads as usize],
            events: Vec::new(),
            symbols: Symbols::default(),
            numbers: HashMap::new(),
            generations: HashMap::new(),
            clock: 0,
            batch_refs: 63,
            frame_refs: FRAME_REFS_MAX,
            codec: Codec::Lz4,
        };
        b.site(READ_PC, "read_word", "synthetic.c", 10).site(WRITE_PC, "write_word", "synthetic.c", 20);
        b
    }

    /// References between two stamps, 1 to [`BATCH_REFS_MAX`] (63 unless set: what slots alone of a batch of the recorder's rings hold).
    pub fn batch_refs(&mut self, n: usize) -> &mut Builder {
        self.batch_refs = n.clamp(1, BATCH_REFS_MAX);
        self
    }
    /// References in a frame, 1 to [`FRAME_REFS_MAX`] (the most unless set); a frame holds at least one batch.
    pub fn frame_refs(&mut self, n: usize) -> &mut Builder {
        self.frame_refs = n.clamp(1, FRAME_REFS_MAX);
        self
    }
    /// Compression of frames and events.
    pub fn codec(&mut self, codec: Codec) -> &mut Builder {
        self.codec = codec;
        self
    }
    /// The manifest, to change before [`Builder::store`]. Counts are filled in there.
    pub fn manifest(&mut self) -> &mut Manifest {
        &mut self.manifest
    }
    /// Number of threads.
    pub fn threads(&self) -> u32 {
        self.scripts.len() as u32
    }
    /// References of a thread so far.
    pub fn refs(&self, thread: u32) -> u64 {
        self.scripts[thread as usize].refs.len() as u64
    }
    /// Adds a process with its own address space and returns its index; move threads there through [`Builder::manifest`].
    pub fn process(&mut self) -> u32 {
        let index = self.manifest.processes.len() as u32;
        let executable = "/synthetic".to_owned();
        self.manifest.processes.push(Process { pid: 1000 + index, address_space: index, executable });
        index
    }

    /// Ends the thread's batch: the next reference begins a new one.
    pub fn stamp(&mut self, thread: u32) -> &mut Builder {
        self.clock += 1;
        let s = &mut self.scripts[thread as usize];
        s.stamps.push((self.clock, s.refs.len()));
        self
    }
    /// Makes the dataset a sampled one: references have samples, those of [`Builder::access`] with weight 1.
    pub fn sampled(&mut self, sampling: Sampling) -> &mut Builder {
        self.manifest.mark_sampled(sampling);
        self
    }
    /// One reference.
    pub fn access(&mut self, thread: u32, addr: u64, size: u32, op: Op, pc: u64) -> &mut Builder {
        self.sample(thread, addr, size, op, pc, Sample::ONE)
    }
    /// One sampled reference; what is sampled about it is written only if the dataset is a sampled one.
    pub fn sample(&mut self, thread: u32, addr: u64, size: u32, op: Op, pc: u64, sample: Sample) -> &mut Builder {
        let s = &self.scripts[thread as usize];
        if s.stamps.last().is_none_or(|&(_, first)| s.refs.len() - first >= self.batch_refs) {
            self.stamp(thread);
        }
        self.clock += 1;
        let s = &mut self.scripts[thread as usize];
        s.refs.push(Made { raw: RawRef { addr, size, op, pc }, sample });
        self
    }
    /// What an optional column holds for the thread's last reference.
    ///
    /// # Panics
    /// The thread has none yet.
    pub fn column(&mut self, thread: u32, column: &'static Column, value: u64) -> &mut Builder {
        let s = &mut self.scripts[thread as usize];
        let last = s.refs.len().checked_sub(1).expect("a column is said of a reference");
        s.columns.push((last, column, value));
        self
    }
    /// One 8-byte load.
    pub fn read(&mut self, thread: u32, addr: u64) -> &mut Builder {
        self.access(thread, addr, WORD_BYTES, Op::Read, READ_PC)
    }
    /// One 8-byte store.
    pub fn write(&mut self, thread: u32, addr: u64) -> &mut Builder {
        self.access(thread, addr, WORD_BYTES, Op::Write, WRITE_PC)
    }

    /// One event at the thread's current position.
    pub fn event(&mut self, thread: u32, kind: EventKind) -> &mut Builder {
        self.clock += 1;
        self.events.push(Event { thread, at: self.refs(thread), stamp: self.clock, kind });
        self
    }
    fn number(&mut self, object: u64, epoch: u64) -> u64 {
        let n = self.numbers.entry((object, epoch)).or_insert(0);
        *n += 1;
        *n
    }
    /// A release with the next number of its object, as of a mutex.
    pub fn release(&mut self, thread: u32, object: u64, epoch: u64) -> &mut Builder {
        self.release_of(thread, (object, epoch), SyncKind::Mutex)
    }
    /// An acquire with the next number of its object, as of a mutex: it follows every release made so far.
    pub fn acquire(&mut self, thread: u32, object: u64, epoch: u64) -> &mut Builder {
        self.acquire_of(thread, (object, epoch), SyncKind::Mutex)
    }
    /// A release of this kind of synchronisation; (object, epoch).
    pub fn release_of(&mut self, thread: u32, (object, epoch): (u64, u64), sync: SyncKind) -> &mut Builder {
        let seq = self.number(object, epoch);
        self.event(thread, EventKind::Release { object, epoch, seq, sync })
    }
    /// An acquire of this kind of synchronisation; (object, epoch).
    pub fn acquire_of(&mut self, thread: u32, (object, epoch): (u64, u64), sync: SyncKind) -> &mut Builder {
        let seq = self.number(object, epoch);
        self.event(thread, EventKind::Acquire { object, epoch, seq, sync })
    }
    /// A numbered read-modify-write.
    pub fn acq_rel(&mut self, thread: u32, object: u64, epoch: u64) -> &mut Builder {
        let seq = self.number(object, epoch);
        self.event(thread, EventKind::AcqRel { object, epoch, seq, sync: SyncKind::Atomic })
    }
    /// All of `threads` arrive at the barrier and leave it together.
    pub fn barrier(&mut self, object: u64, threads: impl IntoIterator<Item = u32> + Clone) -> &mut Builder {
        let generation = self.generations.entry(object).or_insert(0);
        let epoch = std::mem::replace(generation, *generation + 1);
        let sync = SyncKind::Barrier { parties: threads.clone().into_iter().count() as u32 };
        threads.clone().into_iter().for_each(|t| {
            self.release_of(t, (object, epoch), sync);
        });
        threads.into_iter().for_each(|t| {
            self.acquire_of(t, (object, epoch), sync);
        });
        self
    }
    /// `parent` creates `child`, which must not have done anything yet.
    pub fn spawn(&mut self, parent: u32, child: u32) -> &mut Builder {
        self.manifest.threads[child as usize].parent = Some(parent);
        self.event(parent, EventKind::Spawn { child })
    }
    /// Thread 0 creates all others.
    pub fn spawn_all(&mut self) -> &mut Builder {
        (1..self.threads()).for_each(|child| {
            self.spawn(0, child);
        });
        self
    }
    /// Memory from malloc; `stack` innermost first.
    pub fn alloc(&mut self, thread: u32, addr: u64, bytes: u64, stack: &[u64]) -> &mut Builder {
        self.event(thread, EventKind::Alloc { addr, bytes, source: AllocSource::Heap, stack: stack.to_vec() })
    }
    /// Memory given back.
    pub fn free(&mut self, thread: u32, addr: u64) -> &mut Builder {
        self.event(thread, EventKind::Free { addr })
    }
    /// Names a code location of process 0.
    pub fn site(&mut self, pc: u64, function: &str, file: &str, line: u32) -> &mut Builder {
        let (function, file, module) = (function.to_owned(), file.to_owned(), "/synthetic".to_owned());
        self.symbols.sites.push(Site { process: 0, pc, module, offset: pc, function, file, line, ..Site::default() });
        self
    }
    /// Names a global of process 0.
    pub fn global(&mut self, name: &str, addr: u64, bytes: u64) -> &mut Builder {
        let (name, module) = (name.to_owned(), "/synthetic".to_owned());
        self.symbols.globals.push(Global { process: 0, addr, bytes, name, module, of: None });
        self
    }

    /// Names and modules, to change before [`Builder::store`].
    pub fn symbols(&mut self) -> &mut Symbols {
        &mut self.symbols
    }

    /// Writes the dataset. It is valid unless the manifest was changed to say otherwise.
    pub fn store(&self) -> Arc<MemStore> {
        let store = Arc::new(MemStore::default());
        self.write_to(store.clone()).expect("memory takes everything, and every script has its thread in the manifest");
        store
    }

    /// Writes and opens the dataset.
    pub fn open(&self) -> Result<DatasetReader, TraceError> {
        DatasetReader::open(self.store())
    }

    fn write_to(&self, store: Arc<MemStore>) -> io::Result<()> {
        let mut writer = Writer::new(store, self.codec)?;
        for (thread, script) in (0..).zip(&self.scripts) {
            self.frames(&mut writer, thread, script)?;
        }
        self.events.iter().try_for_each(|event| writer.event(event.clone()))?;
        writer.symbols(&self.all_symbols())?;
        writer.finish(self.manifest.clone()).map(drop)
    }

    fn frames(&self, writer: &mut Writer<Arc<MemStore>>, thread: u32, script: &Script) -> io::Result<()> {
        writer.begin(thread)?;
        let mut columns = script.columns.iter().peekable();
        for (i, &(clock, first)) in script.stamps.iter().enumerate() {
            let end = script.stamps.get(i + 1).map_or(script.refs.len(), |next| next.1);
            // Frames end with batches: the stamp that ends the batch is then the frame's end.
            let held = writer.pending(thread);
            if held > 0 && held + (end - first) > self.frame_refs.min(FRAME_REFS_MAX) {
                writer.end_frame(thread, clock)?;
            }
            writer.stamp(thread, clock)?;
            for (at, made) in (first..).zip(&script.refs[first..end]) {
                match self.manifest.sampling {
                    Some(_) => writer.push_sample(thread, made.raw, &made.sample)?,
                    None => writer.push(thread, made.raw)?,
                }
                while let Some((_, column, value)) = columns.next_if(|c| c.0 == at) {
                    writer.column(thread, column, *value)?;
                }
            }
        }
        if writer.pending(thread) > 0 { writer.end_frame(thread, self.clock + 1) } else { Ok(()) }
    }

    /// Symbols with a bare site for every program counter that was not named.
    fn all_symbols(&self) -> Symbols {
        let mut symbols = self.symbols.clone();
        let mut add = |thread: usize, pc: u64| {
            let process = self.manifest.threads[thread].process;
            symbols.sites.push(Site { process, pc, ..Site::default() });
        };
        for (i, script) in self.scripts.iter().enumerate() {
            let pcs: hashbrown::HashSet<u64> = script.refs.iter().map(|r| r.raw.pc).collect();
            pcs.into_iter().for_each(|pc| add(i, pc));
        }
        for e in &self.events {
            if let EventKind::Alloc { stack, .. } = &e.kind {
                stack.iter().for_each(|&pc| add(e.thread as usize, pc));
            }
        }
        symbols.normalise();
        symbols
    }
}
