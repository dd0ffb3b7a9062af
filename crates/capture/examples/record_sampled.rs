//! Records with a sampling backend and prints who used each page most: `record_sampled BACKEND OUT SECONDS PID`, or
//! `record_sampled BACKEND OUT SECONDS COMMAND...` (0 seconds: to the end). With HN_REGIONS=FILE, lines
//! `region NAME START BYTES TID` say whose the pages are, and the share of pages found right is printed.
use homenode_capture::{DirStore, RecordOptions, record};
use homenode_trace::DatasetReader;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

type Pages = BTreeMap<u64, BTreeMap<u32, u64>>;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [backend, out, seconds, rest @ ..] = words.as_slice() else {
        return Err("record_sampled BACKEND OUT SECONDS PID|COMMAND...".into());
    };
    let pid = rest.first().and_then(|w| w.parse().ok());
    let seconds: u64 = seconds.parse()?;
    let options = RecordOptions {
        command: if pid.is_some() { Vec::new() } else { rest.iter().map(Into::into).collect() },
        out: out.into(),
        backend: backend.clone(),
        pid,
        duration: (seconds > 0).then(|| Duration::from_secs(seconds)),
        ..RecordOptions::default()
    };
    let done = record(&options, &mut ())?;
    println!(
        "{} samples, {} events, {} threads, {} bytes, {:.1} s; {}",
        done.refs, done.events, done.threads, done.bytes, done.run_seconds, done.ended
    );
    done.blind.notes.iter().for_each(|n| println!("note: {n}"));
    let reader = DatasetReader::open(Arc::new(DirStore::open(&options.out)?))?;
    println!("{:?}", reader.manifest().sampling);
    let pages = pages(&reader)?;
    let mut threads: BTreeMap<u32, u64> = BTreeMap::new();
    for users in pages.values() {
        users.iter().for_each(|(&tid, &n)| *threads.entry(tid).or_default() += n);
    }
    println!("{} pages; samples by thread {threads:?}", pages.len());
    if let Some(path) = std::env::var_os("HN_REGIONS") {
        judge(&std::fs::read_to_string(path)?, &pages);
    }
    Ok(())
}

/// Samples of every page by host thread id.
fn pages(reader: &DatasetReader) -> Result<Pages, Box<dyn std::error::Error>> {
    let (mut bytes, mut frame, mut pages) = (Vec::new(), Default::default(), Pages::new());
    for thread in 0..reader.threads() {
        let tid = reader.manifest().threads[thread as usize].tid;
        for i in 0..reader.frames(thread).len() {
            reader.read_frame(thread, i, &mut bytes, &mut frame)?;
            for addr in &frame.addr {
                *pages.entry(addr >> 12).or_default().entry(tid).or_default() += 1;
            }
        }
    }
    Ok(pages)
}

fn judge(regions: &str, pages: &Pages) {
    let (mut right, mut wrong, mut unseen) = (0, 0, 0);
    for line in regions.lines() {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let ["region", _, start, bytes, tid] = words.as_slice() else { continue };
        let hex = u64::from_str_radix(start.trim_start_matches("0x"), 16);
        let (Ok(start), Ok(bytes), Ok(tid)) = (hex, bytes.parse::<u64>(), tid.parse::<u32>()) else { continue };
        for page in start >> 12..(start + bytes) >> 12 {
            let most = pages.get(&page).and_then(|users| users.iter().max_by_key(|u| u.1));
            match most {
                Some((&by, _)) if by == tid => right += 1,
                Some(_) => wrong += 1,
                None => unseen += 1,
            }
        }
    }
    println!(
        "pages whose most frequent user is the right one: {right}, another one: {wrong}; without a sample: {unseen}"
    );
}
