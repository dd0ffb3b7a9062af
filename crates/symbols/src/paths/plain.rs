//! What code with hooks would count without them, learnt from the same program built without hooks.
//!
//! Function by function, the instructions of a block without hooks count where the block executes that [`pairs`] finds for it in
//! the code with hooks. A function that only one of the files has (the compiler inlined it in the other) is left to the rules.
use super::blocks::Blocks;
use super::graph;
use super::pairs::{Shape, pairs};
use crate::image;
use crate::returns::{Code, Function};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// Endings that the compiler gives to names of functions which it made of others.
const MADE: [&str; 4] = ["constprop", "isra", "part", "lto_priv"];

/// One of the two files.
pub(super) struct Side<'a> {
    pub(super) file: &'a object::File<'a>,
    pub(super) code: &'a Code<'a>,
}

/// What instructions of a function with hooks count by the rules, in their order.
pub(super) type Rule<'r> = dyn Fn(&Function) -> Vec<u32> + 'r;

/// A position in the source, by numbers: the innermost line, and that with the calls that were inlined.
#[derive(Clone, Copy, Default)]
struct At {
    line: u32,
    chain: u32,
}

/// Numbers of positions; 0 is one that nothing is known of.
type Numbers = HashMap<Vec<(String, u32)>, u32>;

/// What the instructions of the program with hooks count, by address, as far as it can be learnt; `not_own` are functions of the
/// runtime.
pub(super) fn weights(
    hooked: &Side<'_>,
    plain: &Side<'_>,
    not_own: &BTreeSet<String>,
    rule: &Rule<'_>,
) -> HashMap<u64, u32> {
    let mut numbers = Numbers::new();
    let hooked = Functions::new(hooked, &|_, name| !not_own.contains(name), &mut numbers);
    // Libraries may exist with hooks only.
    let without = |function: &Function, _: &str| !graph::is_hooked(plain.code, function);
    let plain = Functions::new(plain, &without, &mut numbers);
    let same = partners(&hooked.names, &plain.names);
    let alone = |functions: &Functions, paired: HashSet<u64>| {
        functions.names.keys().filter(|f| !paired.contains(*f)).flat_map(|f| functions.lines(*f)).collect()
    };
    let hooked_alone: HashSet<u32> = alone(&hooked, same.iter().map(|s| s.0).collect());
    let plain_alone: HashSet<u32> = alone(&plain, same.iter().map(|s| s.1).collect());
    let mut found = HashMap::new();
    for (h, p) in same {
        let (h_lines, p_lines) = (hooked.lines(h), plain.lines(p));
        let kept = |at: &At| !hooked_alone.contains(&at.line) || h_lines.contains(&at.line);
        let learnt = |at: &At| !plain_alone.contains(&at.line) || p_lines.contains(&at.line);
        let counts = counts(&hooked.of[&h], &plain.of[&p], kept, rule);
        for (n, count) in counts.into_iter().flatten().enumerate() {
            let (ip, at) = (hooked.of[&h].0.instructions()[n].ip(), hooked.of[&h].1[n]);
            if learnt(&at) {
                found.insert(ip, count);
            }
        }
    }
    found
}

/// A function and where its instructions come from.
type Known = (Function, Vec<At>);

/// The functions of a file by their begins.
struct Functions<'a> {
    names: BTreeMap<u64, &'a str>,
    of: HashMap<u64, Known>,
}

impl<'a> Functions<'a> {
    /// Functions that are `wanted`.
    fn new(side: &Side<'a>, wanted: &dyn Fn(&Function, &str) -> bool, numbers: &mut Numbers) -> Functions<'a> {
        let read = side.code.begins().filter_map(|(begin, name)| {
            let function = side.code.function(begin).filter(|f| f.begin() == begin && !f.instructions().is_empty())?;
            wanted(&function, name).then_some((begin, name, function))
        });
        let (mut names, mut of) = (BTreeMap::new(), HashMap::new());
        for (begin, name, function) in read {
            names.insert(begin, name);
            of.insert(begin, (function, Vec::new()));
        }
        let addresses = names.keys().flat_map(|b| of[b].0.instructions()).map(|i| i.ip()).collect::<Vec<u64>>();
        let mut at = HashMap::new();
        image::positions(side.file, &addresses, &mut |address, mut chain| {
            let mut number = |chain: &[(String, u32)]| {
                let next = numbers.len() as u32 + 1;
                numbers.get(chain).copied().unwrap_or_else(|| *numbers.entry(chain.to_vec()).or_insert(next))
            };
            let whole = number(&chain);
            chain.truncate(1);
            at.insert(address, At { chain: whole, line: number(&chain) });
        });
        for (function, positions) in of.values_mut() {
            let found = function.instructions().iter().map(|i| at.get(&i.ip()).copied().unwrap_or_default());
            *positions = found.collect();
        }
        Functions { names, of }
    }

    fn lines(&self, function: u64) -> HashSet<u32> {
        self.of[&function].1.iter().map(|at| at.line).collect()
    }
}

/// Functions of the same names, with hooks and without. Where several have one name they are paired in their order, if there are
/// as many of them on both sides.
fn partners(hooked: &BTreeMap<u64, &str>, plain: &BTreeMap<u64, &str>) -> Vec<(u64, u64)> {
    let (mut found, mut h_done, mut p_done) = (Vec::new(), HashSet::new(), HashSet::new());
    for name in [str::to_owned, original] as [fn(&str) -> String; 2] {
        let by_name = |all: &BTreeMap<u64, &str>, done: &HashSet<u64>| {
            let mut lists: BTreeMap<String, Vec<u64>> = BTreeMap::new();
            all.iter()
                .filter(|(f, _)| !done.contains(*f))
                .for_each(|(f, n)| lists.entry(name(n)).or_default().push(*f));
            lists
        };
        let others = by_name(plain, &p_done);
        for (name, list) in by_name(hooked, &h_done) {
            let Some(other) = others.get(&name).filter(|o| o.len() == list.len()) else { continue };
            h_done.extend(&list);
            p_done.extend(other);
            found.extend(list.into_iter().zip(other.iter().copied()));
        }
    }
    found
}

/// The name without what says how the compiler changed the function.
fn original(name: &str) -> String {
    let mut parts = name.split('.').peekable();
    let mut kept = Vec::new();
    while let Some(part) = parts.next() {
        if MADE.contains(&part) && parts.peek().is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit())) {
            parts.next();
        } else {
            kept.push(part);
        }
    }
    kept.join(".")
}

/// What each instruction of a function with hooks counts; `kept` says which of those without hooks have their place in it.
fn counts(hooked: &Known, plain: &Known, kept: impl Fn(&At) -> bool, rule: &Rule<'_>) -> Option<Vec<u32>> {
    let [h, p] = [hooked, plain].map(|(function, at)| {
        let blocks = Blocks::new(function);
        let lines = blocks.spans.iter().map(|s| at[s.clone()].iter().map(|a| a.chain).collect()).collect();
        Shape::new(blocks, lines)
    });
    let partners = pairs(&p, &h)?;
    let mut by_block = vec![0; h.blocks.len()];
    for (a, b) in partners.into_iter().enumerate().filter(|(a, _)| !p.blocks.is_padding(&plain.0, *a)) {
        let count = plain.1[p.blocks.spans[a].clone()].iter().filter(|at| kept(at)).count() as u32;
        if let Some(b) = b {
            by_block[b] += count;
        }
    }
    let own = rule(&hooked.0);
    let mut all = vec![0; own.len()];
    for (span, count) in h.blocks.spans.iter().zip(by_block) {
        let mut bearers: Vec<usize> = span.clone().filter(|n| own[*n] > 0).collect();
        if bearers.is_empty() {
            bearers.extend(span.clone());
        }
        // Evenly, and together exactly as many.
        let until = |n: usize| u64::from(count) * n as u64 / bearers.len() as u64;
        bearers.iter().enumerate().for_each(|(n, at)| all[*at] = (until(n + 1) - until(n)) as u32);
    }
    Some(all)
}
