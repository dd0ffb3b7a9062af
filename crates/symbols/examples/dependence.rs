//! Which sites wait for each other: of each program that is named, and of each recording, with how often they were executed.
use homenode_symbols::dependence::{Dependence, Dependences, dependences};
use homenode_symbols::image::resolve;
use homenode_trace::DatasetReader;
use homenode_trace::frame::DecodedFrame;
use homenode_trace::store::MemStore;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// By answer, in the order of [`Dependence`].
type Counts = [u64; 3];

fn main() -> Result<(), String> {
    let (options, paths): (Vec<String>, Vec<String>) = std::env::args().skip(1).partition(|a| a == "--lines");
    if paths.is_empty() {
        return Err("usage: dependence [--lines] PATH... (programs built by homenode cc, or recordings)".into());
    }
    println!("{:>12} {:>12} {:>12} {:>8}", "carried", "independent", "unknown", "ms");
    for path in paths {
        let begun = Instant::now();
        let is_dataset = Path::new(&path).is_dir();
        let lines = if is_dataset { of_recording(Path::new(&path))? } else { of_program(Path::new(&path))? };
        let mut sum = Counts::default();
        lines.values().for_each(|counts| (0..3).for_each(|n| sum[n] += counts[n]));
        let of = if is_dataset { "references of" } else { "sites of" };
        println!("{:>12} {:>12} {:>12} {:>8} {of} {path}", sum[0], sum[1], sum[2], begun.elapsed().as_millis());
        for ((file, line, function), [carried, independent, unknown]) in lines.iter().filter(|_| !options.is_empty()) {
            println!("{carried:>12} {independent:>12} {unknown:>12} {:>8} {file}:{line} {function}", "");
        }
    }
    Ok(())
}

/// By file, line and function.
type Lines = BTreeMap<(String, u32, String), Counts>;

fn of_program(path: &Path) -> Result<Lines, String> {
    let not = || format!("{}: not a program for x86-64", path.display());
    let found = dependences(path, &homenode_hooks::ARCHIVE).ok_or_else(not)?;
    let sites: Vec<u64> = found.keys().copied().collect();
    let mut lines = Lines::new();
    for (site, place) in sites.iter().zip(resolve(path, &sites, &[], None)?.places) {
        lines.entry((place.file, place.line, place.function)).or_default()[found[site] as usize] += 1;
    }
    Ok(lines)
}

fn of_recording(path: &Path) -> Result<Lines, String> {
    let reader = open(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let symbols = reader.symbols();
    let known = Dependences::new(symbols, &homenode_hooks::ARCHIVE);
    let mut counts: BTreeMap<u32, u64> = BTreeMap::new();
    let (mut bytes, mut frame, mut sites) = (Vec::new(), DecodedFrame::default(), Vec::new());
    for thread in 0..reader.threads() {
        for n in 0..reader.frames(thread).len() {
            reader.read_frame(thread, n, &mut bytes, &mut frame).map_err(|e| e.to_string())?;
            reader.map_sites(&frame, &mut sites).map_err(|e| e.to_string())?;
            for key in &frame.key {
                *counts.entry(sites[frame.keys[usize::from(*key)].site as usize]).or_default() += 1;
            }
        }
    }
    let mut lines = Lines::new();
    for (site, count) in counts {
        let place = symbols.sites.get(site as usize).cloned().unwrap_or_default();
        lines.entry((place.file, place.line, place.function)).or_default()[known.of(site) as usize] += count;
    }
    Ok(lines)
}

fn open(path: &Path) -> Result<DatasetReader, String> {
    let store = MemStore::default();
    for folder in ["", "threads"] {
        for entry in std::fs::read_dir(path.join(folder)).map_err(|e| e.to_string())?.filter_map(Result::ok) {
            if entry.path().is_file() {
                let name = Path::new(folder).join(entry.file_name()).display().to_string();
                store.put(&name, std::fs::read(entry.path()).map_err(|e| e.to_string())?);
            }
        }
    }
    DatasetReader::open(Arc::new(store)).map_err(|e| e.to_string())
}

const _: () = assert!(Dependence::Carried as usize == 0 && Dependence::Unknown as usize == 2);
