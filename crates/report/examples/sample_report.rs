//! Writes sample reports from invented data, and all documents of this crate, to look at and for the tests of the browser and
//! of the schemas:
//! `cargo run --release -p homenode-report --example sample_report -- DIRECTORY`.
#[path = "../tests/support/mod.rs"]
mod support;

use homenode_report::text::{Style, render};
use std::path::PathBuf;

fn main() -> std::io::Result<()> {
    let dir = PathBuf::from(std::env::args().nth(1).unwrap_or_else(|| "out".to_owned()));
    std::fs::create_dir_all(&dir)?;
    for (name, doc) in [
        ("rich", support::rich()),
        ("clean", support::clean()),
        ("historical", support::historical()),
        ("hostile", support::hostile()),
        ("sampled", support::sampled::report(homenode_trace::SampleUnit::Miss)),
    ] {
        std::fs::write(dir.join(format!("{name}.html")), homenode_report::html::render(&doc))?;
        std::fs::write(dir.join(format!("{name}.txt")), render(&doc, Style::default()))?;
        println!("{}", dir.join(format!("{name}.html")).display());
    }
    for (name, json) in support::documents::documents() {
        std::fs::write(dir.join(format!("{name}.json")), json)?;
    }
    Ok(())
}
