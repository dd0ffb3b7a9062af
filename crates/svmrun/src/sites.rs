//! Names for the places in the program that asked for shared memory.
use crate::doc::ObjectDoc;
use homenode_placement::plan::SourceLine;
use homenode_svm::homes::LEAST_BYTES;
use homenode_symbols::answers::Place;
use homenode_symbols::image;
use std::collections::BTreeMap;
use std::path::Path;

/// The objects with the names of the places that asked for them, as the program's file gives them; what is missing is noted.
pub(crate) fn named(objects: Vec<(ObjectDoc, u64)>, program: &Path, notes: &mut Vec<String>) -> Vec<ObjectDoc> {
    // A site is where the call returns to; the call is before it.
    let calls: Vec<u64> = objects.iter().map(|(_, site)| site.saturating_sub(1)).collect();
    let answers = match image::resolve(program, &calls, &[], None) {
        Ok(answers) => answers,
        Err(why) => {
            notes.push(format!("{}: cannot be read for the places that took shared memory: {why}", program.display()));
            return objects.into_iter().map(|(object, _)| object).collect();
        }
    };
    if let Some(missing) = answers.missing.filter(|_| !objects.is_empty()) {
        notes.push(format!("{} has {missing}", program.display()));
    }
    let mut counts: BTreeMap<(u32, String, u32), u64> = BTreeMap::new();
    let name = |((object, site), place): ((ObjectDoc, u64), Place)| match site {
        0 => object,
        _ => ObjectDoc { site: text(&place), source: source(&place, &object, &mut counts), ..object },
    };
    objects.into_iter().zip(answers.places).map(name).collect()
}

/// The line, and how many pieces the thread took there before; objects come in the order in which a thread took them. Of small ones there
/// is none, as plans name no such.
fn source(place: &Place, object: &ObjectDoc, counts: &mut BTreeMap<(u32, String, u32), u64>) -> Option<SourceLine> {
    if place.line == 0 || place.file.is_empty() || object.asked_bytes < LEAST_BYTES {
        return None;
    }
    let count = counts.entry((object.thread, place.file.clone(), place.line)).or_default();
    *count += 1;
    Some(SourceLine { file: place.file.clone(), line: place.line, ordinal: *count - 1 })
}

fn text(place: &Place) -> String {
    let file = Path::new(&place.file).file_name().map(|f| f.to_string_lossy()).unwrap_or_default();
    match (place.function.as_str(), place.line) {
        (function, 0) => function.to_owned(),
        ("", line) => format!("{file}:{line}"),
        (function, line) => format!("{file}:{line}, {function}"),
    }
}
