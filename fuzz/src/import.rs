//! What the targets of import share: a sink that checks what it is given, and small files of every format, from which fuzzing begins.
use homenode_import::formats::{ALL, ReadError};
use homenode_import::{Batch, ExactSink, ImportError, ImportSink, Input};
use homenode_sampling::{Notice, RawSample};
use homenode_table::{Cell, Column, Format, Kind, TableFile};
use homenode_trace::Event;
use homenode_trace::symbols::{Global, Site};
use std::collections::HashMap;
use std::io::{Cursor, Write};

/// Most threads, as of a dataset.
const THREADS_MAX: usize = 1 << 16;

/// Counts exact references and events, and checks that they come as the sink asks.
#[derive(Default)]
struct Count {
    threads: HashMap<(u32, u32), u32>,
    /// References and place of the last event of each thread.
    taken: Vec<(u64, u64)>,
}

impl ImportSink for Count {
    fn sample(&mut self, _: &RawSample) -> Result<(), ImportError> {
        panic!("a sample of an exact format")
    }
    fn notice(&mut self, _: &Notice) -> Result<(), ImportError> {
        panic!("a notice of an exact format")
    }
    fn name(&mut self, _: u32, _: &str, _: bool) {}
    fn exact(&mut self) -> Result<&mut dyn ExactSink, ImportError> {
        Ok(self)
    }
}

impl ExactSink for Count {
    fn thread(&mut self, pid: u32, tid: u32) -> Result<u32, ImportError> {
        let next = self.threads.len() as u32;
        let thread = *self.threads.entry((pid, tid)).or_insert(next);
        if self.threads.len() > THREADS_MAX {
            return Err(ImportError::Content("too many threads".to_owned()));
        }
        self.taken.resize(self.threads.len(), (0, 0));
        Ok(thread)
    }
    fn process(&mut self, _: u32, _: &str) {}
    fn references(&mut self, thread: u32, batch: Batch<'_>) -> Result<(), ImportError> {
        assert!(batch.refs.iter().all(|r| r.size > 0));
        assert!(batch.instructions.is_empty() || batch.instructions.len() == batch.refs.len());
        self.taken[thread as usize].0 += batch.refs.len() as u64;
        Ok(())
    }
    fn taken(&self, thread: u32) -> u64 {
        self.taken[thread as usize].0
    }
    fn event(&mut self, event: Event) -> Result<(), ImportError> {
        let (refs, last) = &mut self.taken[event.thread as usize];
        assert!(*last <= event.at && event.at <= *refs, "{event:?} of {refs} references, after one at {last}");
        *last = event.at;
        Ok(())
    }
    fn site(&mut self, _: Site) {}
    fn global(&mut self, _: Global) {}
}

/// Reads an input as the format of this name: it is taken or refused, never more.
pub fn read(format: &str, input: Input<'_>) {
    let format = ALL.iter().find(|f| f.name == format).expect("a format of this name");
    match (format.read)(input, &mut Count::default()) {
        Ok(_) => {}
        Err(ReadError::File(why)) => assert!(!why.is_empty()),
        Err(ReadError::Sink(e)) => assert_eq!(e.exit_status(), 3, "{e}"),
    }
}

/// As [`read`], of a file.
pub fn file(format: &str, data: &[u8]) {
    read(format, Input::File(&mut Cursor::new(data)));
}

/// Names that files of a trace folder take in turn.
pub const NAMES: [&str; 6] = [
    "drmemtrace.app.5.0001.trace",
    "drmemtrace.app.6.0002.trace",
    "drmemtrace.app.7.0003.trace.gz",
    "drmemtrace.app.8.0004.trace.zip",
    "drmemtrace.app.9.0005.trace.lz4",
    "funclist.log",
];

/// Files of a trace folder as one input: which name, how many bytes (two each), the bytes.
pub fn packed(files: &[(u8, Vec<u8>)]) -> Vec<u8> {
    let one = |(name, bytes): &(u8, Vec<u8>)| [&[*name][..], &(bytes.len() as u16).to_le_bytes(), bytes].concat();
    files.iter().flat_map(one).collect()
}

/// The files in such an input: name and bytes.
pub fn unpacked(mut data: &[u8]) -> Vec<(&'static str, &[u8])> {
    let mut files = Vec::new();
    while let Some((&[name, low, high], rest)) = data.split_first_chunk::<3>() {
        let bytes = usize::from(u16::from_le_bytes([low, high])).min(rest.len());
        let (file, rest) = rest.split_at(bytes);
        files.push((NAMES[usize::from(name) % NAMES.len()], file));
        data = rest;
    }
    files
}

fn records(all: &[(u16, u16, u64)]) -> Vec<u8> {
    let one = |&(kind, size, value): &(u16, u16, u64)| {
        [&kind.to_le_bytes()[..], &size.to_le_bytes(), &value.to_le_bytes()].concat()
    };
    all.iter().flat_map(one).collect()
}

/// A drmemtrace file of one thread: instructions, references, stamps, calls of futex(2) and of functions 1 to 4.
pub fn drmemtrace(tid: u64) -> Vec<u8> {
    const US: u64 = 11_644_473_601_000_000;
    let mark = |which: u16, value: u64| (28, which, value);
    let at = |us: u64| [mark(2, US + us), mark(3, 1)];
    let mut all = vec![(25, 0, 7), mark(12, 7), mark(9, 0x40), (22, 4, tid), (24, 4, 4)];
    all.extend(at(10));
    all.extend([
        (47, 4, 0x12),
        (10, 4, 0x40_1000),
        (0, 8, tid << 20),
        (1, 4, 0x7000),
        (17, 2, 0x0305),
        (48, 2, 0x40_1010),
    ]);
    for function in 1..5 {
        all.extend([mark(4, function), mark(5, 0x40_2000), mark(6, 0x9000), mark(6, 0xa000), mark(6, 2)]);
        all.extend([(0, 8, 0x9000), mark(4, function), mark(7, 0), (1, 8, 0xb000)]);
    }
    all.extend(at(20));
    all.extend([mark(25, 202), mark(4, (1 << 32) + 202)]);
    all.extend([0x7000, 128, 1, 0, 0, 0].map(|value| mark(6, value)));
    all.extend([mark(4, (1 << 32) + 202), mark(7, 0)]);
    all.extend(at(30));
    all.extend([mark(21, 0), mark(27, 0), (0, 8, 1 << 63), mark(28, 0), mark(77, 0), (23, 4, tid), (26, 0, 0)]);
    records(&all)
}

/// Packed by gzip.
pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).and_then(|()| encoder.finish()).expect("memory takes it")
}

/// Packed by lz4, with the checksum of the content or without.
pub fn lz4(bytes: &[u8], checked: bool) -> Vec<u8> {
    let info = lz4_flex::frame::FrameInfo::new().content_checksum(checked);
    let mut encoder = lz4_flex::frame::FrameEncoder::with_frame_info(info, Vec::new());
    encoder.write_all(bytes).expect("memory takes it");
    encoder.finish().expect("memory takes it")
}

/// A zip of pieces of so many bytes, deflated or stored.
pub fn zip(bytes: &[u8], piece: usize, deflated: bool) -> Vec<u8> {
    let method = if deflated { zip::CompressionMethod::Deflated } else { zip::CompressionMethod::Stored };
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (i, piece) in bytes.chunks(piece).enumerate() {
        let options = zip::write::SimpleFileOptions::default().compression_method(method);
        writer.start_file(format!("chunk.{i:04}"), options).expect("memory takes it");
        writer.write_all(piece).expect("memory takes it");
    }
    writer.finish().expect("memory takes it").into_inner()
}

/// What lackey writes.
pub const LACKEY: &str = "==7== Lackey, an example Valgrind tool\n==7== Command: ./app -n 3\n==7== \nI  0401ab70,3\nI  0401ab73,5\n \
    S 1fff000758,8\nI  0401b770,1\n L 1fff000750,4\n M 1fff000748,8\n==7== \n==7== Exit code:       0\n";

/// A table of all columns that mean something.
pub const CSV: &str = "thread,addr,op,size,time,site,file,line,function,object,phase,instructions,instructions_are,thread_node\n\
    0,0x1000,load,8,1,0,a.c,3,f,\"x[1,2]\",first,2,counted,0\n0,4104,store,8,2,1,\"a \"\"b\"\".c\",4,g,x,first,,,0\n\
    1,8192,atomic,4,3,,,,,,second,5,estimated,1\n1,8192,spin,4,3,2,a.c,5,f,y,,0,counted,1\n";

/// The same as Parquet, in two row groups.
pub fn parquet() -> Vec<u8> {
    let columns = vec![
        Column::new("thread", Kind::Count),
        Column::new("addr", Kind::Count),
        Column::new("op", Kind::Text),
        Column::new("size", Kind::Count),
        Column::new("site", Kind::Count),
        Column::new("function", Kind::Text),
    ];
    let mut out = Vec::new();
    let mut file = TableFile::new(&mut out, Format::Parquet("t", 20), columns).expect("memory takes it");
    for i in 0..40_u64 {
        let function = if i % 3 == 0 { Cell::Absent } else { Cell::from(["f", "g"][i as usize % 2]) };
        let cells = [
            Cell::Count(i % 2),
            Cell::Count(4096 + i * 8),
            Cell::from(["load", "store"][i as usize % 2]),
            Cell::Count(8),
            if i % 5 == 0 { Cell::Absent } else { Cell::Count(i % 4) },
            function,
        ];
        file.push(cells).expect("memory takes it");
    }
    file.finish().expect("memory takes it");
    out
}
