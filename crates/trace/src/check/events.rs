//! Events against each other, the manifest and the references.
use super::CheckReport;
use super::frames::FramesSummary;
use crate::dataset::{DatasetReader, EVENTS_FILE};
use crate::event::{Event, EventKind};
use crate::packed::{Item, SyncEvent};
use hashbrown::HashMap;
use homenode_base::numbers::Numbers;

struct Seen {
    numbers: Numbers,
    spawned: HashMap<u32, u32>,
    /// Events whose stamp is before their predecessor's.
    backwards: u64,
}

pub(super) fn check(data: &DatasetReader, found: &[FramesSummary], report: &mut CheckReport) {
    report.events = data.events().len() as u64;
    if let Ok(Ok(len)) = data.store().open(EVENTS_FILE).map(|f| f.len()) {
        report.bytes += len;
    }
    let mut seen = Seen { numbers: super::room(data, |_| true), spawned: HashMap::new(), backwards: 0 };
    for thread in 0..data.threads() {
        one_thread(data, thread, found[thread as usize].refs, &mut seen, report);
    }
    if seen.backwards > 0 {
        // No order uses stamps of events, and a thread that moves between processors may see their counters differ.
        report.notes.push(format!("{} events are stamped before the event that they follow", seen.backwards));
    }
    for (&child, &parent) in &seen.spawned {
        let announced = data.manifest().threads[child as usize].parent;
        if announced != Some(parent) {
            let says = announced.map_or("by none".to_owned(), |p| format!("by thread {p}"));
            let what = format!("thread {child} is created by thread {parent}, the manifest says {says}");
            report.problem(EVENTS_FILE, what);
        }
    }
}

fn one_thread(data: &DatasetReader, thread: u32, refs: u64, seen: &mut Seen, report: &mut CheckReport) {
    let (mut stamp, mut at, mut phases, mut exited, mut n) = (0u64, 0u64, Vec::new(), false, 0u32);
    let mut numbers: HashMap<u32, u64> = HashMap::new();
    let mut walk = data.thread_events(thread);
    while let Some(item) = walk.item() {
        let mut bad = |what: String| report.problem(EVENTS_FILE, format!("event {n} of thread {thread}: {what}"));
        let (stands, stamped) = item.at_and_stamp();
        seen.backwards += u64::from(stamped != 0 && stamped < stamp);
        if stands < at || stands > refs {
            bad(format!("it stands after reference {stands} of {refs}, its predecessor after {at}"));
        }
        (stamp, at) = (stamp.max(stamped), stands);
        if exited {
            bad("it follows the thread's exit".into());
        }
        let wrong = match item {
            Item::Sync(s) => one_number(data, &s, &mut numbers, seen),
            Item::Other(e) => one_event(data, e, &mut phases, seen),
        };
        wrong.into_iter().for_each(bad);
        exited = item.other().is_some_and(|e| e.kind == EventKind::Exit);
        n += 1;
    }
    if exited && at != refs {
        report.problem(EVENTS_FILE, format!("thread {thread} exits after {at} references but has {refs}"));
    }
}

fn one_number(data: &DatasetReader, s: &SyncEvent, numbers: &mut HashMap<u32, u64>, seen: &mut Seen) -> Option<String> {
    let (_, object, _) = data.events().objects()[s.object as usize];
    let before = numbers.insert(s.object, s.seq);
    if let Some(b) = before.filter(|b| *b >= s.seq) {
        return Some(format!("number {} of object {object:#x} after {b}", s.seq));
    }
    let fresh = seen.numbers.insert(s.object, s.seq);
    (!fresh).then(|| format!("number {} of object {object:#x} is taken twice", s.seq))
}

fn one_event<'a>(data: &DatasetReader, e: &'a Event, phases: &mut Vec<&'a str>, seen: &mut Seen) -> Option<String> {
    match &e.kind {
        EventKind::Spawn { child } if *child >= data.threads() => {
            Some(format!("it creates thread {child} of {}", data.threads()))
        }
        EventKind::Affinity { target, .. } if *target >= data.threads() => {
            Some(format!("it says where thread {target} of {} may run", data.threads()))
        }
        EventKind::Spawn { child } => {
            seen.spawned.insert(*child, e.thread).map(|first| format!("thread {child} was created by {first} already"))
        }
        EventKind::PhaseBegin { name } => {
            phases.push(name);
            None
        }
        EventKind::PhaseEnd { name } => {
            let open = phases.iter().rposition(|p| p == name);
            open.map(|i| phases.remove(i)).is_none().then(|| format!("phase `{name}` ends but has not begun"))
        }
        _ => None,
    }
}
