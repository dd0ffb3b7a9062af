//! What the analysis asks about addresses and code, answered from the dataset.
use crate::{ObjectRange, Objects};
use homenode_analysis::{ConstructName, FieldName, ObjectName, SiteName, UNKNOWN_OBJECT};
use homenode_base::SiteId;
use homenode_objects::{Group, LiveObjects, ObjectKind, ObjectTable};
use homenode_openmp::{Construct, What};
use homenode_trace::dataset::DatasetReader;
use homenode_trace::symbols::{Site, Symbols};
use homenode_trace::{Event, EventKind, TraceError};
use std::collections::HashMap;

/// One row of objects.
struct Row {
    /// The first of its groups.
    group: u32,
    objects: u64,
    bytes: u64,
    /// Index of the global that it is, if it is one.
    global: Option<usize>,
    /// Objects of the row by (space, address), with their sizes.
    extents: Vec<(u32, u64, u64)>,
}

/// Everything that has a name in a dataset. A row of the report is a global, a stack, or all that one line allocated,
/// whoever called it: groups of the object table that a reader could not tell apart are one row.
pub struct NameTable<'d> {
    symbols: &'d Symbols,
    table: ObjectTable,
    /// Row of each object.
    row_of: Vec<u32>,
    rows: Vec<Row>,
    /// How each source file is called.
    short: HashMap<&'d str, String>,
    /// Process of each thread.
    processes: Vec<u32>,
    /// Loops and regions of OpenMP by the text of the phase: process and number.
    construct_of: HashMap<String, Vec<(u32, u32)>>,
    constructs: Vec<ConstructName>,
}

impl<'d> NameTable<'d> {
    /// Names of everything in this dataset.
    ///
    /// # Errors
    /// The events contradict themselves.
    pub fn new(reader: &'d DatasetReader) -> Result<NameTable<'d>, TraceError> {
        let symbols = reader.symbols();
        let table = ObjectTable::build(reader.manifest(), reader.events(), symbols);
        let (row_of_group, mut rows) = rows(table.groups());
        let row_of: Vec<u32> = table.objects().iter().map(|o| row_of_group[o.group as usize]).collect();
        for ((id, o), row) in table.objects().iter().enumerate().zip(&row_of) {
            let row = &mut rows[*row as usize];
            row.global = Some(id).filter(|_| o.kind == ObjectKind::Global);
            row.objects += 1;
            row.bytes = row.bytes.saturating_add(o.bytes);
            row.extents.push((o.space, o.addr, o.bytes));
        }
        rows.iter_mut().for_each(|r| r.extents.sort_unstable());
        let processes = reader.manifest().threads.iter().map(|t| t.process).collect();
        let (construct_of, constructs) = (HashMap::new(), Vec::new());
        let short = short_names(symbols);
        let mut names = NameTable { symbols, table, row_of, rows, short, processes, construct_of, constructs };
        reader.events().others().for_each(|(_, e)| names.meet(e));
        Ok(names)
    }

    /// Takes note of a loop or region of OpenMP.
    fn meet(&mut self, event: &Event) {
        let EventKind::PhaseBegin { name } = &event.kind else { return };
        let Some(process) = self.processes.get(event.thread as usize).copied() else { return };
        let Some(construct) = Construct::of(name) else { return };
        let schedule = match construct.what {
            What::Loop { schedule, .. } => Some(schedule),
            What::Region | What::Sections | What::Distribute => None,
            What::Task | What::Unseen(_) => return,
        };
        let Some(site) = construct.site(self.symbols, process) else { return };
        let known = self.construct_of.get(name);
        if !known.is_some_and(|of| of.iter().any(|k| k.0 == process)) {
            let (words, place, function) = (construct.words(), self.place(site), site.function.clone());
            self.construct_of.entry(name.clone()).or_default().push((process, self.constructs.len() as u32));
            self.constructs.push(ConstructName { words, place, function, schedule });
        }
    }

    /// A follower of the events that stands before the first one.
    pub fn follow(&self) -> ObjectNames<'_> {
        ObjectNames { names: self, live: self.table.live() }
    }

    /// What was allocated, and when does not matter: address space, address, bytes, row.
    pub fn extents(&self) -> impl Iterator<Item = (u32, u64, u64, u32)> + '_ {
        let of = |(row, r): (u32, &'_ Row)| {
            r.extents.iter().map(move |&(space, addr, bytes)| (space, addr, bytes, row)).collect::<Vec<_>>()
        };
        (0..).zip(&self.rows).flat_map(of)
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows.len()
    }

    /// The line; of library code the lines that call it, and then its own.
    fn place(&self, site: &Site) -> String {
        let own = self.line(&site.file, site.line).unwrap_or_else(|| site.place());
        let calls: Vec<String> = site.calls.iter().filter_map(|c| self.line(&c.file, c.line)).collect();
        match &calls[..] {
            [] => own,
            [one] => format!("{one} (in {own})"),
            [first, second] => format!("{first} or {second} (in {own})"),
            [first, others @ ..] => format!("{first} or {} others (in {own})", others.len()),
        }
    }

    fn line(&self, file: &str, line: u32) -> Option<String> {
        self.short.get(file).map(|file| format!("{file}:{line}"))
    }

    /// Line and function of an allocation, and how it is called: by the line, then the function in between that returned it.
    fn allocation(&self, group: &Group, what: &str) -> Option<(String, String, String)> {
        let site = self.symbols.site(group.place?)?;
        let caller = group.caller.and_then(|i| site.callers.get(i as usize));
        let (place, function) = match caller {
            Some(c) => (self.line(&c.file, c.line)?, c.function.clone()),
            None => (self.place(site), site.function.clone()),
        };
        let what = if site.variable.is_empty() { what } else { &site.variable };
        let name = match group.through.and_then(|s| self.symbols.site(s)) {
            Some(by) if by.function.is_empty() => format!("{what} from {place} ({})", self.place(by)),
            Some(by) => format!("{what} from {place} ({}, {})", by.function, self.place(by)),
            None => format!("{what} from {place}"),
        };
        Some((place, function, name))
    }
}

/// The names of a dataset at a moment of a replay.
pub struct ObjectNames<'n> {
    names: &'n NameTable<'n>,
    live: LiveObjects<'n>,
}

impl Objects for ObjectNames<'_> {
    fn fork(&self) -> Option<Box<dyn Objects + '_>> {
        Some(Box::new(self.names.follow()))
    }

    fn event(&mut self, event: &Event) {
        self.live.event(event);
    }

    fn at(&mut self, space: u32, addr: u64) -> ObjectRange {
        let (from, last, object) = self.live.around(space, addr);
        let row = object.map_or(UNKNOWN_OBJECT, |o| self.names.row_of[o as usize]);
        ObjectRange { object: row, from, last }
    }

    fn object(&self, object: u32) -> ObjectName {
        let row = &self.names.rows[object as usize];
        let group = &self.names.table.groups()[row.group as usize];
        let (kind, what) = match group.kind {
            ObjectKind::Global => ("global", ""),
            ObjectKind::Heap => ("heap", "heap block"),
            ObjectKind::Stack => ("stack", ""),
            ObjectKind::Map => ("map", "mapping"),
            ObjectKind::Shared => ("shared", "shared block"),
        };
        let (place, function, name) = self.names.allocation(group, what).map_or((None, None, None), |(p, f, n)| {
            (Some(p), Some(f).filter(|f| !f.is_empty()), Some(n).filter(|_| !what.is_empty()))
        });
        let name = name.unwrap_or_else(|| group.name.clone());
        ObjectName { name, kind: kind.to_owned(), place, function, instances: row.objects, bytes: row.bytes }
    }

    fn extent(&self, object: u32, space: u32, addr: u64) -> Option<(u64, u64)> {
        let extents = &self.names.rows.get(object as usize)?.extents;
        let after = extents.partition_point(|&(s, from, _)| (s, from) <= (space, addr));
        let holds = |&&(s, from, bytes): &&(u32, u64, u64)| s == space && addr.wrapping_sub(from) < bytes;
        extents[..after].iter().rev().find(holds).map(|&(_, from, bytes)| (from, bytes))
    }

    fn field(&self, object: u32, space: u32, addr: u64) -> Option<FieldName> {
        let (begin, bytes) = self.extent(object, space, addr)?;
        let (row, offset) = (self.names.rows.get(object as usize)?, addr - begin);
        let field = match row.global {
            // Globals come first in the table, in the order of the symbols.
            Some(global) => self.names.symbols.field_of_global(global, offset),
            None => {
                let group = &self.names.table.groups()[row.group as usize];
                self.names.symbols.field_of_block(&group.stack, bytes, offset)
            }
        }?;
        Some(FieldName {
            path: field.path,
            member: field.member,
            of: field.of,
            addr: begin.wrapping_add(field.offset),
            bytes: field.bytes,
            element_addr: begin.wrapping_add(field.element_offset),
            element_bytes: field.element_bytes,
        })
    }

    fn construct_of(&self, event: &Event) -> Option<u32> {
        let (EventKind::PhaseBegin { name } | EventKind::PhaseEnd { name }) = &event.kind else { return None };
        if self.names.constructs.is_empty() {
            return None;
        }
        let process = *self.names.processes.get(event.thread as usize)?;
        self.names.construct_of.get(name)?.iter().find(|k| k.0 == process).map(|k| k.1)
    }

    fn construct(&self, construct: u32) -> Option<ConstructName> {
        self.names.constructs.get(construct as usize).cloned()
    }

    fn site(&self, site: u32) -> SiteName {
        match self.names.symbols.site(SiteId(site)) {
            Some(s) => {
                let function = if let [one] = &s.calls[..] { &one.function } else { &s.function };
                SiteName { place: self.names.place(s), function: function.clone() }
            }
            None => SiteName::default(),
        }
    }
}

/// The row of each group, and the rows, still without objects.
fn rows(groups: &[Group]) -> (Vec<u32>, Vec<Row>) {
    let (mut row_of, mut rows, mut known) = (Vec::new(), Vec::new(), HashMap::new());
    for (i, g) in groups.iter().enumerate() {
        let next = rows.len() as u32;
        let row = match g.place {
            Some(_) => *known.entry((g.kind, &g.name)).or_insert(next),
            None => next,
        };
        if row == next {
            rows.push(Row { group: i as u32, objects: 0, bytes: 0, global: None, extents: Vec::new() });
        }
        row_of.push(row);
    }
    (row_of, rows)
}

/// For each source file the shortest end of its path that no other file shares: `stencil.c`, or `a/util.c` and
/// `b/util.c`.
pub fn short_names(symbols: &Symbols) -> HashMap<&str, String> {
    let callers = symbols.sites.iter().flat_map(|s| s.callers.iter().chain(&s.calls)).map(|c| c.file.as_str());
    let files = symbols.sites.iter().map(|s| s.file.as_str()).chain(callers);
    let mut files: Vec<&str> = files.filter(|f| !f.is_empty()).collect();
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
