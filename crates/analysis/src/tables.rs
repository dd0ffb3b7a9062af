//! From sums to rows: ids become words, and every table adds up to the same total.
use crate::attribution::Attribution;
use crate::candidate::Candidate;
use crate::candidates;
use crate::confidence::Confidence;
use crate::names::{Names, UNKNOWN_OBJECT, extent, object_name, site_name};
use crate::parts::{Object, Parts, objects};
use crate::patterns::{Pattern, Patterns};
use crate::rows::{
    FalseSharingRow, FalseWord, HeatMap, LineRow, LoopRow, ObjectRow, PatternRow, SampleSpread, TransferBreakdown,
};
use crate::transfers::Transfers;
use crate::true_use;
use crate::turns;
use crate::watched::Line;
use hashbrown::HashMap;
use homenode_base::{Cost, TotalCost};
use homenode_machine::Location;
use std::cmp::Reverse;
use std::collections::BTreeMap;

const FALSE_SHARING_ROWS: usize = 64;
/// A falsely shared line is listed if it costs at least one part in so many of the total; where all those of an object
/// together do, its dearest are.
const FALSE_SHARING_PARTS: i128 = 1000;
const FALSE_SHARING_OF_MANY: usize = 4;
const WORD_SITES: usize = 3;

/// Everything the analysis has to say about one evaluation.
#[derive(Clone, Debug)]
pub struct Analysed {
    /// All six patterns, in the order of [`Pattern::ALL`](crate::Pattern::ALL).
    pub patterns: Vec<PatternRow>,
    /// Objects, dearest first; the costs add up to `total`.
    pub objects: Vec<ObjectRow>,
    /// Source lines, dearest first; the costs add up to `total`.
    pub lines: Vec<LineRow>,
    /// Loops and regions of OpenMP, dearest first.
    pub loops: Vec<LoopRow>,
    /// Falsely shared lines that cost at least a thousandth of `total`, and the dearest of objects that do with many lines;
    /// dearest first, at most 64.
    pub false_sharing: Vec<FalseSharingRow>,
    /// What the transfers were good for: adds up to their cost.
    pub transfer_breakdown: TransferBreakdown,
    /// Heat map.
    pub heat: HeatMap,
    /// How samples scatter; `None` in exact recordings.
    pub spread: Option<SampleSpread>,
    /// What might be worth changing, most promising first.
    pub candidates: Vec<Candidate>,
    /// Sentences for the reader.
    pub warnings: Vec<String>,
    /// All charges and transfers.
    pub total: TotalCost,
    /// Charges and transfers if each block lived at its best static home.
    pub best_static: TotalCost,
}

pub(crate) fn finish(parts: Parts<'_>, names: &dyn Names) -> Analysed {
    let (patterns, by_object) = pattern_rows(parts.patterns);
    let mut objects = objects(&parts, names, &by_object);
    let intervals = parts.confidence.map(Confidence::finish);
    for o in &mut objects {
        o.row.share_interval = intervals.as_ref().map(|i| i.of(o.id));
    }
    let total = objects.iter().map(|o| o.row.cost).sum();
    let best_static = objects.iter().map(|o| o.row.best_static).sum();
    let by_id: HashMap<u32, &Object> = objects.iter().map(|o| (o.id, o)).collect();
    let heat = heat_map(&parts, &objects);
    let candidates = candidates::find(&parts, &objects, names, total);
    Analysed {
        patterns,
        lines: line_rows(parts.attribution, names, &by_id),
        loops: loop_rows(&parts, names),
        false_sharing: false_sharing_rows(&parts, names, &by_id, total),
        transfer_breakdown: transfer_breakdown(&parts, names),
        heat,
        candidates,
        spread: intervals.map(|i| i.spread),
        warnings: warnings(&objects, parts.transfers),
        total,
        best_static,
        objects: objects.iter().map(|o| o.row.clone()).collect(),
    }
}

/// Rows by pattern, and bytes by (object, pattern).
fn pattern_rows(patterns: &[Patterns]) -> (Vec<PatternRow>, HashMap<u32, [u64; 6]>) {
    let mut rows: Vec<PatternRow> =
        Pattern::ALL.iter().map(|p| PatternRow { pattern: p.name().into(), ..PatternRow::default() }).collect();
    let mut by_object: HashMap<u32, [u64; 6]> = HashMap::new();
    for class in patterns.iter().flat_map(Patterns::classes) {
        let row = &mut rows[class.pattern as usize];
        row.bytes += class.bytes;
        row.units += 1;
        row.cost += class.cost;
        by_object.entry(class.object).or_default()[class.pattern as usize] += class.bytes;
    }
    (rows, by_object)
}

fn transfer_breakdown(parts: &Parts<'_>, names: &dyn Names) -> TransferBreakdown {
    let name = |id: u32| object_name(names, id).name;
    let classes = parts.transfers.breakdown(names, &name);
    let dearest = classes.truly_shared.object.as_ref();
    let mut known: HashMap<u32, bool> = HashMap::new();
    let wanted = |id: u32| *known.entry(id).or_insert_with(|| Some(&name(id)) == dearest);
    TransferBreakdown { in_turns: turns::find(parts, names), true_use: true_use::find(parts, wanted), ..classes }
}

fn line_rows(attribution: &Attribution, names: &dyn Names, objects: &HashMap<u32, &Object>) -> Vec<LineRow> {
    #[derive(Default)]
    struct Sums {
        row: LineRow,
        objects: BTreeMap<u32, (TotalCost, u64)>,
    }
    let mut lines: BTreeMap<(String, String), Sums> = BTreeMap::new();
    let priced = attribution.has_hits();
    for pair in attribution.pairs() {
        let name = site_name(names, pair.site);
        let sums = lines.entry((name.place, name.function)).or_default();
        sums.row.refs += pair.refs;
        sums.row.cost += pair.cost;
        sums.row.remote_cost += pair.remote;
        sums.row.hit_cost = priced.then(|| sums.row.hit_cost.unwrap_or_default() + pair.hits);
        let object = sums.objects.entry(attribution.objects()[pair.object as usize].id).or_default();
        object.0 += pair.cost;
        object.1 += pair.refs;
    }
    let mut rows: Vec<LineRow> = lines
        .into_iter()
        .map(|((place, function), sums)| {
            let dearest = sums.objects.iter().max_by_key(|(id, worth)| (**worth, Reverse(**id))).map(|(id, _)| *id);
            let object = dearest.and_then(|id| objects.get(&id)).map_or(String::new(), |o| o.row.name.clone());
            LineRow { place, function, object, ..sums.row }
        })
        .collect();
    rows.sort_by_key(|r| (Reverse(r.cost), Reverse(r.refs)));
    rows
}

fn loop_rows(parts: &Parts<'_>, names: &dyn Names) -> Vec<LoopRow> {
    let mut rows: BTreeMap<(String, String), LoopRow> = BTreeMap::new();
    let priced = parts.attribution.has_hits();
    for (id, sums) in parts.loops.sums() {
        let Some(name) = names.construct(id) else { continue };
        let dealt_anew = name.schedule.is_some_and(|s| !s.is_fixed());
        let row = rows.entry((name.words, name.place)).or_default();
        row.function = name.function;
        row.dealt_anew = dealt_anew;
        row.entered += sums.entered;
        row.refs += sums.refs;
        row.cost += sums.cost;
        row.remote_cost += sums.remote;
        row.hit_cost = priced.then(|| row.hit_cost.unwrap_or_default() + sums.hits);
    }
    let mut rows: Vec<LoopRow> =
        rows.into_iter().map(|((construct, place), row)| LoopRow { construct, place, ..row }).collect();
    rows.sort_by_key(|r| (Reverse(r.cost), Reverse(r.refs)));
    rows
}

fn false_sharing_rows(
    parts: &Parts<'_>,
    names: &dyn Names,
    objects: &HashMap<u32, &Object>,
    total: TotalCost,
) -> Vec<FalseSharingRow> {
    let mut sums: HashMap<u32, (TotalCost, usize)> = HashMap::new();
    for line in parts.lines.iter().filter(|l| l.is_false()) {
        sums.entry(line.written_object()).or_default().0 += line.cost;
    }
    let mut listed = |l: &&Line| {
        let Some((sum, count)) = sums.get_mut(&l.written_object()).filter(|_| l.is_false()) else { return false };
        *count += 1;
        l.cost.0 * FALSE_SHARING_PARTS >= total.0
            || (*count <= FALSE_SHARING_OF_MANY && sum.0 * FALSE_SHARING_PARTS >= total.0)
    };
    let lines = parts.lines.iter().filter(|l| listed(l)).take(FALSE_SHARING_ROWS);
    lines
        .map(|line| {
            let (addr, object) = (line.unit * parts.unit_bytes(), line.written_object());
            // The first word of the object decides where offsets count from: the line may begin before it.
            let word_bytes = parts.word_bytes();
            let first = line.words.iter().find(|w| w.users != 0 && w.object == object).map_or(0, |w| w.from);
            let inside = addr + u64::from(first) * word_bytes;
            let start = extent(names, object, inside).map_or(addr, |(start, _)| start);
            FalseSharingRow {
                addr,
                object: objects.get(&object).map_or(String::new(), |o| o.row.name.clone()),
                offset: addr.wrapping_sub(start) as i64,
                words: words(line, names, word_bytes),
                transfers: line.transfers,
                cost: line.cost,
            }
        })
        .collect()
}

/// Words of a line; neighbours with the same users, reads and writes are one wider word.
fn words(line: &Line, names: &dyn Names, word_bytes: u64) -> Vec<FalseWord> {
    let mut sites = line.sites.clone();
    sites.sort_by_key(|s| (Reverse(s.writes), Reverse(s.reads), s.site));
    let mut out: Vec<(u64, FalseWord)> = Vec::new();
    for w in line.words.iter().filter(|w| w.users != 0) {
        let (offset, bytes) = (u32::from(w.from) * word_bytes as u32, u32::from(w.len) * word_bytes as u32);
        if let Some((users, last)) = out.last_mut()
            && (*users, last.reads, last.writes) == (w.users, w.reads, w.writes)
            && last.offset + last.bytes == offset
        {
            last.bytes += bytes;
            continue;
        }
        let here = sites.iter().filter(|s| s.words >> w.from & 1 == 1).take(WORD_SITES);
        let word = FalseWord {
            offset,
            bytes,
            threads: line.threads_of(w.users),
            reads: w.reads,
            writes: w.writes,
            sites: here.map(|s| site_name(names, s.site).place).collect(),
        };
        out.push((w.users, word));
    }
    out.into_iter().map(|(_, word)| word).collect()
}

fn heat_map(parts: &Parts<'_>, objects: &[Object]) -> HeatMap {
    let bytes = parts.setup.block_bytes;
    // (block, home, object, cost), ascending by block.
    let mut blocks: Vec<(u64, u16, usize, Cost)> = Vec::new();
    for (i, o) in objects.iter().enumerate() {
        for p in &o.parts {
            let home = if let Location::Node(n) = p.block.home { n.0 } else { u16::MAX };
            blocks.push((p.number, home, i, p.cost));
        }
    }
    blocks.sort_unstable();
    parts.heat.finish(parts.heat_rows, |addr, len| {
        let (from, last) = (addr / bytes, addr.saturating_add(len - 1) / bytes);
        let range = blocks.partition_point(|b| b.0 < from)..blocks.partition_point(|b| b.0 <= last);
        let (mut homes, mut kinds) = (BTreeMap::<u16, u64>::new(), BTreeMap::<usize, u64>::new());
        for &(_, home, object, _) in &blocks[range] {
            *homes.entry(home).or_default() += 1;
            *kinds.entry(object).or_default() += 1;
        }
        let home = homes.iter().max_by_key(|(h, n)| (**n, Reverse(**h))).map_or(0, |(h, _)| *h);
        let object = kinds.iter().max_by_key(|(o, n)| (**n, Reverse(**o))).map(|(o, _)| objects[*o].row.name.clone());
        (home, object.unwrap_or_default())
    })
}

fn warnings(objects: &[Object], transfers: &Transfers) -> Vec<String> {
    let mut out = Vec::new();
    if transfers.pruned {
        out.push(
            "More cache lines travelled than can be watched byte by byte: what is said of single lines rests on those that \
             travelled most and on a sample of the others; transfers of the rest are counted as not told apart."
                .to_owned(),
        );
    }
    let mut shared: Vec<u64> = objects
        .iter()
        .filter(|o| o.id != UNKNOWN_OBJECT)
        .flat_map(|o| o.parts.iter().filter(|p| p.shared_block && p.cost != Cost::ZERO).map(|p| p.number))
        .collect();
    shared.sort_unstable();
    shared.dedup();
    match shared.len() {
        0 => {}
        1 => out.push("1 block is shared by several objects: it has one home for all of them.".into()),
        n => out.push(format!("{n} blocks are shared by several objects: each has one home for all of them.")),
    }
    out
}
