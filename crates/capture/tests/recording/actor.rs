//! What this test does when it is started as the recorded program, or as a recorder that can be killed.
use crate::producer::{Attached, Producer, known};
use homenode_base::ring::*;
use homenode_capture::{RecordOptions, record};
use homenode_sys::clock;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// First argument of a process that is an actor.
pub(crate) const MARK: &str = "as-actor";
/// A module path that does not fit one event.
pub(crate) fn long_path() -> String {
    format!("/opt/{}/libgrid.so", "a-long-directory/".repeat(30))
}

/// The command that makes this test act.
pub(crate) fn command(words: &[&str]) -> Vec<OsString> {
    let me = std::env::current_exe().unwrap().into_os_string();
    [me, MARK.into()].into_iter().chain(words.iter().map(|w| OsString::from(*w))).collect()
}

pub(crate) fn main(words: &[String]) -> ExitCode {
    let number = |i: usize| words.get(i).and_then(|w| w.parse::<u64>().ok()).unwrap_or(0);
    match words[0].as_str() {
        "record" => return recorder(words),
        "limited" => {
            homenode_sys::disk::limit_file_size(homenode_base::ring::CONTROL_BYTES + (64 << 10)).unwrap();
            return recorder(words);
        }
        "recover" => drop(homenode_capture::recover(Path::new(&words[1])).unwrap()),
        "quiet" => return ExitCode::from(number(1) as u8),
        "threads" => threads(number(1) as u32, number(2), words.get(3).map(String::as_str).unwrap_or("")),
        "many" => many(number(1) as u32, number(2)),
        "events" => events(),
        "hostile" => hostile(&words[1]),
        other => panic!("no actor {other}"),
    }
    ExitCode::SUCCESS
}

fn attach() -> Option<Attached> {
    std::env::var_os(CONTROL_ENV).map(|path| Attached::open(Path::new(&path)))
}

/// Records the actor `words[2..]` into `words[1]`.
fn recorder(words: &[String]) -> ExitCode {
    let rest: Vec<&str> = words[2..].iter().map(String::as_str).collect();
    match record(&options(Path::new(&words[1]), command(&rest)), &mut ()) {
        Ok(_) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Plain options.
pub(crate) fn options(out: &Path, command: Vec<OsString>) -> RecordOptions {
    RecordOptions {
        command,
        out: PathBuf::from(out),
        backend: "auto".into(),
        limit_refs: None,
        roi: None,
        force: false,
        count_only: false,
        ..Default::default()
    }
}

/// `count` threads with `refs` known references each, then what `end` says.
fn threads(count: u32, refs: u64, end: &str) {
    let Some(control) = attach() else { return };
    if control.counting() {
        control.add64(CONTROL_OFF_COUNTED, u64::from(count) * refs);
        return;
    }
    let mut first = control.create(control.claim(None));
    begin_process(&mut first);
    std::thread::scope(|scope| {
        let claims: Vec<u32> = (1..count).map(|_| control.claim(Some(0))).collect();
        claims.iter().for_each(|&child| first.event(EVENT_SPAWN, child.into(), clock::ticks(), &[]));
        for index in claims {
            let control = &control;
            scope.spawn(move || run(control.create(index), refs, true));
        }
        run(first, refs, end.is_empty());
    });
    match end {
        "abort" => std::process::abort(),
        "sleep" => {
            println!("asleep");
            std::thread::sleep(std::time::Duration::from_secs(60));
        }
        _ => {}
    }
}

fn begin_process(ring: &mut Producer<'_>) {
    let me = std::env::current_exe().unwrap();
    ring.event(EVENT_PROCESS, std::process::id().into(), std::os::unix::process::parent_id().into(), &[]);
    ring.text(EVENT_MODULE, 0, 1 << 40, me.to_str().unwrap());
}

/// The known references; a lock's events among them, so that events and references interleave. Progress is published in a
/// file of the working directory's choice: what the program has counted itself.
fn run(mut ring: Producer<'_>, refs: u64, in_order: bool) {
    let count = std::env::var_os("HN_TEST_COUNT").map(|dir| Count::new(Path::new(&dir), ring.index));
    for i in 0..refs {
        ring.reference(known(ring.index, i));
        if i % 1000 == 999 {
            let kind = if i % 2000 == 999 { EVENT_ACQUIRE } else { EVENT_RELEASE };
            ring.event(kind, 0x6000 + u64::from(ring.index), i / 1000, &[[0, clock::ticks()]]);
        }
        if let Some(count) = count.as_ref().filter(|_| !ring.over) {
            count.set(i + 1);
        }
    }
    if in_order {
        ring.done();
    }
}

/// A counter in a file that outlives the process.
struct Count(homenode_sys::map::SharedMap);

impl Count {
    fn new(dir: &Path, thread: u32) -> Count {
        let path = dir.join(thread.to_string());
        std::fs::write(&path, [0; 8]).unwrap();
        Count(homenode_sys::map::SharedMap::open(&path, 8, true).unwrap())
    }
    fn set(&self, n: u64) {
        self.0.u64_mut(0).unwrap().store(n, std::sync::atomic::Ordering::Release);
    }
}

/// `count` rings that live at the same time, filled in turn by one thread, `refs` references each.
fn many(count: u32, refs: u64) {
    let Some(control) = attach() else { return };
    let mut rings: Vec<Producer<'_>> =
        (0..count).map(|i| control.create(control.claim((i > 0).then_some(0)))).collect();
    begin_process(&mut rings[0]);
    for i in 0..refs {
        for ring in &mut rings {
            ring.reference(known(ring.index, i));
        }
    }
    rings.into_iter().for_each(Producer::done);
}

/// One of each event.
fn events() {
    let Some(control) = attach() else { return };
    let mut ring = control.create(control.claim(None));
    begin_process(&mut ring);
    for round in 0..200u64 {
        // Different lengths before it bring every event to every place in a batch.
        (0..round).for_each(|i| ring.reference(known(0, round * 1000 + i)));
        ring.text(EVENT_MODULE, 0x7000_0000, 0x1000, &long_path());
        ring.text(EVENT_PHASE_BEGIN, 0, 0, "solve");
        ring.event(EVENT_ALLOC, 0x9000, 4096, &[[3, 3], [0x11, 0x22], [0x33, 0]]);
        ring.event(EVENT_MAP, 0xa000, 8192, &[[3 << 32 | 0x22, 1], [7, 8]]);
        ring.event(EVENT_ACQ_REL, 0xb000, round, &[[5, 600 + round]]);
        ring.event(EVENT_FREE, 0x9000, 0, &[]);
        ring.event(EVENT_REALLOC, 0x9000, 0xc000, &[]);
        ring.event(EVENT_UNMAP, 0xa000, 8192, &[]);
        ring.text(EVENT_PHASE_END, 0, 0, "solve");
    }
    ring.done();
}

/// A producer that breaks the protocol.
fn hostile(how: &str) {
    let Some(control) = attach() else { return };
    let index = control.claim(None);
    let mut ring = control.create(index);
    begin_process(&mut ring);
    (0..1000).for_each(|i| ring.reference(known(0, i)));
    ring.misbehave(how);
}
