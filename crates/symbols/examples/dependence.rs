//! Which sites of programs wait for each other: for each file that is named, how many do and do not, and with `--lines` each line.
use homenode_symbols::dependence::{Dependence, dependences};
use homenode_symbols::image::resolve;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

fn main() -> Result<(), String> {
    let (options, files): (Vec<String>, Vec<String>) = std::env::args().skip(1).partition(|a| a == "--lines");
    if files.is_empty() {
        return Err("usage: dependence [--lines] PROGRAM... (built by homenode cc)".into());
    }
    println!("{:>9} {:>12} {:>9} {:>9}  program", "carried", "independent", "unknown", "ms");
    for file in files {
        let (path, begun) = (Path::new(&file), Instant::now());
        let found = dependences(path, homenode_hooks::ARCHIVE).ok_or(format!("{file}: not a program for x86-64"))?;
        let count = |what| found.values().filter(|d| **d == what).count();
        let (carried, independent, unknown) =
            (count(Dependence::Carried), count(Dependence::Independent), count(Dependence::Unknown));
        println!("{carried:>9} {independent:>12} {unknown:>9} {:>9}  {file}", begun.elapsed().as_millis());
        if options.is_empty() {
            continue;
        }
        let sites: Vec<u64> = found.keys().copied().collect();
        let mut lines: BTreeMap<(String, u32, String), [usize; 3]> = BTreeMap::new();
        for (site, place) in sites.iter().zip(resolve(path, &sites, &[], None)?.places) {
            lines.entry((place.file, place.line, place.function)).or_default()[found[site] as usize] += 1;
        }
        for ((file, line, function), [carried, independent, unknown]) in lines {
            println!("{carried:>9} {independent:>12} {unknown:>9}  {file}:{line} {function}");
        }
    }
    Ok(())
}
