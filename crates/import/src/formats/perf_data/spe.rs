//! Samples that ARM's Statistical Profiling Extension wrote as packets into the trace data of a file.
//!
//! The packets say neither process nor processor nor nanoseconds: the thread stands in a packet of the context if the kernel
//! was built to write it, else with the trace data where each thread has its own; its process stands in the records; the
//! timer is converted as the file says.
use homenode_sampling::perf::Counts;
use homenode_sampling::perf::spe::{SpeRecord, decode};
use homenode_sampling::perf::wire::Cursor;
use homenode_sampling::{Notice, RawSample};
use std::collections::HashMap;

/// Number of this kind of trace data.
const KIND: u32 = 4;
/// Addresses of the kernel, without the byte above.
const KERNEL: u64 = 1 << 55;

/// The timer's ticks in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
struct Timer {
    shift: u64,
    mult: u64,
    zero: u64,
}

impl Timer {
    fn ns(self, ticks: u64) -> u64 {
        let scaled = (u128::from(ticks) * u128::from(self.mult)) >> self.shift.min(127);
        self.zero.wrapping_add(scaled as u64)
    }
}

/// A piece of trace data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    /// Bytes that follow the record.
    pub(super) bytes: u64,
    tid: Option<u32>,
    cpu: Option<u32>,
}

impl Piece {
    /// From the body of the record before it.
    pub(super) fn of(body: &[u8]) -> Piece {
        let mut c = Cursor(body);
        let bytes = c.u64().unwrap_or(0);
        let rest = (|| Some((c.skip_words(2)?, c.pair()?.1, c.u32()?)))();
        let real = |n: u32| Some(n).filter(|&n| n != u32::MAX);
        Piece { bytes, tid: rest.and_then(|r| real(r.1)), cpu: rest.and_then(|r| real(r.2)) }
    }
}

/// Makes samples of packets.
#[derive(Debug, Default)]
pub(super) struct Spe {
    here: bool,
    timer: Option<Timer>,
    pids: HashMap<u32, u32>,
    records: Vec<SpeRecord>,
    /// Operations between samples.
    pub(super) period: u64,
    pub(super) counts: Counts,
    nameless: u64,
    bad_bytes: u64,
    no_time: u64,
}

impl Spe {
    /// Whether the trace data of this file are such packets.
    pub(super) fn is_here(&self) -> bool {
        self.here
    }
    /// The record that says what trace data there will be.
    pub(super) fn described(&mut self, body: &[u8]) {
        self.here = Cursor(body).u32() == Some(KIND);
    }
    /// The record that says how to convert the timer.
    pub(super) fn timer(&mut self, body: &[u8]) {
        let mut c = Cursor(body);
        self.timer = (|| Some(Timer { shift: c.u64()?, mult: c.u64()?, zero: c.u64()? }))();
    }
    /// Takes note of whose a thread is.
    pub(super) fn thread(&mut self, pid: u32, tid: u32) {
        self.pids.insert(tid, pid);
    }
    /// As [`Spe::thread`] from a notice.
    pub(super) fn notice(&mut self, notice: &Notice) {
        if let Notice::Fork { pid, tid, .. } = notice {
            self.thread(*pid, *tid);
        }
    }
    /// Appends the samples of a piece.
    pub(super) fn piece(&mut self, piece: Piece, bytes: &[u8], out: &mut Vec<RawSample>) {
        let mut records = std::mem::take(&mut self.records);
        records.clear();
        self.bad_bytes += decode(bytes, &mut records);
        out.extend(records.iter().filter_map(|r| self.sample(r, piece)));
        self.records = records;
    }
    fn sample(&mut self, r: &SpeRecord, piece: Piece) -> Option<RawSample> {
        // Branches and arithmetic are no references; they are sampled where the event does not filter them.
        self.counts.seen += 1;
        let Some((addr, op)) = r.addr.filter(|&a| a != 0).zip(r.op) else {
            self.counts.unaddressed += 1;
            return None;
        };
        if addr & KERNEL != 0 {
            self.counts.kernel += 1;
            return None;
        }
        let Some(tid) = r.context.filter(|&c| c != 0).or(piece.tid) else {
            self.nameless += 1;
            return None;
        };
        let Some(time_ns) = r.ticks.zip(self.timer).map(|(ticks, timer)| timer.ns(ticks)) else {
            self.no_time += 1;
            return None;
        };
        self.counts.delivered += 1;
        let weight = u32::try_from(self.period.max(1)).unwrap_or(u32::MAX);
        let pid = self.pids.get(&tid).copied().unwrap_or(tid);
        let (latency_cycles, source) = (r.latency_cycles, r.source(false));
        Some(RawSample {
            time_ns,
            pid,
            tid,
            cpu: piece.cpu,
            ip: r.pc,
            addr,
            size: 1,
            op,
            weight,
            latency_cycles,
            source,
        })
    }
    /// What a reader should know.
    pub(super) fn notes(&self) -> Vec<String> {
        if !self.here {
            return Vec::new();
        }
        let all = [
            (
                self.nameless,
                "samples of ARM SPE do not say whose they are and were dropped: record per thread, or as root on a kernel with CONFIG_PID_IN_CONTEXTIDR",
            ),
            (self.no_time, "samples of ARM SPE have no time that can be converted and were dropped"),
            (self.bad_bytes, "bytes of ARM SPE's trace data are no packets and were passed over"),
        ];
        let mut notes = vec![
            "samples of ARM SPE: where data came from is taken from the events that every core has, not from codes that \
             differ between cores"
                .to_owned(),
        ];
        notes.extend(all.iter().filter(|a| a.0 > 0).map(|(n, what)| format!("{n} {what}")));
        notes
    }
}
