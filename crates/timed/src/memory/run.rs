//! A recording on an architecture at a pressure.
use super::MemoryError;
use super::archs::{self, BASE, Spec};
use super::counters::Counters;
use super::layout::Layout;
use super::sizes::Sizes;
use super::system::System;
use crate::engine::{Gaps, Options, Times, Waits, simulate};
use homenode_machine::{Hybrid, Machine, MapRule};
use homenode_sim::{ThreadBinding, bindings, thread_map};
use homenode_trace::DatasetReader;
use schemars::JsonSchema;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use std::sync::Arc;

/// What is asked of recordings.
#[derive(Clone, Debug)]
pub struct Question<'m> {
    /// A machine with a section of page caches.
    pub machine: &'m Machine,
    /// Threads to processors, if not by default.
    pub map: Option<MapRule>,
    /// How to run.
    pub options: Options,
}

/// A recording bound to a machine: who runs where, and where pages are at home.
pub struct Bound<'d> {
    data: &'d DatasetReader,
    bindings: Vec<ThreadBinding>,
    hybrid: Hybrid,
    options: Options,
    layout: Arc<Layout>,
}

impl Question<'_> {
    /// Binds a recording; goes over it once.
    ///
    /// # Errors
    /// A machine without the section; a map that does not fit; a damaged dataset; fewer shared pages than nodes.
    pub fn bind<'d>(&self, data: &'d DatasetReader) -> Result<Bound<'d>, MemoryError> {
        let machine = self.machine;
        let Some(hybrid) = machine.sections.hybrid.clone() else {
            return Err(MemoryError::NoSection(machine.name.clone()));
        };
        let map = thread_map(data, machine, self.map.as_ref())?;
        let bindings = bindings(&map, |thread| data.address_space(thread));
        let shift = machine.shape.page_bytes.trailing_zeros();
        let layout = Arc::new(Layout::find(data, &bindings, shift, machine.nodes())?);
        Ok(Bound { data, bindings, hybrid, options: self.options.clone(), layout })
    }
}

impl Bound<'_> {
    /// Where pages are at home.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }
    /// What the machine says of virtual time.
    pub fn hybrid(&self) -> &Hybrid {
        &self.hybrid
    }
    /// A copy without a phase: all of the recording counts.
    pub fn whole(&self) -> Bound<'_> {
        let mut whole = self.with(self.hybrid.clone());
        whole.options.phase = None;
        whole
    }
    /// A copy of the recording's binding for a machine that differs in what it says of virtual time, but not in pages and nodes.
    pub fn with(&self, hybrid: Hybrid) -> Bound<'_> {
        let Bound { data, bindings, options, layout, .. } = self;
        Bound { data, bindings: bindings.clone(), hybrid, options: options.clone(), layout: layout.clone() }
    }
}

/// What remote data cost, by the study's equation (section 2.3, table 1): cycles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Overhead {
    /// Misses satisfied by the page cache, times a local access.
    pub page_cache: u64,
    /// Chunks fetched again, times a remote access.
    pub remote: u64,
    /// Induced cold misses, times a remote access.
    pub cold: u64,
    /// Kernel work of the architecture.
    pub kernel: u64,
}

impl Overhead {
    /// All four.
    pub fn cycles(&self) -> u64 {
        self.page_cache + self.remote + self.cold + self.kernel
    }
}

/// What came of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Row {
    /// Architecture.
    #[serde(deserialize_with = "known")]
    pub architecture: Name,
    /// Pressure in percent; none for an architecture on which it has no influence.
    pub pressure: Option<u32>,
    /// Frames.
    pub sizes: Sizes,
    /// Cycles from the first that counts to the last.
    pub cycles: u64,
    /// Of all processors together.
    pub times: Times,
    /// Cycles of processors on which no thread ran.
    pub idle: u64,
    /// Of all nodes together.
    pub total: Counters,
    /// By node.
    pub nodes: Vec<Counters>,
    /// The terms of the equation.
    pub overhead: Overhead,
    /// Bits of state beside the caches, on all nodes.
    pub state_bits: u64,
    /// How buses, engines, ports and banks were used, each kind added up over the nodes.
    pub servers: [Waits; 4],
    /// References run.
    pub refs: u64,
    /// Busy-wait references left out.
    pub spins: u64,
    /// Objects granted in their recorded order.
    pub recorded_objects: u64,
}

/// Name of an architecture. (Not written as the reference that it is, which serde would borrow from what it reads.)
pub(crate) type Name = &'static str;

/// The name of an architecture that there is.
fn known<'de, D: Deserializer<'de>>(from: D) -> Result<&'static str, D::Error> {
    let name = String::deserialize(from)?;
    archs::find(&name).map(|s| s.name).ok_or_else(|| D::Error::custom(format!("no architecture '{name}'")))
}

/// Runs a recording; `gaps` makes the instructions between references, anew for each attempt.
///
/// # Errors
/// [`MemoryError`].
pub fn run<'g, G: Gaps + 'g>(
    bound: &Bound<'_>,
    spec: &'static Spec,
    percent: u32,
    mut gaps: impl FnMut() -> G,
) -> Result<Row, MemoryError> {
    run_boxed(bound, spec, percent, &mut || Box::new(gaps()))
}

/// Not generic: the engine is compiled here, with the memory system in it, and not by everybody who calls.
fn run_boxed<'g>(
    bound: &Bound<'_>,
    spec: &'static Spec,
    percent: u32,
    gaps: &mut dyn FnMut() -> Box<dyn Gaps + 'g>,
) -> Result<Row, MemoryError> {
    let Bound { data, bindings, hybrid, options, layout } = bound;
    let sizes = Sizes::at(hybrid, 1 << layout.page_shift, layout.home_max(), percent)?;
    if spec.needs_page_cache && sizes.page_cache == 0 {
        return Err(MemoryError::NoPageCache { name: spec.name, percent });
    }
    let make = || Ok::<_, MemoryError>((System::new(spec, hybrid, sizes, layout.clone()), gaps()));
    let done = simulate(data, bindings, options, make)?;
    let (mut times, mut total) = (Times::default(), Counters::default());
    done.times.iter().for_each(|t| times.add(t));
    done.memory.counters().iter().for_each(|c| total.add(c));
    let cycles = done.span();
    let each = done.memory.servers_of_a_node();
    let mut servers = [Waits::default(); 4];
    for (server, w) in done.waits.iter().enumerate() {
        let kind = &mut servers[(server % each).min(3)];
        kind.served += w.served;
        kind.busy += w.busy;
        kind.waited += w.waited;
    }
    let page_cache = spec.has_page_cache;
    Ok(Row {
        architecture: spec.name,
        pressure: page_cache.then_some(percent),
        sizes,
        cycles,
        idle: (cycles * layout.nodes as u64).saturating_sub(times.cycles()),
        times,
        overhead: Overhead {
            page_cache: total.page_cache * hybrid.local(),
            remote: total.refetch * hybrid.remote(),
            cold: total.cold_induced * hybrid.remote(),
            kernel: times.kernel_overhead,
        },
        nodes: done.memory.counters().to_vec(),
        total,
        state_bits: if page_cache { sizes.state_bits(hybrid, layout, !spec.needs_page_cache) } else { 0 },
        servers,
        refs: done.refs,
        spins: done.spins,
        recorded_objects: done.recorded_objects,
    })
}

/// A relation between an architecture, S-COMA and CC-NUMA that the study expects (section 2.3, relations 1 to 5).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Relation {
    /// Number in the study.
    pub number: u32,
    /// In words.
    pub words: &'static str,
    /// Hybrid that it is about.
    pub architecture: &'static str,
    /// Pressure in percent.
    pub pressure: u32,
    /// Value of the hybrid, and of the architecture that it is compared with.
    pub values: [u64; 2],
    /// Whether it holds.
    pub holds: bool,
}

/// The relations between these rows: 1 to 3 where all remote pages of every node fit (pressure below the ideal), 4 and 5 elsewhere.
/// The first three are about hybrids whose pages begin at home.
pub fn relations(rows: &[Row], layout: &Layout) -> Vec<Relation> {
    let base = rows.iter().find(|r| r.architecture == BASE.name);
    let hybrids = rows.iter().filter(|r| r.architecture != "scoma" && r.pressure.is_some());
    let of = |row: &Row| {
        let pressure = row.pressure.unwrap_or(100);
        let low = f64::from(pressure) < layout.ideal_pressure();
        let scoma = rows.iter().find(|r| r.architecture == "scoma" && r.pressure == row.pressure);
        let far = row.total.refetch + row.total.cold_induced;
        let relation = |number, words, values: [u64; 2], holds| Relation {
            number,
            words,
            architecture: row.architecture,
            pressure,
            values,
            holds,
        };
        let more = |number, words, values: [u64; 2]| relation(number, words, values, values[0] > values[1]);
        match (low, scoma, base) {
            (true, ..) if archs::find(row.architecture).is_some_and(|s| s.begins_cached) => Vec::new(),
            (true, Some(scoma), _) => {
                let pages = [row.total.page_cache, scoma.total.page_cache];
                vec![
                    more(1, "N_remote + N_cold above N_cold of scoma", [far, scoma.total.cold_induced]),
                    more(2, "T_overhead above that of scoma", [row.overhead.kernel, scoma.overhead.kernel]),
                    relation(3, "N_pagecache below that of scoma", pages, pages[0] < pages[1]),
                ]
            }
            (false, _, Some(base)) => vec![
                more(4, "N_remote + N_cold above N_remote of ccnuma", [far, base.total.refetch]),
                more(5, "T_overhead above that of ccnuma", [row.overhead.kernel, base.overhead.kernel]),
            ],
            _ => Vec::new(),
        }
    };
    hybrids.flat_map(of).collect()
}
