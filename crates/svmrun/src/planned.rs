//! Homes by a plan: what of it is shared memory of the program that is to run, and afterwards, what came of it.
use crate::doc::{PlannedDoc, ResizedDoc, UnmetDoc};
use homenode_command::Failure;
use homenode_placement::plan::{Entry, Home, ObjectKey, Plan, SourceLine};
use homenode_svm::homes::{List, Part, Piece};
use homenode_svm::profile::PieceTaken;
use homenode_symbols::lines::code_of;
use homenode_sys::dir;
use homenode_table::clean;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Largest plan that is read.
const BYTES_MOST: u64 = 256 << 20;

/// A plan on its way to a program.
pub(crate) struct Planned {
    file: String,
    page_bytes: u64,
    /// What the nodes are told.
    pub(crate) list: List,
    /// Allocations of the plan.
    objects: Vec<Object>,
    /// Variables and stacks of the plan.
    own: u64,
    /// What a reader should know, in sentences.
    pub(crate) notes: Vec<String>,
}

struct Object {
    name: String,
    bytes: u64,
    ranges: u64,
    /// Index of its piece in the list, and the size that the plan expects; or why it has none.
    piece: Result<(u32, u64), String>,
}

/// A cluster that a plan is for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) nodes: u16,
    pub(crate) threads: u16,
    pub(crate) page_bytes: u64,
}

/// Reads a plan for a program on a cluster.
pub(crate) fn read(path: &Path, program: &Path, shape: Shape) -> Result<Planned, Failure> {
    let file = path.display().to_string();
    let bad = |why: &dyn std::fmt::Display| Failure::input(format!("{file}: {}", clean(&why.to_string())));
    let bytes = dir::content(path, BYTES_MOST).map_err(|e| Failure::work(format!("{file}: {e}")))?;
    let text = String::from_utf8(bytes).map_err(|_| bad(&"a plan is JSON, and this is no text"))?;
    let plan = Plan::from_json(&text).map_err(|e| bad(&e))?;
    let mut notes: Vec<String> =
        plan.evidence.warnings.iter().map(|w| format!("the plan says of itself: {w}")).collect();
    let homes = Homes { plan: &plan, nodes: nodes(&plan, shape, &mut notes).map_err(|e| bad(&e))?, shape };
    let lines = Lines::of(&plan, program).map_err(|e| bad(&e))?;
    let (mut list, mut objects) = (List { lines: lines.code.clone(), pieces: Vec::new() }, Vec::new());
    let mut own = 0;
    for (key, mut entries) in by_object(&plan) {
        if !matches!(key, ObjectKey::Heap { .. }) {
            own += 1;
            continue;
        }
        entries.sort_by_key(|e| e.offset);
        let piece = match piece(key, &lines, shape) {
            Ok(piece) => {
                let parts = entries.iter().map(|e| homes.part(e)).collect::<Result<_, _>>().map_err(|e| bad(&e))?;
                list.pieces.push(Piece { parts, ..piece });
                Ok((list.pieces.len() as u32 - 1, list.pieces[list.pieces.len() - 1].bytes))
            }
            Err(why) => Err(why),
        };
        let bytes = entries.iter().fold(0, |sum: u64, e| sum.saturating_add(e.bytes));
        objects.push(Object { name: entries[0].name.clone(), bytes, ranges: entries.len() as u64, piece });
    }
    Ok(Planned { file, page_bytes: shape.page_bytes, list, objects, own, notes })
}

fn by_object(plan: &Plan) -> BTreeMap<&ObjectKey, Vec<&Entry>> {
    let mut all: BTreeMap<&ObjectKey, Vec<&Entry>> = BTreeMap::new();
    plan.entries.iter().for_each(|e| all.entry(&e.object).or_default().push(e));
    all
}

/// Number of a thread in the cluster by its path in a plan: the first one creates all others.
fn thread(path: &[u32]) -> Option<u32> {
    match path {
        [] => Some(0),
        [number] => number.checked_add(1),
        _ => None,
    }
}

/// The piece of shared memory that a key means, without its parts; or why there is none.
fn piece(key: &ObjectKey, lines: &Lines<'_>, shape: Shape) -> Result<Piece, String> {
    let ObjectKey::Heap { thread_path: path, size, source: Some(source), .. } = key else {
        return Err("the plan knows no line of the source that takes it".to_owned());
    };
    let threads = u32::from(shape.nodes) * u32::from(shape.threads);
    let thread = thread(path).filter(|t| *t < threads);
    let thread = thread.ok_or("a thread takes it that the run does not have")?;
    let line = lines.index(source).ok_or_else(|| format!("{} is no code of this program", place(source)))?;
    Ok(Piece { line, thread, ordinal: source.ordinal, bytes: *size, parts: Vec::new() })
}

fn place(source: &SourceLine) -> String {
    format!("{}:{}", source.file, source.line)
}

/// Lines of the plan that take memory, and their code in the program.
struct Lines<'p> {
    known: BTreeMap<(&'p str, u32), usize>,
    code: Vec<Vec<std::ops::Range<u64>>>,
}

impl<'p> Lines<'p> {
    fn of(plan: &'p Plan, program: &Path) -> Result<Lines<'p>, String> {
        let source = |e: &'p Entry| match &e.object {
            ObjectKey::Heap { source, .. } => source.as_ref(),
            _ => None,
        };
        let wanted: BTreeSet<(&str, u32)> =
            plan.entries.iter().filter_map(source).map(|s| (s.file.as_str(), s.line)).collect();
        let wanted: Vec<(&str, u32)> = wanted.into_iter().collect();
        let Some((file, line)) = wanted.first() else {
            return Err(
                "it names no memory by the line that takes it: compile with -g, record and place again".to_owned()
            );
        };
        let name = program.display();
        let found = code_of(program, &wanted).map_err(|e| format!("{name} cannot be read: {e}"))?;
        if !found.has_lines {
            return Err(format!(
                "{name} has no line numbers, by which memory of the plan is found: compile it with -g"
            ));
        }
        if found.code.iter().all(Vec::is_empty) {
            let of = plan.modules.first().map_or_else(String::new, |m| format!(", which was made for {}", m.path));
            return Err(format!(
                "the plan{of} is for another program, or its source has changed: no code of {name} is of a line that takes memory in the \
                 plan, as {file}:{line}; record and place again"
            ));
        }
        let with_code: Vec<_> = wanted.into_iter().zip(found.code).filter(|(_, code)| !code.is_empty()).collect();
        let known = with_code.iter().enumerate().map(|(at, (line, _))| (*line, at)).collect();
        Ok(Lines { known, code: with_code.into_iter().map(|(_, code)| code).collect() })
    }

    fn index(&self, source: &SourceLine) -> Option<usize> {
        self.known.get(&(source.file.as_str(), source.line)).copied()
    }
}

/// From homes of a plan to nodes of the cluster.
struct Homes<'p> {
    plan: &'p Plan,
    /// Node of the cluster by node of the plan.
    nodes: Vec<u16>,
    shape: Shape,
}

impl Homes<'_> {
    fn part(&self, entry: &Entry) -> Result<Part, String> {
        let node = |n: &u16| {
            let found = self.nodes.get(usize::from(*n)).copied();
            found.ok_or_else(|| format!("it names node {n}, and its machine has {}", self.nodes.len()))
        };
        let nodes = match &entry.home {
            Home::Node(n) => vec![node(n)?],
            Home::Interleave(all) => all.iter().map(node).collect::<Result<_, _>>()?,
            Home::Thread(t) => {
                let path = self.plan.threads.iter().find(|p| p.thread == *t).map(|p| &p.path);
                let number = path.and_then(|path| thread(path));
                let of = number.map(|n| n / u32::from(self.shape.threads)).filter(|n| *n < self.shape.nodes.into());
                vec![of.ok_or_else(|| format!("it places data with its thread {t}, which the run does not have"))?
                    as u16]
            }
        };
        Ok(Part { offset: entry.offset, bytes: entry.bytes, nodes })
    }
}

/// The node of the cluster for each node of the plan: where the same threads are.
fn nodes(plan: &Plan, shape: Shape, notes: &mut Vec<String>) -> Result<Vec<u16>, String> {
    let (there, here) = (plan.cores.len(), usize::from(shape.nodes));
    if there == 0 {
        return Err("it does not say how many nodes its machine has: make it anew with homenode place".to_owned());
    }
    if there != here {
        return Err(format!(
            "the plan is for {there} nodes ({}), and the run has {here}: place with a --machine of {here} nodes, or run with -n {there}",
            plan.machine
        ));
    }
    let threads = u32::from(shape.nodes) * u32::from(shape.threads);
    let mut found: Vec<Option<(u16, u32)>> = vec![None; there];
    let mut pinned = 0;
    for pin in &plan.threads {
        let Some(number) = thread(&pin.path) else { continue };
        pinned += 1;
        let node = node_of(&plan.cores, pin.cpu);
        let node = node.ok_or_else(|| format!("it names processor {}, which its machine does not have", pin.cpu))?;
        if number >= threads {
            continue;
        }
        let own = (number / u32::from(shape.threads)) as u16;
        let other = found[node].filter(|(n, _)| *n != own).map(|(_, t)| t);
        let other = other.or_else(|| {
            let elsewhere = found.iter().enumerate().find(|(n, f)| *n != node && f.is_some_and(|(n, _)| n == own));
            elsewhere.and_then(|(_, f)| f.map(|(_, t)| t))
        });
        if let Some(other) = other {
            return Err(format!(
                "the plan and the run do not have the same threads together: threads {other} and {number} are on {} in the plan; \
                 record with as many threads as the run has, and place with a --machine of as many processors a node as --threads says",
                if found[node].is_some() { "one node" } else { "different nodes" }
            ));
        }
        found[node] = Some((own, number));
    }
    if pinned != threads {
        notes.push(format!("the plan is of a run of {pinned} threads, and this one has {threads}"));
    }
    let taken: BTreeSet<u16> = found.iter().flatten().map(|(n, _)| *n).collect();
    let mut free = (0..shape.nodes).filter(|n| !taken.contains(n));
    Ok(found.into_iter().filter_map(|f| f.map(|(n, _)| n).or_else(|| free.next())).collect())
}

/// Node of a processor; processors are counted node by node.
fn node_of(cores: &[u16], cpu: u16) -> Option<usize> {
    let mut end = 0;
    cores.iter().position(|n| {
        end += u32::from(*n);
        u32::from(cpu) < end
    })
}

impl Planned {
    /// What came of the plan, as far as the nodes remember the memory they took: `forgotten` pieces more were taken.
    pub(crate) fn outcome(&self, taken: &[PieceTaken], forgotten: u64) -> PlannedDoc {
        let came: BTreeMap<u32, &PieceTaken> = taken.iter().filter_map(|t| Some((t.planned?, t))).collect();
        let (mut resized, mut unmet) = (Vec::new(), Vec::new());
        let never = match forgotten {
            0 => "no such piece of shared memory was taken anew",
            _ => "cannot tell: more pieces were taken than the nodes remember",
        };
        for o in &self.objects {
            let why = match &o.piece {
                Ok((piece, size)) => match came.get(piece) {
                    Some(t) if t.asked != *size => {
                        resized.push(ResizedDoc { name: o.name.clone(), planned_bytes: *size, came_bytes: t.asked });
                        continue;
                    }
                    Some(_) => continue,
                    None => never,
                },
                Err(why) => why,
            };
            unmet.push(UnmetDoc { name: o.name.clone(), bytes: o.bytes, ranges: o.ranges, why: why.to_owned() });
        }
        unmet.sort_by_key(|u| std::cmp::Reverse(u.bytes));
        let placed_pages = taken.iter().filter(|t| t.planned.is_some()).map(|t| t.placed).sum();
        PlannedDoc {
            file: self.file.clone(),
            objects: self.objects.len() as u64,
            own: self.own,
            met: came.len() as u64,
            placed_pages,
            placed_bytes: placed_pages * self.page_bytes,
            resized,
            unmet,
        }
    }
}
