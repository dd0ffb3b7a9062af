//! What address translation adds: miss rates of TLBs by page size, and what that does to small pages (Bolosky 1993,
//! section 6.3).
//!
//! One TLB a processor, fed with all its data references, those to private data too; busy waiting is left out. Moves and
//! invalidations flush nothing: keeping TLBs consistent is not modelled, here as in the source.
mod models;
mod stacks;

use super::{AnalysisError, Input, Need, Spec, input, mcpr, sum, table::table};
use crate::{Question, Want};
use homenode_sim::ThreadBinding;
use homenode_table::Table;
use homenode_trace::{Merged, Op};
pub use models::{HUGE_BYTES, Level, TLB_MODELS, TlbModel};
use stacks::Stacks;

pub(crate) static SPEC: Spec = Spec {
    name: "tlb",
    summary: "miss rates of old and new TLBs by page size, and what they add to the cost of small pages",
    needs: &[Need::Exact],
    repeats: 1,
    run,
};

/// Misses of one model at one page size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TlbRow {
    /// The TLB.
    pub model: &'static TlbModel,
    /// Page size.
    pub page_bytes: u64,
    /// References, in words, all processors together.
    pub words: u64,
    /// Misses of the first level.
    pub first_misses: u64,
    /// Misses of all levels: what must be looked up in memory.
    pub misses: u64,
}

impl TlbRow {
    /// Misses per word referenced; 0 without references.
    pub fn rate(&self) -> f64 {
        if self.words == 0 { 0.0 } else { self.misses as f64 / self.words as f64 }
    }
}

/// Mean cost per reference with the TLB's misses at `miss_cost` each.
pub fn corrected_mcpr(mcpr: f64, rate: f64, miss_cost: f64) -> f64 {
    mcpr + rate * miss_cost
}

/// The miss rate behind a printed correction: the inverse of [`corrected_mcpr`].
pub fn implied_rate(mcpr: f64, corrected: f64, miss_cost: f64) -> f64 {
    (corrected - mcpr) / miss_cost
}

/// Page sizes of a study: 128 B to 8 KiB as in the source, and on to 2 MiB.
pub fn study_pages() -> Vec<u64> {
    (7..=21).map(|shift| 1 << shift).collect()
}

/// Models that one set of stacks answers for: same number of sets, same size of what an entry maps.
#[derive(Debug)]
struct Family {
    level: Level,
    entry_shift: u32,
    /// By processor.
    stacks: Vec<Stacks>,
    /// Lookups by depth; the last counts those deeper than any model of the family.
    depths: Vec<u64>,
    /// Second levels that are asked from a depth on: (row, depth, by processor).
    seconds: Vec<Second>,
}

#[derive(Debug)]
struct Second {
    row: usize,
    after_ways: usize,
    ways: usize,
    stacks: Vec<Stacks>,
    misses: u64,
}

/// All families of one page size, which share the page of the last reference.
#[derive(Debug)]
struct PageSize {
    page_bytes: u64,
    /// By processor: page looked up last. Looking it up again finds it on top everywhere and changes nothing.
    last: Vec<Option<(u32, u64)>>,
    families: Vec<Family>,
}

/// The accumulator over a merged trace. Memory does not grow with the trace.
#[derive(Debug)]
pub struct Tlbs<'a> {
    bindings: &'a [ThreadBinding],
    word_bytes: u64,
    words: u64,
    models: Vec<&'static TlbModel>,
    sizes: Vec<PageSize>,
}

impl<'a> Tlbs<'a> {
    /// TLBs of these models at these page sizes, before the first reference. Rates are per word of `word_bytes`.
    ///
    /// # Errors
    /// A page size or the word is no power of two, or a word is larger than a page.
    pub fn new(
        models: &[&'static TlbModel],
        pages: &[u64],
        word_bytes: u64,
        bindings: &'a [ThreadBinding],
    ) -> Result<Tlbs<'a>, AnalysisError> {
        let bad = |bytes: u64| !bytes.is_power_of_two() || bytes > 1 << 40;
        if let Some(page) = pages.iter().find(|p| bad(**p) || **p < word_bytes || bad(word_bytes)) {
            let allowed = "page sizes and the word are powers of two, at most 2^40, and a page holds a word";
            return Err(AnalysisError::Value { what: "page size", value: page.to_string(), allowed });
        }
        let cpus = bindings.iter().map(|s| usize::from(s.cpu) + 1).max().unwrap_or(0);
        let sizes = pages.iter().map(|page| PageSize::new(*page, models, cpus)).collect();
        Ok(Tlbs { bindings, word_bytes, words: 0, models: models.to_vec(), sizes })
    }

    /// One row per page size and model, in the order given.
    pub fn rows(&self) -> Vec<TlbRow> {
        let of_size = |size: &PageSize| -> Vec<TlbRow> {
            let row = |(i, model): (usize, &&'static TlbModel)| size.row(i, model, self.words);
            self.models.iter().enumerate().map(row).collect()
        };
        self.sizes.iter().flat_map(of_size).collect()
    }
}

impl PageSize {
    fn new(page_bytes: u64, models: &[&'static TlbModel], cpus: usize) -> PageSize {
        let mut families: Vec<Family> = Vec::new();
        for (row, model) in models.iter().enumerate() {
            let (first, second) = model.levels(page_bytes);
            let entry_shift = model.pages_per_entry.trailing_zeros();
            let at = families.iter().position(|f| f.level.sets == first.sets && f.entry_shift == entry_shift);
            let at = at.unwrap_or_else(|| {
                let (stacks, depths, seconds) = Default::default();
                families.push(Family { level: first, entry_shift, stacks, depths, seconds });
                families.len() - 1
            });
            let family = &mut families[at];
            family.level.ways = family.level.ways.max(first.ways);
            family.seconds.extend(second.map(|l| Second {
                row,
                after_ways: first.ways as usize,
                ways: l.ways as usize,
                stacks: vec![Stacks::new(l); cpus],
                misses: 0,
            }));
        }
        for family in &mut families {
            family.stacks = vec![Stacks::new(family.level); cpus];
            family.depths = vec![0; family.level.ways as usize + 1];
        }
        PageSize { page_bytes, last: vec![None; cpus], families }
    }

    #[inline]
    fn look_up(&mut self, cpu: usize, space: u32, page: u64) {
        if self.last[cpu] == Some((space, page)) {
            return;
        }
        self.last[cpu] = Some((space, page));
        for family in &mut self.families {
            let entry = page >> family.entry_shift;
            let depth = family.stacks[cpu].touch(space, entry);
            family.depths[depth] += 1;
            for second in family.seconds.iter_mut().filter(|s| depth >= s.after_ways) {
                second.misses += u64::from(second.stacks[cpu].touch(space, entry) == second.ways);
            }
        }
    }

    fn row(&self, i: usize, model: &'static TlbModel, words: u64) -> TlbRow {
        let (first, _) = model.levels(self.page_bytes);
        let shift = model.pages_per_entry.trailing_zeros();
        let family = self.families.iter().find(|f| f.level.sets == first.sets && f.entry_shift == shift);
        let family = family.expect("every model was put into a family");
        let first_misses = family.depths[first.ways as usize..].iter().sum();
        let misses = family.seconds.iter().find(|s| s.row == i).map_or(first_misses, |s| s.misses);
        TlbRow { model, page_bytes: self.page_bytes, words, first_misses, misses }
    }
}

impl Tlbs<'_> {
    /// The next references of the merged order.
    pub fn refs(&mut self, refs: &[Merged]) {
        for r in refs.iter().filter(|r| r.op != Op::Spin) {
            let Some(binding) = self.bindings.get(r.thread as usize) else { continue };
            self.words += input::words(r, self.word_bytes);
            for size in &mut self.sizes {
                input::pieces(r, size.page_bytes, |page, _, _| size.look_up(binding.cpu.into(), binding.space, page));
            }
        }
    }
}

fn run(input: &mut Input<'_>) -> Result<Vec<Table>, AnalysisError> {
    let models: Vec<&'static TlbModel> = TLB_MODELS.iter().collect();
    let word_bytes = input.question.machines.first().map_or(4, |m| u64::from(m.shape.word_bytes));
    let pages: Vec<u64> = study_pages().into_iter().filter(|p| *p >= word_bytes).collect();
    let mut tlbs = Tlbs::new(&models, &pages, word_bytes, input.bindings())?;
    let mut stream = input.source.stream(0)?;
    while let Some(piece) = stream.pull()? {
        tlbs.refs(piece.refs);
    }
    drop(stream);
    let columns =
        ["model", "page_bytes", "words", "first_misses", "misses", "rate", "reach_bytes", "added_cost_per_reference"];
    let note = "Misses per word referenced, private data included, busy waiting left out. Moves and invalidations flush \
                nothing. The added cost is in local references and absent where no source gives the cost of a miss.";
    let mut table = table("tlb", note, &columns);
    for row in tlbs.rows() {
        table.push(vec![
            row.model.name.into(),
            row.page_bytes.into(),
            row.words.into(),
            row.first_misses.into(),
            row.misses.into(),
            row.rate().into(),
            row.model.reach_bytes(row.page_bytes).into(),
            row.model.miss_cost.map(|c| row.rate() * c).into(),
        ]);
    }
    Ok(vec![table, corrected(input, &tlbs.rows())?])
}

/// The optimum's mean cost at each page size that was asked for, without and with the misses of TLBs whose cost is known.
fn corrected(input: &mut Input<'_>, rates: &[TlbRow]) -> Result<Table, AnalysisError> {
    let columns = ["machine", "page_bytes", "model", "mcpr", "rate", "miss_cost", "mcpr_corrected"];
    let note = "Mean cost per reference of the optimum with replication, without and with TLB misses. The cost of a miss is \
                that of its source, whatever the machine.";
    let mut table = table("tlb-corrected", note, &columns);
    let machines =
        input.question.machines.iter().zip(&input.question.bindings).filter(|(m, _)| m.sections.caches.is_none());
    let (machines, bindings): (Vec<_>, Vec<_>) = machines.map(|(m, s)| (m.clone(), s.clone())).unzip();
    let question = Question {
        machines,
        bindings,
        policies: Vec::new(),
        best_static: Want::None,
        without_replication: Want::None,
        with_replication: Want::Cost,
        ..input.question.clone()
    };
    if question.machines.is_empty() || question.blocks.is_empty() {
        return Ok(table);
    }
    let answer = sum(&(input.ask)(&question, input.source)?)?;
    for row in &answer.rows {
        let Some(mcpr) = mcpr(&question, &answer, row) else { continue };
        for tlb in rates.iter().filter(|t| t.page_bytes == row.block_bytes) {
            let Some(miss_cost) = tlb.model.miss_cost else { continue };
            table.push(vec![
                question.machines[row.machine as usize].name.as_str().into(),
                row.block_bytes.into(),
                tlb.model.name.into(),
                mcpr.into(),
                tlb.rate().into(),
                miss_cost.into(),
                corrected_mcpr(mcpr, tlb.rate(), miss_cost).into(),
            ]);
        }
    }
    Ok(table)
}
