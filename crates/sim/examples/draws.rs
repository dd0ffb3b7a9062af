//! Estimates from some of the pages of a whole recording, drawn anew each time: how often ranges hold what all pages come to.
//!
//! `cargo run --release -p homenode-sim --example draws DATASET MACHINE ONE_IN DRAWS`
//!
//! Of a recording of some pages, those are the draw.
//! Prints a line for each range: the draw, its kind (`total`, `ratio`, `share`, `saving`), its name, and both ends.
use homenode_base::pages::{BUCKETS, Drawn};
use homenode_base::ring::{CERTAIN_MAX, CERTAIN_ONE_IN, CERTAIN_REFS};
use homenode_machine::models;
use homenode_placement::policies;
use homenode_sim::names::NameTable;
use homenode_sim::{Alone, BoundMachine, EvalContext, EvalOptions, PageDraw, Setup, estimate_pages};
use homenode_trace::dataset::DatasetReader;
use homenode_trace::manifest::CertainPages;
use homenode_trace::order::{Again, OrderKind, Source};
use homenode_trace::store::{ReadAt, Store};
use homenode_trace::{Op, TraceError};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Arc;

/// A dataset's folder.
struct Folder(PathBuf);

struct Plain(File);

impl ReadAt for Plain {
    fn len(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        let mut done = 0;
        while done < buf.len() {
            match self.0.read_at(&mut buf[done..], offset + done as u64)? {
                0 => break,
                n => done += n,
            }
        }
        Ok(done)
    }
}

impl Store for Folder {
    fn open(&self, name: &str) -> io::Result<Arc<dyn ReadAt>> {
        Ok(Arc::new(Plain(File::open(self.0.join(name))?)))
    }
    fn names(&self) -> io::Result<Vec<String>> {
        // Nobody asks here.
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// Pages that a recorder would find to be certain, all of which the recording has.
fn certain(reader: &DatasetReader, drawn: Drawn, displaced: u64) -> Result<Vec<CertainPages>, TraceError> {
    let (mut counts, mut all) = (vec![0u64; BUCKETS as usize], 0);
    let mut source = Again { data: reader, kind: OrderKind::Model };
    let mut stream = source.stream(0)?;
    while let Some(piece) = stream.pull()? {
        for r in piece.refs.iter().filter(|r| r.op != Op::Spin) {
            counts[drawn.bucket(r.addr.wrapping_add(displaced)) as usize] += 1;
            all += 1;
        }
    }
    let mut found: Vec<(u64, u32)> = counts.into_iter().zip(0..).collect();
    found.retain(|(refs, _)| all >= CERTAIN_REFS && *refs >= all / CERTAIN_ONE_IN);
    found.sort_unstable_by_key(|(refs, _)| std::cmp::Reverse(*refs));
    found.truncate(CERTAIN_MAX as usize);
    found.sort_unstable_by_key(|(_, bucket)| *bucket);
    Ok(found.into_iter().map(|(_, bucket)| CertainPages { bucket, left_out: 0 }).collect())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [path, machine, one_in, draws] = &words[..] else { return Err("DATASET MACHINE ONE_IN DRAWS".into()) };
    let reader = DatasetReader::open(Arc::new(Folder(path.into())))?;
    let bound = BoundMachine::new(models::find(machine).ok_or("no such machine")?, None)?;
    let (machine, bindings, page_bytes) = (&bound.machine, bound.bindings(&reader)?, bound.machine.shape.page_bytes);
    let options = bound.replay_options(&reader);
    let setup = Setup { machine, bindings: &bindings, block_bytes: page_bytes, options, waits: &[] };
    let policies = policies::reported(machine, page_bytes);
    let context = EvalContext { setup, policies: &policies, options: EvalOptions::default(), workers: &Alone };
    let names = NameTable::new(&reader)?;
    let drawn = Drawn::new(one_in.parse()?, page_bytes).ok_or("one page in 2 to 65536")?;
    for number in 0..draws.parse::<u64>()? {
        let displaced = number * (0x1_2345 * page_bytes);
        let certain = certain(&reader, drawn, displaced)?;
        let draw = match reader.manifest().pages {
            Some(pages) => {
                let recorded = PageDraw::recorded(pages.drawn().unwrap_or(drawn), pages.left_out);
                PageDraw { certain: reader.manifest().certain.clone(), ..recorded }
            }
            None => PageDraw { displaced, certain, ..PageDraw::recorded(drawn, 0) },
        };
        let mut source = Again { data: &reader, kind: OrderKind::Model };
        let found = estimate_pages(&mut source, &names.follow(), &context, draw)?;
        let line = |kind: &str, name: &str, low: f64, high: f64| println!("{number}\t{kind}\t{name}\t{low}\t{high}");
        line("unlike", "", found.unlike as f64, found.refs as f64);
        for row in found.policies.iter().chain(&found.optimum) {
            line("total", &row.name, row.total.low, row.total.high);
            row.ratio.iter().for_each(|ratio| line("ratio", &row.name, ratio.low, ratio.high));
        }
        found.objects.iter().for_each(|o| line("share", &o.name, o.share.low, o.share.high));
    }
    Ok(())
}
