//! Events against each other, the manifest and the references.
use super::CheckReport;
use super::frames::Found;
use crate::dataset::{DatasetReader, EVENTS_FILE};
use crate::event::{Event, EventKind};
use hashbrown::{HashMap, HashSet};

#[derive(Default)]
struct Seen {
    numbers: HashSet<(u32, u64, u64, u64)>,
    spawned: HashMap<u32, u32>,
    /// Events whose stamp is before their predecessor's.
    backwards: u64,
}

pub(super) fn check(data: &DatasetReader, found: &[Found], report: &mut CheckReport) {
    report.events = data.events().len() as u64;
    if let Ok(Ok(len)) = data.store().open(EVENTS_FILE).map(|f| f.len()) {
        report.bytes += len;
    }
    let mut seen = Seen::default();
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
    let (mut stamp, mut at, mut phases, mut last) = (0u64, 0u64, Vec::new(), None);
    let mut numbers: HashMap<(u64, u64), u64> = HashMap::new();
    for (n, e) in data.thread_events(thread).enumerate() {
        let mut bad = |what: String| report.problem(EVENTS_FILE, format!("event {n} of thread {thread}: {what}"));
        seen.backwards += u64::from(e.stamp != 0 && e.stamp < stamp);
        if e.at < at || e.at > refs {
            bad(format!("it stands after reference {} of {refs}, its predecessor after {at}", e.at));
        }
        (stamp, at) = (stamp.max(e.stamp), e.at);
        if last == Some(&EventKind::Exit) {
            bad("it follows the thread's exit".into());
        }
        if let Some(what) = one_event(data, e, &mut phases, &mut numbers, seen) {
            bad(what);
        }
        last = Some(&e.kind);
    }
    if last == Some(&EventKind::Exit) && at != refs {
        report.problem(EVENTS_FILE, format!("thread {thread} exits after {at} references but has {refs}"));
    }
}

fn one_event<'a>(
    data: &DatasetReader,
    e: &'a Event,
    phases: &mut Vec<&'a str>,
    numbers: &mut HashMap<(u64, u64), u64>,
    seen: &mut Seen,
) -> Option<String> {
    match &e.kind {
        EventKind::Release { object, epoch, seq }
        | EventKind::Acquire { object, epoch, seq }
        | EventKind::AcqRel { object, epoch, seq } => {
            let before = numbers.insert((*object, *epoch), *seq);
            if let Some(b) = before.filter(|b| b >= seq) {
                return Some(format!("number {seq} of object {object:#x} after {b}"));
            }
            let fresh = seen.numbers.insert((data.address_space(e.thread), *object, *epoch, *seq));
            (!fresh).then(|| format!("number {seq} of object {object:#x} is taken twice"))
        }
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
