//! Perfetto's viewer, by the JSON trace event format, which Chrome's `about:tracing` and others read as well.
//!
//! Format: "Trace Event Format" (Google, catapult project): metadata (`M`), complete events (`X`) and counters (`C`), times in
//! microseconds. A counter holds until its next value; viewers write the name of its series, here its unit, after its own. There is no
//! `displayTimeUnit`: Perfetto takes times to be in that unit.
use super::Viewer;
use crate::timeline::Timeline;
use crate::windows::{Bytes, Share};
use serde_json::{Value, json};
use std::io;

pub(super) static SPEC: Viewer =
    Viewer { name: "perfetto", places: false, open: "https://ui.perfetto.dev (the file stays on your machine)", write };

/// Picoseconds as the format's microseconds.
fn us(ps: u64) -> f64 {
    ps as f64 / 1e6
}

fn write(timeline: &Timeline<'_>, to: &mut dyn io::Write) -> io::Result<()> {
    let mut out = Events { to, any: false };
    out.to.write_all(b"{\"otherData\":")?;
    let other = json!({ "command": timeline.command, "machine": timeline.machine, "notes": timeline.notes, "written by": "Homenode" });
    serde_json::to_writer(&mut *out.to, &other)?;
    out.to.write_all(b",\"traceEvents\":[\n")?;
    names(timeline, &mut out)?;
    slices(timeline, &mut out)?;
    memories(timeline, &mut out)?;
    threads(timeline, &mut out)?;
    out.to.write_all(b"\n]}\n")
}

/// The array of events that is being written.
struct Events<'w> {
    to: &'w mut dyn io::Write,
    any: bool,
}

impl Events<'_> {
    fn push(&mut self, event: &Value) -> io::Result<()> {
        if std::mem::replace(&mut self.any, true) {
            self.to.write_all(b",\n")?;
        }
        Ok(serde_json::to_writer(&mut *self.to, event)?)
    }

    /// A value of a counter from this moment on.
    fn counter(&mut self, (pid, name): (usize, &str), at_ps: u64, (series, value): (&str, f64)) -> io::Result<()> {
        self.push(&json!({ "ph": "C", "pid": pid, "name": name, "ts": us(at_ps), "args": { series: value } }))
    }
}

/// Process ids are positions counted from 1: those of the recorded machine may be missing, or of several machines. The modelled machine
/// comes last.
fn pid(process: usize) -> usize {
    process + 1
}

fn names(timeline: &Timeline<'_>, out: &mut Events<'_>) -> io::Result<()> {
    let meta = |name: &str, pid: usize, tid: usize, args: Value| json!({ "ph": "M", "name": name, "pid": pid, "tid": tid, "args": args });
    for process in 0..timeline.processes.len() {
        out.push(&meta("process_name", pid(process), 0, json!({ "name": timeline.process(process) })))?;
    }
    let machine = pid(timeline.processes.len());
    let what = if timeline.sampled { "memory, from samples, as" } else { "memory of" };
    out.push(&meta(
        "process_name",
        machine,
        0,
        json!({ "name": format!("{what} {} under first touch", timeline.machine) }),
    ))?;
    for (thread, t) in (0..).zip(&timeline.threads) {
        let tid = thread as usize + 1;
        out.push(&meta("thread_name", pid(t.process as usize), tid, json!({ "name": timeline.thread(thread) })))?;
        out.push(&meta("thread_sort_index", pid(t.process as usize), tid, json!({ "sort_index": tid })))?;
    }
    Ok(())
}

/// Threads from their first reference to their last, and their phases inside.
fn slices(timeline: &Timeline<'_>, out: &mut Events<'_>) -> io::Result<()> {
    let slice = |thread: u32, name: &str, (from, to): (u64, u64), args: Value| {
        let process = timeline.threads[thread as usize].process as usize;
        let (pid, tid) = (pid(process), thread as usize + 1);
        json!({ "ph": "X", "pid": pid, "tid": tid, "name": name, "ts": us(from), "dur": us(to - from), "args": args })
    };
    for (thread, t) in (0..).zip(&timeline.threads) {
        let Some(lived) = t.lived else { continue };
        let args = json!({ "node": t.node, "tid on the recorded machine": t.tid });
        out.push(&slice(thread, &timeline.thread(thread), lived, args))?;
        let from = timeline.slices.partition_point(|s| s.thread < thread);
        for s in timeline.slices[from..].iter().take_while(|s| s.thread == thread) {
            let (from, to) = (timeline.scale.at(s.from), timeline.scale.at(s.to));
            out.push(&slice(thread, &timeline.phases[s.name as usize], (from, to.min(lived.1).max(from)), json!({})))?;
        }
    }
    Ok(())
}

/// A share in percent, to a tenth.
fn percent(part: u64, whole: u64) -> f64 {
    (part as f64 * 1000.0 / whole.max(1) as f64).round() / 10.0
}

/// What each memory serves, and how much of all accesses is remote.
fn memories(timeline: &Timeline<'_>, out: &mut Events<'_>) -> io::Result<()> {
    let pid = pid(timeline.processes.len());
    let nodes = timeline.windows.first().filter(|_| timeline.counts_accesses).map_or(0, |w| w.memory.len());
    for node in 0..nodes {
        for side in ["read", "written"] {
            let of = |bytes: &Bytes| if side == "read" { bytes.read } else { bytes.written };
            let name = format!("node {node}: {side}");
            steps(timeline, |n| {
                let (begin, end) = timeline.scale.window(n);
                // Bytes a picosecond are a million MB/s.
                let rate = of(&timeline.windows[n].memory[node]) as f64 * 1e6 / (end - begin).max(1) as f64;
                Some((rate * 10.0).round() / 10.0)
            })
            .try_for_each(|(at, rate)| out.counter((pid, &name), at, ("MB/s", rate)))?;
        }
    }
    let all = |n: usize| timeline.windows[n].shares.iter().map(|(_, share)| *share);
    steps(timeline, |n| {
        let (local, remote) = all(n).fold((0, 0), |(l, r), share| (l + share.local, r + share.remote));
        (local + remote > 0).then(|| percent(remote, local + remote))
    })
    .try_for_each(|(at, share)| out.counter((pid, "remote accesses"), at, ("%", share)))
}

/// Of each thread how much of its accesses is remote, and on a modelled axis how much of the time its accesses take.
fn threads(timeline: &Timeline<'_>, out: &mut Events<'_>) -> io::Result<()> {
    let of = |n: usize, thread: u32| -> Option<Share> {
        let shares = &timeline.windows[n].shares;
        shares.binary_search_by_key(&thread, |(t, _)| *t).ok().map(|i| shares[i].1)
    };
    for (thread, t) in (0..).zip(&timeline.threads).filter(|(_, t)| t.lived.is_some()) {
        let pid = pid(t.process as usize);
        let name = format!("thread {thread}: remote accesses");
        steps(timeline, |n| {
            let share = of(n, thread).filter(|share| share.local + share.remote > 0)?;
            Some(percent(share.remote, share.local + share.remote))
        })
        .try_for_each(|(at, share)| out.counter((pid, &name), at, ("%", share)))?;
        if timeline.sampled {
            continue;
        }
        let name = format!("thread {thread}: time in memory");
        steps(timeline, |n| {
            let (begin, end) = timeline.scale.window(n);
            Some(percent(of(n, thread).map_or(0, |share| share.cost_ps), end - begin))
        })
        .try_for_each(|(at, share)| out.counter((pid, &name), at, ("%", share)))?;
    }
    Ok(())
}

/// The values of a counter where they change, and 0 at the end; a window without a value goes on with the one before. Windows that take no
/// time have none.
fn steps<'t>(
    timeline: &'t Timeline<'_>,
    value: impl Fn(usize) -> Option<f64> + 't,
) -> impl Iterator<Item = (u64, f64)> + 't {
    let mut last = None;
    let windows = (0..timeline.windows.len()).filter_map(move |n| {
        let (begin, end) = timeline.scale.window(n);
        let now = value(n).filter(|now| end > begin && last != Some(*now))?;
        last = Some(now);
        Some((begin, now))
    });
    windows.chain([(timeline.scale.end(), 0.0)])
}
