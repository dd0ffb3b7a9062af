//! Journals of a node: what its operations asked for and were given ([`homenode_hlrc::journal`]), in a file that the launcher made and the
//! node maps, so that what was noted survives whatever kills it. Words of 64 bits in the machine's order: a header, and *tapes*, each written
//! by one thread at a time.
use homenode_base::NodeId;
use homenode_hlrc::cluster::{Cluster, Homes};
use homenode_hlrc::journal::{Record, Tape};
use homenode_hlrc::steps::{self, Intervals, Notices};
use homenode_sys::disk::allocate_part;
use homenode_sys::words::Words;
use std::cell::Cell;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// First word of a journal's file.
const MAGIC: u64 = u64::from_ne_bytes(*b"hnsvmj2\n");
/// Words of the header: a page of any system but for those with larger ones, which map from 0 as well.
const HEADER: usize = 512;
/// Words of the header before the tapes' own.
const FIXED: usize = 21;
/// Words of the header for each tape.
const OF_TAPE: usize = 4;
/// Words of a record.
const RECORD: usize = 2;
/// Tapes that a header has room for.
const TAPES_MAX: usize = (HEADER - FIXED) / OF_TAPE;
/// Records that a tape has room for: 512 MiB.
const TAPE_MOST: u64 = 1 << 25;
/// Records for which a tape takes space on the disk at a time: 1 MiB.
const SPACE: u64 = 1 << 16;
/// Tapes that a node has besides one for each thread: its own first thread's, and one for threads that end while others begin.
const SPARE: usize = 2;

/// Where a tape is in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TapeAt {
    /// Word of its first record.
    first: u64,
    /// Records.
    pub records: u64,
    /// Whether there was no room for all.
    pub is_cut: bool,
}

fn tapes(cluster: &Cluster) -> usize {
    usize::from(cluster.threads) + SPARE
}

fn words(cluster: &Cluster) -> usize {
    HEADER + tapes(cluster) * TAPE_MOST as usize * RECORD
}

/// Makes an empty file the journal of a node. It takes space on the disk only when it is written.
///
/// # Errors
/// What the file system says.
pub fn prepare(file: &File, cluster: &Cluster) -> io::Result<()> {
    file.set_len(8 * words(cluster) as u64)?;
    let all: Vec<TapeAt> = (0..tapes(cluster) as u64)
        .map(|tape| TapeAt { first: HEADER as u64 + tape * TAPE_MOST * RECORD as u64, records: 0, is_cut: false })
        .collect();
    file.write_all_at(&header(cluster, &all), 0)
}

/// Writes a whole journal of a node to an empty file: tapes, each of them records and whether there was no room for all.
///
/// # Errors
/// There are more tapes than a journal has; what the file system says.
pub fn write<'r>(
    file: &File,
    cluster: &Cluster,
    tapes: impl ExactSizeIterator<Item = (&'r [Record], bool)>,
) -> io::Result<()> {
    let count = tapes.len();
    if count > TAPES_MAX {
        return Err(bad(format!("it has {count} tapes, and a journal at most {TAPES_MAX}")));
    }
    let (mut first, mut all) = (HEADER as u64, Vec::new());
    for (records, is_cut) in tapes {
        let tape = TapeAt { first, records: records.len() as u64, is_cut };
        for some in records.chunks(SPACE as usize) {
            let bytes: Vec<u8> = some.iter().flat_map(|r| [r.head, r.value]).flat_map(u64::to_ne_bytes).collect();
            file.write_all_at(&bytes, 8 * first)?;
            first += (RECORD * some.len()) as u64;
        }
        all.push(tape);
    }
    file.write_all_at(&header(cluster, &all), 0)
}

/// Bytes of a header.
fn header(cluster: &Cluster, tapes: &[TapeAt]) -> Vec<u8> {
    let step = steps::ALL.iter().position(|step| step.name == cluster.step.name).unwrap_or(0);
    let fixed: [u64; FIXED] = [
        MAGIC,
        cluster.me.0.into(),
        cluster.nodes.into(),
        cluster.threads.into(),
        cluster.pages.into(),
        cluster.page_words as u64,
        step as u64,
        u64::from(cluster.homes == Homes::RoundRobin),
        cluster.log.into(),
        cluster.inbox.into(),
        cluster.slots.into(),
        cluster.exclusive.into(),
        cluster.extra.into(),
        tapes.len() as u64,
        cluster.prefetch.into(),
        cluster.migrate.into(),
        cluster.sorted.into(),
        cluster.tickets.into(),
        cluster.tree.into(),
        cluster.step.notices as u64,
        cluster.step.intervals as u64,
    ];
    let of_tapes = tapes.iter().flat_map(|tape| [tape.first, tape.records, u64::from(tape.is_cut), 0]);
    let mut words: Vec<u64> = fixed.into_iter().chain(of_tapes).collect();
    words.resize(HEADER, 0);
    words.into_iter().flat_map(u64::to_ne_bytes).collect()
}

/// A journal of a node, read.
#[derive(Debug)]
pub struct Journal {
    file: File,
    /// The node and its cluster.
    pub cluster: Cluster,
    /// Tapes.
    pub tapes: Vec<TapeAt>,
}

impl Journal {
    /// Reads the header of a file.
    ///
    /// # Errors
    /// It is no journal, or damaged; in words.
    pub fn open(file: File) -> io::Result<Journal> {
        let mut bytes = vec![0; 8 * HEADER];
        let len = file.metadata()?.len();
        let short = |e: io::Error| match e.kind() {
            io::ErrorKind::UnexpectedEof => bad("it is shorter than a journal's header"),
            _ => e,
        };
        file.read_exact_at(&mut bytes, 0).map_err(short)?;
        let words: Vec<u64> = words_of(&bytes).collect();
        let (cluster, tapes) = parsed(&words, len).map_err(bad)?;
        Ok(Journal { file, cluster, tapes })
    }

    /// Records of a tape.
    ///
    /// # Errors
    /// What reading says.
    pub fn records(&self, tape: &TapeAt) -> io::Result<Vec<Record>> {
        let bytes = self.bytes(tape)?;
        let words: Vec<u64> = words_of(&bytes).collect();
        let (records, _) = words.as_chunks::<RECORD>();
        Ok(records.iter().map(|[head, value]| Record { head: *head, value: *value }).collect())
    }
    fn bytes(&self, tape: &TapeAt) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; 8 * RECORD * tape.records as usize];
        self.file.read_exact_at(&mut bytes, 8 * tape.first)?;
        Ok(bytes)
    }

    /// Writes the journal to another file, with nothing between its tapes.
    ///
    /// # Errors
    /// What reading and writing say.
    pub fn compact(&self, to: &File) -> io::Result<()> {
        let mut first = HEADER as u64;
        let mut tapes = Vec::new();
        for tape in &self.tapes {
            to.write_all_at(&self.bytes(tape)?, 8 * first)?;
            tapes.push(TapeAt { first, ..*tape });
            first += RECORD as u64 * tape.records;
        }
        to.write_all_at(&header(&self.cluster, &tapes), 0)
    }
}

fn bad(why: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why.into())
}

fn words_of(bytes: &[u8]) -> impl Iterator<Item = u64> {
    bytes.as_chunks::<8>().0.iter().map(|word| u64::from_ne_bytes(*word))
}

/// Reads the words of a header of a file of so many bytes.
fn parsed(words: &[u64], file_bytes: u64) -> Result<(Cluster, Vec<TapeAt>), String> {
    if words[0] != MAGIC {
        return Err("it is no journal that a node of this kind of machine wrote".to_owned());
    }
    let number = |at: usize, from: u64, to: u64| match words[at] {
        value if (from..=to).contains(&value) => Ok(value),
        value => Err(format!("word {at} of its header is {value}: from {from} to {to} is possible")),
    };
    let most = u64::from(u32::MAX);
    let step = steps::ALL[number(6, 0, steps::ALL.len() as u64 - 1)? as usize];
    let notices = Notices::ALL[number(19, 0, Notices::ALL.len() as u64 - 1)? as usize];
    let intervals = Intervals::ALL[number(20, 0, Intervals::ALL.len() as u64 - 1)? as usize];
    let step = step.with(Some(notices), Some(intervals))?;
    let nodes = number(2, 1, homenode_hlrc::MAX_LIVE_NODES as u64)?;
    let cluster = Cluster {
        me: NodeId(number(1, 0, nodes - 1)? as u16),
        nodes: nodes as u16,
        threads: number(3, 1, 64)? as u16,
        pages: number(4, 1, most)? as u32,
        page_words: number(5, 1, 1 << 20)? as usize,
        step,
        homes: if number(7, 0, 1)? == 1 { Homes::RoundRobin } else { Homes::FirstTouch },
        alone: false,
        log: number(8, 4, most)? as u32,
        inbox: number(9, 4, most)? as u32,
        slots: number(10, 1, most)? as u32,
        exclusive: number(11, 0, 1)? == 1,
        prefetch: number(14, 0, homenode_hlrc::PREFETCH_MOST.into())? as u8,
        migrate: number(15, 0, 1)? == 1,
        sorted: number(16, 0, 1)? == 1,
        tickets: number(17, 0, 1)? == 1,
        tree: number(18, 0, 1)? == 1,
        extra: number(12, 0, most)? as u32,
    };
    if cluster.inbox < cluster.least_inbox() {
        return Err("its inboxes are smaller than any cluster's".to_owned());
    }
    let tapes = number(13, 0, TAPES_MAX as u64)? as usize;
    let tape = |at: usize| {
        let [first, records, is_cut] = [0, 1, 2].map(|word| words[FIXED + OF_TAPE * at + word]);
        let end = records.checked_mul(RECORD as u64).and_then(|words| words.checked_add(first));
        let end = end.and_then(|end| end.checked_mul(8)).filter(|end| first >= HEADER as u64 && *end <= file_bytes);
        match end {
            Some(_) => Ok(TapeAt { first, records, is_cut: is_cut != 0 }),
            None => Err(format!("tape {at} of {records} records does not lie in it")),
        }
    };
    Ok((cluster, (0..tapes).map(tape).collect::<Result<_, _>>()?))
}

/// A journal that a node writes.
#[derive(Debug)]
pub(crate) struct Writer {
    file: File,
    words: Words,
    /// Whether a thread writes to a tape, by tape.
    taken: Vec<AtomicBool>,
}

impl Writer {
    /// Maps the node's file, which [`prepare`] made.
    pub(crate) fn map(file: File, cluster: &Cluster) -> io::Result<Writer> {
        let words = Words::of_file(&file, 0, words(cluster))?;
        Ok(Writer { file, words, taken: (0..tapes(cluster)).map(|_| AtomicBool::new(false)).collect() })
    }
    /// Leaves the file: what is noted from now on reaches nobody.
    pub(crate) fn detach(&self) -> io::Result<()> {
        self.words.detach()
    }

    /// A tape for an operation of this thread, if it is one of the node's; none if all are written to.
    pub(crate) fn tape(&self, thread: Option<u16>) -> Option<Noting<'_>> {
        let own = thread.map_or(self.taken.len() - SPARE, usize::from);
        let mut all = [own].into_iter().chain(0..self.taken.len());
        let tape = all.find(|tape| !self.taken[*tape].swap(true, Ordering::Acquire))?;
        let records = self.word(tape, 1).load(Ordering::Relaxed);
        let is_full = self.word(tape, 2).load(Ordering::Relaxed) != 0;
        Some(Noting { writer: self, tape, records: Cell::new(records), is_full: Cell::new(is_full) })
    }
    fn word(&self, tape: usize, word: usize) -> &AtomicU64 {
        &self.words[FIXED + OF_TAPE * tape + word]
    }
}

/// A tape that is written to until this is dropped.
pub(crate) struct Noting<'w> {
    writer: &'w Writer,
    tape: usize,
    records: Cell<u64>,
    is_full: Cell<bool>,
}

impl Noting<'_> {
    fn note(&self, record: Record) {
        let records = self.records.get();
        if self.is_full.get() || records.is_multiple_of(SPACE) && !self.take_space(records) {
            return;
        }
        let at = HEADER + RECORD * (self.tape * TAPE_MOST as usize + records as usize);
        self.writer.words[at].store(record.head, Ordering::Relaxed);
        self.writer.words[at + 1].store(record.value, Ordering::Relaxed);
        self.records.set(records + 1);
        self.writer.word(self.tape, 1).store(records + 1, Ordering::Release);
    }
    /// Space on the disk for the next records: without it a store would kill. False, and the tape ends here, if there is none.
    fn take_space(&self, records: u64) -> bool {
        let first = 8 * (HEADER as u64 + RECORD as u64 * (self.tape as u64 * TAPE_MOST + records));
        // Not every file system can be asked.
        let is_refused = |e: io::Error| e.kind() != io::ErrorKind::Unsupported;
        let has_room = records < TAPE_MOST
            && !allocate_part(&self.writer.file, first, 8 * RECORD as u64 * SPACE).is_err_and(is_refused);
        if !has_room {
            self.is_full.set(true);
            self.writer.word(self.tape, 2).store(1, Ordering::Release);
        }
        has_room
    }
}

impl Tape for Noting<'_> {
    fn asks(&self, record: Record) {
        self.note(record);
    }
    fn given(&self, record: Record) -> u64 {
        self.note(record);
        record.value
    }
}

impl Drop for Noting<'_> {
    fn drop(&mut self) {
        self.writer.taken[self.tape].store(false, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::Job;

    fn cluster() -> Cluster {
        let text = "svm-1 nodes=2 threads=2 step=rf notices=with-lock intervals=lazy transport=shm homes=round-robin heap=1048576 page=4096 exclusive=yes prefetch=2 migrate=yes sorted=yes tickets=yes tree=no pin=no \
                    interrupts=first heaps=3,4 regions=5,6";
        Job::parse(text).expect("a job").cluster(NodeId(1), false)
    }
    fn record(n: u64) -> Record {
        Record { head: n, value: n * n }
    }

    #[test]
    fn what_was_noted_is_read_also_without_what_lies_between() {
        let (file, cluster) = (tempfile::tempfile().expect("a file"), cluster());
        prepare(&file, &cluster).expect("prepared");
        let writer = Writer::map(file.try_clone().expect("a file"), &cluster).expect("mapped");
        let first = writer.tape(Some(1)).expect("a tape");
        let other = writer.tape(Some(1)).expect("another tape, for the first one is taken");
        (1..=70_000).for_each(|n| first.asks(record(n)));
        assert_eq!(other.given(record(5)), 25);
        drop((first, other));
        writer.tape(Some(1)).expect("it is free again").asks(record(70_001));
        let all: Vec<Noting<'_>> = (0..4).map(|_| writer.tape(None).expect("one of four")).collect();
        assert!(writer.tape(None).is_none());
        drop(all);
        let journal = Journal::open(file).expect("a journal");
        assert_eq!(format!("{:?}", journal.cluster), format!("{cluster:?}"));
        let compact = tempfile::tempfile().expect("a file");
        journal.compact(&compact).expect("written");
        assert!(compact.metadata().expect("a file").len() < 1_200_000);
        for journal in [journal, Journal::open(compact).expect("a journal")] {
            let lengths: Vec<u64> = journal.tapes.iter().map(|tape| tape.records).collect();
            assert_eq!(lengths, [1, 70_001, 0, 0]);
            let records = journal.records(&journal.tapes[1]).expect("they are there");
            assert!(records.iter().zip(1..).all(|(found, n)| *found == record(n)));
        }
    }

    #[test]
    fn what_was_noted_in_memory_is_read_from_a_file() {
        let (file, cluster) = (tempfile::tempfile().expect("a file"), cluster());
        let long: Vec<Record> = (0..150_000).map(record).collect();
        let tapes = [(&long[..], false), (&[], false), (&long[7..9], true)];
        write(&file, &cluster, tapes.into_iter()).expect("written");
        let journal = Journal::open(file).expect("a journal");
        assert_eq!(format!("{:?}", journal.cluster), format!("{cluster:?}"));
        assert_eq!(journal.tapes.len(), tapes.len());
        for (at, (records, is_cut)) in journal.tapes.iter().zip(tapes) {
            assert_eq!((&journal.records(at).expect("they are there")[..], at.is_cut), (records, is_cut));
        }
        let many = vec![(&long[..1], false); TAPES_MAX + 1];
        let empty = tempfile::tempfile().expect("a file");
        let refused = write(&empty, &cluster, many.into_iter()).expect_err("too many").to_string();
        assert!(refused.contains("123 tapes, and a journal at most 122"), "{refused}");
    }

    #[test]
    fn a_tape_without_space_ends_and_says_so() {
        let (file, cluster) = (tempfile::tempfile().expect("a file"), cluster());
        prepare(&file, &cluster).expect("prepared");
        // A file that is open for reading only takes no space.
        let writer = Writer::map(file.try_clone().expect("a file"), &cluster).expect("mapped");
        let path = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&file));
        let writer = Writer { file: File::open(path).expect("the file again"), ..writer };
        let tape = writer.tape(Some(0)).expect("a tape");
        tape.asks(record(1));
        assert_eq!(tape.given(record(2)), 4);
        drop(tape);
        writer.tape(Some(0)).expect("a tape").asks(record(3));
        let journal = Journal::open(file).expect("a journal");
        assert_eq!((journal.tapes[0].records, journal.tapes[0].is_cut), (0, true));
    }

    #[test]
    fn damaged_headers_are_refused_in_words() {
        let whole = header(&cluster(), &[TapeAt { first: 512, records: 3, is_cut: false }]);
        let len = whole.len() as u64 + 48;
        let words: Vec<u64> = words_of(&whole).collect();
        assert!(parsed(&words, len).is_ok());
        for (at, value, why) in [
            (0, 5, "no journal"),
            (1, 2, "word 1 of"),
            (2, 65, "word 2 of"),
            (6, 9, "word 6 of"),
            (9, 4, "smaller than any"),
            (13, 1 << 40, "word 13 of"),
            (21, 511, "does not lie in it"),
            (22, 4, "does not lie in it"),
            (21, u64::MAX, "does not lie in it"),
            (14, 16, "word 14 of"),
            (18, 2, "word 18 of"),
            (19, 3, "word 19 of"),
            (19, 1, "notices with the lock"),
            (20, 2, "word 20 of"),
        ] {
            let mut words = words.clone();
            words[at] = value;
            let said = parsed(&words, len).expect_err(why);
            assert!(said.contains(why), "{said}");
        }
        let empty = tempfile::tempfile().expect("a file");
        assert!(Journal::open(empty).expect_err("it is empty").to_string().contains("shorter"));
    }
}
