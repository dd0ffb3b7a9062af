//! What the analysis asks about addresses and code, answered from the dataset.
use homenode_analysis::{ObjectName, SiteName, UNKNOWN_OBJECT};
use homenode_base::SiteId;
use homenode_sim::{Found, Objects};
use homenode_trace::dataset::DatasetReader;
use homenode_trace::objects::{LiveObjects, ObjectKind, ObjectTable};
use homenode_trace::symbols::{Site, Symbols};
use homenode_trace::{Event, TraceError};
use std::collections::HashMap;

/// Everything that has a name in a dataset. A row of the report is a group of the object table.
pub(crate) struct NameTable<'d> {
    symbols: &'d Symbols,
    table: ObjectTable,
    /// Objects of each group by (space, address).
    extents: Vec<Vec<(u32, u64, u64)>>,
    /// How each source file is called.
    short: HashMap<&'d str, String>,
}

impl<'d> NameTable<'d> {
    pub(crate) fn new(reader: &'d DatasetReader) -> Result<NameTable<'d>, TraceError> {
        let symbols = reader.symbols();
        let table = ObjectTable::build(reader.manifest(), reader.events(), symbols);
        let mut extents = vec![Vec::new(); table.groups().len()];
        for o in table.objects() {
            extents[o.group as usize].push((o.space, o.addr, o.bytes));
        }
        extents.iter_mut().for_each(|e| e.sort_unstable());
        Ok(NameTable { symbols, table, extents, short: short_names(symbols) })
    }

    /// A follower of the events that stands before the first one.
    pub(crate) fn follow(&self) -> ObjectNames<'_> {
        ObjectNames { names: self, live: self.table.live() }
    }

    /// Number of rows.
    pub(crate) fn groups(&self) -> usize {
        self.table.groups().len()
    }

    fn place(&self, site: &Site) -> String {
        match self.short.get(site.file.as_str()) {
            Some(file) => format!("{file}:{}", site.line),
            None => site.place(),
        }
    }
}

/// The names of a dataset at a moment of a replay.
pub(crate) struct ObjectNames<'n> {
    names: &'n NameTable<'n>,
    live: LiveObjects<'n>,
}

impl Objects for ObjectNames<'_> {
    fn event(&mut self, event: &Event) {
        self.live.event(event);
    }

    fn at(&mut self, space: u32, addr: u64) -> Found {
        let (from, last, object) = self.live.around(space, addr);
        let row = object.map_or(UNKNOWN_OBJECT, |o| self.names.table.objects()[o as usize].group);
        Found { object: row, from, last }
    }

    fn object(&self, object: u32) -> ObjectName {
        let group = &self.names.table.groups()[object as usize];
        let site = group.place.and_then(|s| self.names.symbols.site(s));
        let place = site.map(|s| self.names.place(s));
        let function = site.map(|s| s.function.clone()).filter(|f| !f.is_empty());
        let (kind, what) = match group.kind {
            ObjectKind::Global => ("global", ""),
            ObjectKind::Heap => ("heap", "heap block"),
            ObjectKind::Stack => ("stack", ""),
            ObjectKind::Map => ("map", "mapping"),
            ObjectKind::Shared => ("shared", "shared block"),
        };
        let name = match &place {
            Some(place) if !what.is_empty() => format!("{what} from {place}"),
            _ => group.name.clone(),
        };
        ObjectName { name, kind: kind.to_owned(), place, function, instances: group.objects, bytes: group.bytes }
    }

    fn extent(&self, object: u32, space: u32, addr: u64) -> Option<(u64, u64)> {
        let extents = self.names.extents.get(object as usize)?;
        let after = extents.partition_point(|&(s, from, _)| (s, from) <= (space, addr));
        let holds = |&&(s, from, bytes): &&(u32, u64, u64)| s == space && addr.wrapping_sub(from) < bytes;
        extents[..after].iter().rev().find(holds).map(|&(_, from, bytes)| (from, bytes))
    }

    fn site(&self, site: u32) -> SiteName {
        match self.names.symbols.site(SiteId(site)) {
            Some(s) => SiteName { place: self.names.place(s), function: s.function.clone() },
            None => SiteName::default(),
        }
    }
}

/// For each source file the shortest end of its path that no other file shares: `stencil.c`, or `a/util.c` and
/// `b/util.c`.
fn short_names(symbols: &Symbols) -> HashMap<&str, String> {
    let mut files: Vec<&str> = symbols.sites.iter().map(|s| s.file.as_str()).filter(|f| !f.is_empty()).collect();
    files.sort_unstable();
    files.dedup();
    let mut ends: HashMap<&str, u32> = HashMap::new();
    files.iter().flat_map(|f| ends_of(f)).for_each(|end| *ends.entry(end).or_default() += 1);
    files.iter().map(|&f| (f, ends_of(f).find(|end| ends[end] == 1).unwrap_or(f).to_owned())).collect()
}

/// Ends of a path at its slashes, shortest first, the whole last.
fn ends_of(path: &str) -> impl Iterator<Item = &str> {
    path.rmatch_indices('/').map(|(i, _)| &path[i + 1..]).filter(|e| !e.is_empty()).chain([path])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_called_by_the_shortest_end_that_tells_them_apart() {
        let files = ["/p/a/util.c", "/p/b/util.c", "/p/b/main.c", "bare.c", "util.c"];
        let sites = files.iter().enumerate();
        let sites = sites.map(|(i, f)| Site { pc: i as u64, file: (*f).to_owned(), ..Site::default() }).collect();
        let symbols = Symbols { sites, ..Symbols::default() };
        let short = short_names(&symbols);
        let called: Vec<&str> = files.iter().map(|f| short[f].as_str()).collect();
        assert_eq!(called, ["a/util.c", "b/util.c", "main.c", "bare.c", "util.c"]);
    }
}
