//! A plan from a run: every page lives where its writer is, for the next run.
use crate::doc::{ObjectDoc, PageRunDoc, SvmDoc};
use homenode_base::TotalCost;
use homenode_command::Failure;
use homenode_placement::plan::{
    Entry, Evidence, Expected, Home, ModuleBuild, ObjectKey, Plan, StackHash, ThreadPin, Worth,
};
use homenode_svm::job::MOST;
use homenode_table::clean;

/// Build of the program in keys: these are for runs on nodes, which know memory by lines, whatever the build.
const ANY_BUILD: &str = "00";

/// Writes of a page by its main writer below which it stays where it is.
const WRITES_LEAST: u64 = 4;

/// What a plan from a run changes.
#[derive(Clone, Debug)]
pub struct Replanned {
    /// The plan: for every page its home in the run, but where another node made nine of ten writes, and at least four a page.
    pub plan: Plan,
    /// Pages with another home than in the run.
    pub moved_pages: u64,
    /// Of the diffs in the run, those that these pages' writers made.
    pub saved_diffs: u64,
    /// Pages of memory that no line of the program is known for.
    pub unnamed_pages: u64,
}

impl Replanned {
    /// A line for people.
    pub fn to_text(&self) -> String {
        let unnamed = match self.unnamed_pages {
            0 => String::new(),
            n => format!("; {n} pages have no line of the source, so no plan can name them (compile with -g)"),
        };
        match self.moved_pages {
            0 => format!("every page with one writer lives there already{unnamed}\n"),
            n => format!(
                "{n} pages move to the node that made nine of ten of their writes: {} diffs of the run were theirs{unnamed}\n",
                self.saved_diffs
            ),
        }
    }
}

/// The plan that a run suggests. `name`: the document, as it was named.
///
/// # Errors
/// The document is of an older version, or of a run that took no memory.
pub fn replan(doc: &SvmDoc, name: &str) -> Result<Replanned, Failure> {
    let bad = |why: &str| Failure::input(format!("{name}: {}", clean(why)));
    let nodes = doc.nodes.len();
    if nodes < 2 || nodes > usize::from(MOST) || doc.threads_per_node > MOST {
        return Err(bad("no homes to plan: it is of no run on several nodes"));
    }
    if doc.objects.iter().all(|o| o.pages.is_empty() || o.asked_bytes == 0) {
        return Err(bad(
            "it does not say which pages lived where: it is of an older version, or pages differ too much",
        ));
    }
    let mut out = Replanned { plan: base(doc, name), moved_pages: 0, saved_diffs: 0, unnamed_pages: 0 };
    for object in &doc.objects {
        if object.pages.iter().any(|r| [r.home, r.writer].into_iter().flatten().any(|n| usize::from(n) >= nodes)) {
            return Err(bad("it names nodes that the run did not have"));
        }
        add(object, doc, &mut out);
    }
    out.plan.validate().map_err(|e| bad(&e.to_string()))?;
    let sum = |of: fn(&Worth) -> TotalCost| out.plan.entries.iter().map(|e| of(&e.worth)).sum::<TotalCost>();
    let (now, planned) = (sum(|w| w.now), sum(|w| w.planned));
    out.plan.expected = Expected { now, planned, best_static: planned, moving: TotalCost(0) };
    Ok(out)
}

/// The plan without its data: the run's threads on its nodes.
fn base(doc: &SvmDoc, name: &str) -> Plan {
    let threads = doc.nodes.len() as u32 * u32::from(doc.threads_per_node);
    let writes = doc.objects.iter().flat_map(|o| &o.traffic.writes).fold(0, |sum: u64, n| sum.saturating_add(*n));
    let pin = |t: u32| ThreadPin { thread: t, path: path(t), cpu: t as u16 };
    let path = doc.command.first().cloned().unwrap_or_default();
    Plan {
        cores: vec![doc.threads_per_node; doc.nodes.len()],
        page_bytes: doc.page_bytes,
        unit: "diffs".to_owned(),
        evidence: Evidence {
            dataset: name.to_owned(),
            backend: "svm run".to_owned(),
            counts: "intervals in which a page was written".to_owned(),
            counted: writes,
            rule: "main writer".to_owned(),
            command: doc.command.clone(),
            ..Evidence::default()
        },
        modules: vec![ModuleBuild { build_id: ANY_BUILD.to_owned(), path }],
        threads: (0..threads).map(pin).collect(),
        ..Plan::new("svm")
    }
}

/// Path of a thread: the first one creates all others.
fn path(thread: u32) -> Vec<u32> {
    thread.checked_sub(1).into_iter().collect()
}

fn add(object: &ObjectDoc, doc: &SvmDoc, out: &mut Replanned) {
    let Some(source) = &object.source else {
        out.unnamed_pages = object.pages.iter().fold(out.unnamed_pages, |sum, r| sum.saturating_add(r.pages));
        return;
    };
    let key = ObjectKey::Heap {
        build_id: ANY_BUILD.to_owned(),
        stack: StackHash(0),
        thread_path: path(object.thread),
        ordinal: source.ordinal,
        size: object.asked_bytes,
        size_ordinal: 0,
        site: None,
        source: Some(source.clone()),
    };
    let mut offset = 0_u64;
    for run in &object.pages {
        let end = offset.saturating_add(run.pages.saturating_mul(doc.page_bytes)).min(object.asked_bytes);
        let bytes = end.saturating_sub(offset);
        let begin = std::mem::replace(&mut offset, end);
        let Some(home) = home(run).filter(|_| bytes > 0) else { continue };
        if Some(home) != run.home {
            out.moved_pages = out.moved_pages.saturating_add(run.pages);
            out.saved_diffs = out.saved_diffs.saturating_add(run.of_writer);
        }
        let (object, home, name) = (key.clone(), Home::Node(home), object.site.clone());
        out.plan.entries.push(Entry { object, offset: begin, bytes, home, name, worth: worth(run) });
    }
}

/// Where pages are to live. What the former home wrote before the other nodes began was no diff and was not counted, but is one, and a fetch,
/// for a page that moves: so it must be worth more.
fn home(run: &PageRunDoc) -> Option<u16> {
    let writer = run.writer.filter(|_| run.of_writer >= run.pages.saturating_mul(WRITES_LEAST));
    if run.home.is_some() { writer.or(run.home) } else { None }
}

/// Diffs of pages: what others than their home write.
fn worth(run: &PageRunDoc) -> Worth {
    let but = |own: u64| TotalCost(i128::from(run.writes.saturating_sub(own)));
    let planned = if home(run) == run.writer { run.of_writer } else { run.of_home };
    Worth { now: but(run.of_home), planned: but(planned), moving: TotalCost(0) }
}
