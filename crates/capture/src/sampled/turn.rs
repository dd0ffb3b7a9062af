//! One turn: what is old enough goes, in order of time, from the source and the rings to the writer.
use super::awaited;
use super::names::{self, ThreadLookup};
use super::ring_reader::RingReader;
use super::session::Session;
use super::writer::Stamped;
use crate::ring::Ring;
use homenode_base::ring::{ENTRY_ACTIVE, ENTRY_DONE, STOP_WRITE_FAILED};
use homenode_sampling::{Notice, RawSample};
use homenode_symbols::{Mapping, Module, mappings};
use homenode_trace::Sample;
use homenode_trace::event::EventKind;
use std::collections::BTreeSet;
use std::time::Duration;

/// What was polled is in files after at most this time and [`super::HOLD`].
const FLUSH_EVERY: Duration = Duration::from_secs(1);
/// Waiting samples of one thread that are worth a frame.
const FRAME: usize = 16_384;
/// Protection bit of mmap(2).
const PROT_WRITE: u32 = 2;

impl Session {
    /// Takes everything not younger than `horizon_ns` towards the files.
    pub(super) fn advance(&mut self, horizon_ns: u64, now_ticks: u64, last: bool) {
        self.in_order_of_time(horizon_ns);
        let horizon_ticks = if last { u64::MAX } else { self.clocks.ticks_at(horizon_ns) };
        self.read_rings(now_ticks, horizon_ticks, last);
        let pressing = self.ring_readers.values().any(RingReader::is_pressing);
        if last || pressing || self.clock.now() - self.flushed >= FLUSH_EVERY || self.writer.longest() >= FRAME {
            self.flush();
        }
    }

    fn in_order_of_time(&mut self, horizon_ns: u64) {
        let mut notices = std::mem::take(&mut self.notices);
        let mut samples = std::mem::take(&mut self.fresh);
        notices.sort_by_key(time_of);
        samples.sort_by_key(|s| s.time_ns);
        let ripe_notices = notices.partition_point(|n| time_of(n) <= horizon_ns);
        let ripe = samples.partition_point(|s| s.time_ns <= horizon_ns);
        let young = (notices.split_off(ripe_notices), samples.split_off(ripe));
        let waiting = self.awaited(&notices, &samples, horizon_ns);
        let waits = |pid: Option<u32>| pid.is_some_and(|p| waiting.contains(&p));
        let (mut later_notices, notices): (Vec<_>, Vec<_>) = notices.into_iter().partition(|n| waits(pid_of(n)));
        let (mut later, samples): (Vec<_>, Vec<_>) = samples.into_iter().partition(|s| waits(Some(s.pid)));
        self.take(&notices, &samples);
        later_notices.extend(young.0);
        later.extend(young.1);
        (self.notices, self.fresh) = (later_notices, later);
    }

    /// Processes of these notices and samples that have not reported and may still do so. At the end nobody is waited for.
    fn awaited(&mut self, notices: &[Notice], samples: &[RawSample], horizon_ns: u64) -> BTreeSet<u32> {
        if !self.awaited.expected || horizon_ns == u64::MAX || notices.len() + samples.len() > awaited::WAITING_MAX {
            return BTreeSet::new();
        }
        let mut pids: BTreeSet<u32> = samples.iter().map(|s| s.pid).collect();
        pids.extend(notices.iter().filter_map(pid_of));
        let now = self.clock.now();
        pids.retain(|&pid| {
            // One that was entered without having reported stays entered.
            let settled = self.names.reports(pid) || self.begun.contains(&pid) || self.life.is_dead(pid);
            if settled {
                self.awaited.forget(pid);
            }
            !settled && self.awaited.may_report(pid, now, || awaited::maps_library(pid))
        });
        pids
    }

    /// Notices and samples, each in order of time, towards the files.
    fn take(&mut self, notices: &[Notice], samples: &[RawSample]) {
        let mut from = 0;
        for notice in notices {
            let to = from + samples[from..].partition_point(|s| s.time_ns < time_of(notice));
            samples[from..to].iter().for_each(|s| self.sample(s));
            from = to;
            self.notice(notice);
        }
        samples[from..].iter().for_each(|s| self.sample(s));
    }

    fn sample(&mut self, s: &RawSample) {
        // Addresses of the kernel and none at all are nothing that placement could move.
        if s.addr == 0 || s.addr >> 63 != 0 {
            self.tally.unaddressed += 1;
            return;
        }
        let beyond = self.limit.is_some_and(|n| self.writer.samples >= n) || self.tally.write.is_some();
        let Some(thread) = (!beyond).then(|| self.thread(s.pid, s.tid, None, s.time_ns)).flatten() else {
            self.tally.dropped += 1;
            return;
        };
        let cpu = s.cpu.and_then(|c| u16::try_from(c).ok());
        let sample = Sample { weight: s.weight.max(1), latency_cycles: s.latency_cycles, source: s.source, cpu };
        self.tally.at(s.time_ns);
        if s.pid == self.root_pid {
            self.seen.at(s.addr);
        }
        let ticks = self.clocks.ticks_at(s.time_ns);
        let (addr, size, op, ip) = (s.addr, s.size.max(1), s.op, s.ip);
        self.writer.sample(thread, Stamped { ticks, addr, size, op, ip, sample });
    }

    /// The dataset thread of a host thread; one met for the first time begins, and its process with it.
    fn thread(&mut self, pid: u32, tid: u32, parent: Option<u32>, time_ns: u64) -> Option<u32> {
        match self.names.find(&self.control, pid, tid, parent)? {
            ThreadLookup::Known(thread) => Some(thread),
            ThreadLookup::New(thread) => {
                if !self.names.reports(pid) && self.begun.insert(pid) {
                    let ticks = self.clocks.ticks_at(time_ns);
                    let parent = names::parent_of(pid);
                    self.writer.event(thread, ticks, 0, EventKind::Process { pid, parent });
                }
                Some(thread)
            }
        }
    }

    /// A process that runs already: its threads, oldest first, and its mappings.
    pub(super) fn meet(&mut self, pid: u32) {
        let (now_ns, _) = self.clocks.read();
        for tid in names::threads_of(pid) {
            self.thread(pid, tid, None, now_ns);
        }
        for Mapping { addr, bytes, file_offset, prot, path } in mappings(pid) {
            self.notice(&Notice::Map { time_ns: now_ns, pid, addr, bytes, file_offset, prot, path });
        }
    }

    fn notice(&mut self, notice: &Notice) {
        match notice {
            // The source's own count has it.
            Notice::Lost(_) => {}
            Notice::Throttled => self.tally.throttled += 1,
            &Notice::Fork { time_ns, pid, tid, parent_pid, parent_tid } => {
                self.forked(time_ns, (pid, tid), (parent_pid, parent_tid));
            }
            &Notice::Exit { time_ns, tid, .. } => {
                if let Some(thread) = self.names.known(tid).filter(|&t| self.names.is_own(t)) {
                    let ticks = self.clocks.ticks_at(time_ns);
                    self.writer.event(thread, ticks, ticks, EventKind::Exit);
                }
                self.names.forget(tid);
            }
            Notice::Map { time_ns, pid, addr, bytes, file_offset, prot, path } => {
                if !self.names.reports(*pid) {
                    self.mapped(*time_ns, *pid, (*addr, *bytes), (*file_offset, *prot, path));
                }
            }
        }
    }

    fn forked(&mut self, time_ns: u64, (pid, tid): (u32, u32), (parent_pid, parent_tid): (u32, u32)) {
        let parent = self.names.known(parent_tid);
        if self.names.known(tid).is_some() {
            return;
        }
        let Some(child) = self.thread(pid, tid, parent, time_ns) else { return };
        let ticks = self.clocks.ticks_at(time_ns);
        // A thread with a ring says itself whom it created, and who has a ring is not created by notices.
        if let Some(parent) = parent.filter(|&p| self.names.is_own(p) && p < child) {
            self.writer.event(parent, ticks, ticks, EventKind::Spawn { child });
        }
        if pid != parent_pid && !self.names.reports(pid) {
            for Module { bias, bytes, path } in self.modules.forked(parent_pid, pid) {
                self.writer.event(child, ticks, 0, EventKind::Module { bias, bytes, path });
            }
        }
    }

    /// A mapping of a process that does not report for itself is told by its first thread.
    fn mapped(&mut self, time_ns: u64, pid: u32, range: (u64, u64), file: (u64, u32, &str)) {
        let ((addr, bytes), (file_offset, prot, path)) = (range, file);
        let Some(thread) = self.thread(pid, pid, None, time_ns) else { return };
        let ticks = self.clocks.ticks_at(time_ns);
        if let Some(Module { bias, bytes, path }) = self.modules.mapped(pid, addr, file_offset, prot, path) {
            self.writer.event(thread, ticks, 0, EventKind::Module { bias, bytes, path });
        }
        if prot & PROT_WRITE != 0 && bytes > 0 {
            let kind = EventKind::Map { addr, bytes, prot, flags: 0, device: 0, inode: 0, offset: None };
            self.writer.event(thread, ticks, 0, kind);
        }
    }

    /// Takes the events of all rings that are old enough.
    fn read_rings(&mut self, now_ticks: u64, horizon_ticks: u64, last: bool) {
        for index in 0..self.control.rings() {
            if self.closed.contains(&index) || self.names.is_own(index) {
                continue;
            }
            let entry = self.control.entry(index);
            let ended = last || entry.state == ENTRY_DONE as u32 || self.life.is_dead(entry.pid);
            if !self.ring_readers.contains_key(&index) && !self.open_ring_reader(index, last) {
                continue;
            }
            let Some(ring_reader) = self.ring_readers.get_mut(&index) else { continue };
            ring_reader.read(now_ticks, ended);
            while let Some(e) = ring_reader.next_before(horizon_ticks) {
                self.writer.event(index, e.ticks, e.stamp, e.kind);
            }
            ring_reader.ended |= ended;
        }
    }

    /// Whether there is a ring to read now; one that can never be read is closed.
    fn open_ring_reader(&mut self, index: u32, last: bool) -> bool {
        let entry = self.control.entry(index);
        if entry.state != ENTRY_ACTIVE as u32 && entry.state != ENTRY_DONE as u32 {
            return false;
        }
        match Ring::open(&self.control, index, &entry).and_then(RingReader::new) {
            Ok(ring_reader) => {
                self.ring_readers.insert(index, ring_reader);
                true
            }
            Err(error) => {
                // A program that could not create the file has counted that.
                if error.kind() != std::io::ErrorKind::NotFound || last {
                    self.tally.notes.push(format!("the ring of thread {index} cannot be used: {error}"));
                }
                self.closed.insert(index);
                false
            }
        }
    }

    /// Writes what was taken; then the rings may forget it.
    fn flush(&mut self) {
        self.flushed = self.clock.now();
        if self.tally.write.is_none()
            && let Err(error) = self.writer.flush()
        {
            self.tally.write = Some(error.to_string());
            self.control.stop(STOP_WRITE_FAILED);
        }
        if self.tally.write.is_some() {
            return;
        }
        let mut over = Vec::new();
        for (&index, ring_reader) in &mut self.ring_readers {
            ring_reader.commit(self.writer.refs(index));
            if ring_reader.ended && ring_reader.events.is_empty() {
                over.push(index);
            }
        }
        for index in over {
            let damaged = self.ring_readers.remove(&index).is_some_and(|ring_reader| ring_reader.is_damaged());
            if damaged {
                self.tally.notes.push(format!("the ring of thread {index} was damaged; events are missing"));
            }
            self.control.remove_ring(index);
            self.closed.insert(index);
        }
    }
}

/// When a notice was made; counters count at once.
fn time_of(notice: &Notice) -> u64 {
    match notice {
        Notice::Fork { time_ns, .. } | Notice::Exit { time_ns, .. } | Notice::Map { time_ns, .. } => *time_ns,
        Notice::Lost(_) | Notice::Throttled => 0,
    }
}

/// The process that a notice is about.
fn pid_of(notice: &Notice) -> Option<u32> {
    match notice {
        Notice::Fork { pid, .. } | Notice::Exit { pid, .. } | Notice::Map { pid, .. } => Some(*pid),
        Notice::Lost(_) | Notice::Throttled => None,
    }
}
