//! Whether misses of a code location wait for each other, for the model of misses that overlap.
use homenode_sim::Waits;
use homenode_symbols::{Dependence, Dependences};
use homenode_trace::dataset::DatasetReader;
use std::collections::HashMap;

/// By code location of a dataset, as the program's machine code says; nobody knows of those whose file is not there any more.
pub(crate) fn of_sites(reader: &DatasetReader) -> Vec<Waits> {
    let symbols = reader.symbols();
    let found = Dependences::new(symbols, &homenode_hooks::ARCHIVE);
    let sites = 0..symbols.sites.len() as u32;
    // Of the loops only those count in whose rounds chains begin anew.
    let mut loops: HashMap<u32, u16> = HashMap::new();
    for anew in sites.clone().map(|site| found.loops_of(site).anew).filter(|anew| *anew > 0) {
        if let Ok(next) = u16::try_from(loops.len()) {
            loops.entry(anew).or_insert(next);
        }
    }
    let waits = |site| {
        let of = found.loops_of(site);
        match found.of(site) {
            Dependence::Carried => loops.get(&of.anew).map_or(Waits::Dependent, |id| Waits::Anew(*id)),
            Dependence::Independent => loops.get(&of.own).map_or(Waits::Independent, |id| Waits::Begins(*id)),
            Dependence::Unknown => Waits::Unknown,
        }
    };
    sites.map(waits).collect()
}
