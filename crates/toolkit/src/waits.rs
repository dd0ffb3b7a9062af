//! Whether misses of a code location wait for each other, for the model of misses that overlap.
use homenode_sim::Waits;
use homenode_symbols::{Dependence, Dependences};
use homenode_trace::dataset::DatasetReader;

/// By code location of a dataset, as the program's machine code says; nobody knows of those whose file is not there any more.
pub(crate) fn of_sites(reader: &DatasetReader) -> Vec<Waits> {
    let symbols = reader.symbols();
    let found = Dependences::new(symbols, homenode_hooks::ARCHIVE);
    let waits = |site| match found.of(site) {
        Dependence::Carried => Waits::Dependent,
        Dependence::Independent => Waits::Independent,
        Dependence::Unknown => Waits::Unknown,
    };
    (0..symbols.sites.len() as u32).map(waits).collect()
}
