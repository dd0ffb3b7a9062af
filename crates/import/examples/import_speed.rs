//! Speed of importing exact recordings, beside what reading and decoding alone take. Without arguments it makes a plain drmemtrace file
//! of 40 million records, and tables of 4 million rows as CSV and as Parquet; with a file or folder it imports that and says what was
//! counted.
//!
//! `cargo run --release -p homenode-import --example import_speed [-- PATH | trace | csv | parquet]`
use homenode_base::Rng;
use homenode_import::{Batch, ExactSink, ImportError, ImportSink, Input, import, read};
use homenode_sampling::{Notice, RawSample};
use homenode_sys::clock::ThreadClock;
use homenode_sys::dir::Dir;
use homenode_table::{Cell, Column, Format, Kind, TableFile};
use homenode_trace::Event;
use homenode_trace::check::check;
use homenode_trace::symbols::{Global, Site};
use std::error::Error;
use std::fs::File;
use std::io::{BufWriter, Read, Write};
use std::path::{Path, PathBuf};

const RECORDS: u64 = 40_000_000;
const ROWS: u64 = 4_000_000;

/// Takes references and keeps none.
#[derive(Default)]
struct Nobody {
    taken: Vec<u64>,
}

impl ExactSink for Nobody {
    fn thread(&mut self, _: u32, _: u32) -> Result<u32, ImportError> {
        self.taken.push(0);
        Ok(self.taken.len() as u32 - 1)
    }
    fn process(&mut self, _: u32, _: &str) {}
    fn references(&mut self, thread: u32, batch: Batch<'_>) -> Result<(), ImportError> {
        self.taken[thread as usize] += batch.refs.len() as u64;
        Ok(())
    }
    fn taken(&self, thread: u32) -> u64 {
        self.taken[thread as usize]
    }
    fn event(&mut self, _: Event) -> Result<(), ImportError> {
        Ok(())
    }
    fn site(&mut self, _: Site) {}
    fn global(&mut self, _: Global) {}
}

impl ImportSink for Nobody {
    fn sample(&mut self, _: &RawSample) -> Result<(), ImportError> {
        Ok(())
    }
    fn notice(&mut self, _: &Notice) -> Result<(), ImportError> {
        Ok(())
    }
    fn name(&mut self, _: u32, _: &str, _: bool) {}
    fn exact(&mut self) -> Result<&mut dyn ExactSink, ImportError> {
        Ok(self)
    }
}

/// A thread that walks two arrays and a table: five records an iteration, as x86-64 code has them.
fn make(path: &Path) -> std::io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 20, File::create(path)?);
    let mut put = |kind: u16, size: u16, value: u64| {
        out.write_all(&kind.to_le_bytes())?;
        out.write_all(&size.to_le_bytes())?;
        out.write_all(&value.to_le_bytes())
    };
    put(25, 0, 7)?;
    put(28, 12, 7)?;
    put(28, 9, 0x40)?;
    put(22, 4, 2)?;
    put(24, 4, 1)?;
    let mut rng = Rng::new(1);
    for i in 0..RECORDS / 10 {
        if i % 512 == 0 {
            put(28, 2, 13_000_000_000_000_000 + i)?;
            put(28, 3, 1)?;
        }
        put(10, 4, 0x40_1000)?;
        put(0, 8, 0x7000_0000 + i % 100_000 * 8)?;
        put(10, 3, 0x40_1004)?;
        put(10, 4, 0x40_1007)?;
        put(0, 8, 0x7100_0000 + rng.below(1 << 20) * 8)?;
        put(10, 4, 0x40_100b)?;
        put(10, 4, 0x40_100f)?;
        put(1, 8, 0x7200_0000 + i % 100_000 * 8)?;
        put(10, 4, 0x40_1013)?;
        put(48, 2, 0x40_1017)?;
    }
    put(23, 4, 2)?;
    put(26, 0, 0)?;
    out.flush()
}

/// A table with the columns of an export, of two threads that alternate every 1,000 rows.
fn table(path: &Path, format: Format) -> Result<(), Box<dyn Error>> {
    let columns = [
        ("thread", Kind::Count32),
        ("addr", Kind::Count),
        ("size", Kind::Count32),
        ("op", Kind::Text),
        ("site", Kind::Count32),
        ("file", Kind::Text),
        ("line", Kind::Count32),
        ("function", Kind::Text),
    ];
    let columns = columns.map(|(name, kind)| Column::new(name, kind)).to_vec();
    let mut file = TableFile::new(BufWriter::with_capacity(1 << 20, File::create(path)?), format, columns)?;
    let mut rng = Rng::new(1);
    for i in 0..ROWS {
        let addr = if i % 2 == 0 { 0x7000_0000 + i % 100_000 * 8 } else { 0x7100_0000 + rng.below(1 << 20) * 8 };
        let (op, site) = (["load", "load", "store"][i as usize % 3], i % 3);
        let place = [Cell::from("src/walk.c"), Cell::Count(40 + site), Cell::from("walk")];
        let [source, line, function] = place;
        let row = [Cell::Count(i / 1000 % 2), Cell::Count(addr), Cell::Count(8), Cell::from(op), Cell::Count(site)];
        file.push(row.into_iter().chain([source, line, function]))?;
    }
    Ok(file.finish()?)
}

/// Seconds of processor time that something takes.
fn timed<T>(what: impl FnOnce() -> Result<T, Box<dyn Error>>) -> Result<(T, f64), Box<dyn Error>> {
    let clock = ThreadClock::start();
    Ok((what()?, clock.seconds()))
}

fn decode(path: &Path) -> Result<Vec<u64>, Box<dyn Error>> {
    let mut sink = Nobody::default();
    match path.is_dir() {
        true => read(path, Input::Folder(&Dir::open(path)?), &mut sink)?,
        false => read(path, Input::File(&mut File::open(path)?), &mut sink)?,
    };
    Ok(sink.taken)
}

/// What is imported: its file, how many records it has, and what these are called; unknown of what the user gave.
type Subject = (PathBuf, Option<u64>, &'static str);

fn subjects(dir: &Path) -> Result<Vec<Subject>, Box<dyn Error>> {
    let given = std::env::args().nth(1);
    let wanted = |name: &str| given.as_deref().is_none_or(|given| given == name);
    let mut all: Vec<Subject> = Vec::new();
    if wanted("trace") {
        let path = dir.join("made.trace");
        make(&path)?;
        all.push((path, Some(RECORDS), "records"));
    }
    for (name, format) in [("csv", Format::Csv), ("parquet", Format::Parquet("speed", 1 << 18))] {
        if wanted(name) {
            let path = dir.join(format!("made.{name}"));
            table(&path, format)?;
            all.push((path, Some(ROWS), "rows"));
        }
    }
    if let (Some(path), true) = (given, all.is_empty()) {
        all.push((path.into(), None, "references"));
    }
    Ok(all)
}

fn floor(path: &Path) -> Result<u64, Box<dyn Error>> {
    let (mut file, mut buffer, mut sum) = (File::open(path)?, vec![0; 1 << 18], 0_u64);
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(sum),
            n => sum += n as u64,
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let dir = tempfile::tempdir()?;
    for (path, records, what) in subjects(dir.path())? {
        println!("{}", path.display());
        if let Some(records) = records {
            let (bytes, floor) = timed(|| floor(&path))?;
            println!("reading alone        {:8.1} M {what}/s ({bytes} bytes)", records as f64 / floor / 1e6);
        }
        let (taken, decoding) = timed(|| decode(&path))?;
        let (summary, importing) = timed(|| Ok(import(&path, &dir.path().join("x.hnt"), true)?))?;
        for (what, n) in &summary.counted {
            println!("{n:>12} {what}");
        }
        summary.notes.iter().for_each(|note| println!("note: {note}"));
        let refs = summary.references;
        assert_eq!(taken.iter().sum::<u64>(), refs);
        let records = records.unwrap_or(refs) as f64;
        println!("reading and decoding {:8.1} M {what}/s", records / decoding / 1e6);
        println!("importing            {:8.1} M {what}/s, {} bytes", records / importing / 1e6, summary.bytes);
        let store = homenode_capture::DirStore::open(&summary.path)?;
        let report = check(&homenode_trace::DatasetReader::open(std::sync::Arc::new(store))?);
        report.problems.iter().for_each(|problem| println!("PROBLEM {problem:?}"));
    }
    Ok(())
}
