//! From sums to rows: ids become words, and every table adds up to the same total.
use crate::analysis::Analysed;
use crate::attribution::{Attribution, Block, ShareCosts};
use crate::candidates;
use crate::confidence::Confidence;
use crate::feed::Setup;
use crate::heat::Heat;
use crate::names::{Names, ObjectName, SiteName, UNKNOWN_OBJECT, UNKNOWN_SITE};
use crate::owners::Owners;
use crate::patterns::{Pattern, Patterns};
use crate::rows::{FalseSharingRow, FalseWord, LineRow, ObjectRow, PatternRow, TransferBreakdown};
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

/// What the accumulators hold when the replay has ended.
pub(crate) struct Parts<'a> {
    pub(crate) setup: &'a Setup<'a>,
    pub(crate) patterns: &'a Patterns,
    pub(crate) attribution: &'a Attribution,
    pub(crate) lines: Vec<Line>,
    pub(crate) transfers: &'a Transfers,
    pub(crate) heat: &'a Heat,
    pub(crate) owners: &'a Owners,
    pub(crate) heat_rows: usize,
    pub(crate) confidence: Option<&'a Confidence>,
}

/// One object with what rows and candidates say of it.
pub(crate) struct Object {
    pub(crate) id: u32,
    pub(crate) name: ObjectName,
    pub(crate) row: ObjectRow,
    /// Bytes in units of each pattern.
    pub(crate) patterns: [u64; 6],
    /// Blocks it has a part of, with that part: ascending by block number.
    pub(crate) parts: Vec<Part>,
}

/// An object's part of one block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    pub(crate) number: u64,
    pub(crate) block: Block,
    pub(crate) cost: Cost,
    /// If every access were local.
    pub(crate) local: Cost,
    /// What the best home would save of the accesses since the block became shared: what is left if its user also
    /// initialises it.
    pub(crate) curable: Cost,
    /// Transfers that take a line from whoever initialised it, at most: one for each line of the block.
    pub(crate) handed_over: Cost,
    /// Whether other objects have accesses to the same block that cost something.
    pub(crate) shared_block: bool,
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
fn pattern_rows(patterns: &Patterns) -> (Vec<PatternRow>, HashMap<u32, [u64; 6]>) {
    let mut rows: Vec<PatternRow> =
        Pattern::ALL.iter().map(|p| PatternRow { pattern: p.name().into(), ..PatternRow::default() }).collect();
    let mut by_object: HashMap<u32, [u64; 6]> = HashMap::new();
    for class in patterns.classes() {
        let row = &mut rows[class.pattern as usize];
        row.bytes += class.bytes;
        row.units += 1;
        row.cost += class.cost;
        by_object.entry(class.object).or_default()[class.pattern as usize] += class.bytes;
    }
    (rows, by_object)
}

fn objects(parts: &Parts<'_>, names: &dyn Names, patterns: &HashMap<u32, [u64; 6]>) -> Vec<Object> {
    let mut objects: Vec<Object> = parts
        .attribution
        .objects()
        .iter()
        .map(|sums| {
            let name = object_name(names, sums.id);
            let bytes = patterns.get(&sums.id).copied().unwrap_or_default();
            let row = ObjectRow {
                name: name.name.clone(),
                kind: name.kind.clone(),
                place: name.place.clone(),
                function: name.function.clone(),
                instances: name.instances,
                bytes: name.bytes,
                users: sums.users(),
                cost: sums.transfer,
                best_static: sums.transfer,
                transfer_cost: sums.transfer,
                pattern: main_pattern(&bytes).into(),
                ..ObjectRow::default()
            };
            Object { id: sums.id, name, row, patterns: bytes, parts: Vec::new() }
        })
        .collect();
    add_blocks(&mut objects, parts);
    for pair in parts.attribution.pairs() {
        objects[pair.object as usize].row.refs += pair.refs;
    }
    objects.sort_by(|a, b| (Reverse(a.row.cost), &a.row.name, a.id).cmp(&(Reverse(b.row.cost), &b.row.name, b.id)));
    objects
}

pub(crate) fn object_name(names: &dyn Names, id: u32) -> ObjectName {
    match id {
        UNKNOWN_OBJECT => ObjectName { name: "unknown memory".into(), kind: "unknown".into(), ..ObjectName::default() },
        _ => names.object(id),
    }
}

fn main_pattern(bytes: &[u64; 6]) -> &'static str {
    let most = Pattern::ALL.into_iter().rev().max_by_key(|p| bytes[*p as usize]);
    most.map_or("", Pattern::name)
}

fn add_blocks(objects: &mut [Object], parts: &Parts<'_>) {
    let attribution = parts.attribution;
    let lines = parts.setup.block_bytes / parts.setup.unit_bytes;
    let dearest =
        parts.setup.machine.sections.caches.as_ref().map_or(Cost::ZERO, |c| c.transfer_far.max(c.transfer_near));
    let once_each = Cost(dearest.0.saturating_mul(lines as i64));
    let mut first: Vec<BTreeMap<u32, u64>> = vec![BTreeMap::new(); objects.len()];
    for (number, block) in attribution.blocks() {
        let best_index = best_home(attribution, block);
        let charged = attribution.shares_of(block).filter(|s| s.share.cost != Cost::ZERO).count();
        let home = attribution.homes().iter().position(|h| *h == block.home).unwrap_or(0);
        for ShareCosts { share, all, after } in attribution.shares_of(block) {
            let object = &mut objects[share.object as usize];
            object.row.cost += share.cost;
            object.row.remote_cost += share.remote;
            object.row.best_static += all[best_index];
            *first[share.object as usize].entry(block.first_thread).or_default() += 1;
            object.parts.push(Part {
                number,
                block: *block,
                cost: share.cost,
                local: share.local,
                curable: after[home] - after.iter().copied().min().unwrap_or(Cost::ZERO),
                handed_over: block.transfers.min(once_each),
                shared_block: charged > usize::from(share.cost != Cost::ZERO),
            });
        }
    }
    for (object, first) in objects.iter_mut().zip(first) {
        let mut threads: Vec<(u32, u64)> = first.into_iter().collect();
        threads.sort_by_key(|&(thread, blocks)| (Reverse(blocks), thread));
        object.row.first_touch = threads;
    }
}

/// Index of the home where all accesses to a block together cost least; among equals nodes ascending, global memory last.
fn best_home(attribution: &Attribution, block: &Block) -> usize {
    let mut sums: Vec<TotalCost> = Vec::new();
    for costs in attribution.shares_of(block) {
        sums.resize(costs.all.len(), TotalCost::ZERO);
        sums.iter_mut().zip(costs.all).for_each(|(sum, cost)| *sum += *cost);
    }
    (0..sums.len()).min_by_key(|&i| sums[i]).unwrap_or(0)
}

pub(crate) fn site_name(names: &dyn Names, site: u32) -> SiteName {
    match site {
        UNKNOWN_SITE => SiteName { place: "unknown".into(), function: String::new() },
        _ => names.site(site),
    }
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
    for pair in attribution.pairs() {
        let name = site_name(names, pair.site);
        let sums = lines.entry((name.place, name.function)).or_default();
        sums.row.refs += pair.refs;
        sums.row.cost += pair.cost;
        sums.row.remote_cost += pair.remote;
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

fn false_sharing_rows(
    parts: &Parts<'_>,
    names: &dyn Names,
    objects: &HashMap<u32, &Object>,
    total: TotalCost,
) -> Vec<FalseSharingRow> {
    let mut sums: HashMap<u32, (TotalCost, usize)> = HashMap::new();
    for line in parts.lines.iter().filter(|l| l.is_false()) {
        sums.entry(line.object).or_default().0 += line.cost;
    }
    let mut listed = |l: &&Line| {
        let Some((sum, count)) = sums.get_mut(&l.object).filter(|_| l.is_false()) else { return false };
        *count += 1;
        l.cost.0 * FALSE_SHARING_PARTS >= total.0
            || (*count <= FALSE_SHARING_OF_MANY && sum.0 * FALSE_SHARING_PARTS >= total.0)
    };
    let lines = parts.lines.iter().filter(|l| listed(l)).take(FALSE_SHARING_ROWS);
    lines
        .map(|line| {
            let addr = line.unit * parts.patterns.unit_bytes();
            // The first word of the object decides where offsets count from: the line may begin before it.
            let word_bytes = parts.patterns.word_bytes();
            let first = line.words.iter().find(|w| w.users != 0 && w.object == line.object).map_or(0, |w| w.from);
            let inside = addr + u64::from(first) * word_bytes;
            let start = extent(names, line.object, inside).map_or(addr, |(start, _)| start);
            FalseSharingRow {
                addr,
                object: objects.get(&line.object).map_or(String::new(), |o| o.row.name.clone()),
                offset: addr.wrapping_sub(start) as i64,
                words: words(line, names, word_bytes),
                transfers: line.transfers,
                cost: line.cost,
            }
        })
        .collect()
}

pub(crate) fn extent(names: &dyn Names, object: u32, addr: u64) -> Option<(u64, u64)> {
    if object == UNKNOWN_OBJECT { None } else { names.extent(object, addr) }
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

fn heat_map(parts: &Parts<'_>, objects: &[Object]) -> crate::rows::HeatMap {
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
