//! How fast recordings are run again in virtual time: a line of JSON a run, as `homenode sim memory` has it, and processor seconds on
//! stderr.
//!
//!     virtual_speed DATASET [ARCHITECTURES [PRESSURES]]
use homenode_command::gaps::Source;
use homenode_machine::models;
use homenode_sys::clock::ThreadClock;
use homenode_timed::engine::Options;
use homenode_timed::memory::archs::{self, BASE};
use homenode_timed::memory::{MemoryError, Question, run};
use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let word = |at: usize, other: &str| words.get(at).cloned().unwrap_or_else(|| other.to_owned());
    let reader = homenode_command::dataset::open(Path::new(&word(0, "")))?.reader;
    let machine = models::find("ascoma").ok_or("no such machine")?;
    let clock = ThreadClock::start();
    let bound = Question { machine: &machine, map: None, options: Options::default() }.bind(&reader)?;
    let source = Source::new(&reader, 1.0);
    eprintln!("bound: {:.3} s", clock.seconds());
    for name in word(1, "ccnuma,scoma,rnuma,vcnuma,ascoma").split(',') {
        let spec = archs::find(name).ok_or("no such architecture")?;
        for pressure in word(2, "10,30,50,70,90").split(',') {
            let one = ThreadClock::start();
            match run(&bound, spec, pressure.parse()?, || source.run()) {
                Err(MemoryError::NoPageCache { .. }) => continue,
                row => {
                    let row = row?;
                    println!("{}", serde_json::to_string(&row)?);
                    let seconds = one.seconds();
                    let speed = row.refs as f64 / seconds / 1e6;
                    eprintln!("{name} {pressure} %: {} references, {seconds:.3} s, {speed:.1} M/s", row.refs);
                }
            }
            if spec.name == BASE.name {
                break;
            }
        }
    }
    eprintln!("in all: {:.3} s", clock.seconds());
    Ok(())
}
