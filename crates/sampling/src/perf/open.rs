//! Opening the events of a plan for every thread and processor, with one ring per processor (the kernel maps inherited
//! events only per processor), and what to give up when the kernel says no.
use super::event::EventChoice;
use super::plan::{EventPlan, Planned, TRACKING};
use super::target::{self, Target};
use homenode_host::probe::{ThisHost, perf_permission};
use homenode_sys::perf::attr::{flag, sample};
use homenode_sys::perf::{Attr, Event, Ring, raise_open_files};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

// Numbers of errno.h, the same on x86-64 and aarch64.
const EPERM: i32 = 1;
const ESRCH: i32 = 3;
const EACCES: i32 = 13;
const EINVAL: i32 = 22;
const EMFILE: i32 = 24;
const ENOSYS: i32 = 38;
const EOPNOTSUPP: i32 = 95;

/// Smallest ring tried when locked memory is short.
const RING_BYTES_MIN: usize = 32 << 10;

/// Everything that is open for one target.
#[derive(Debug, Default)]
pub(super) struct Opened {
    /// Sampling events, in the order opened.
    pub(super) events: Vec<Open>,
    /// Which of them have ended.
    pub(super) over: Vec<bool>,
    /// Group leaders that only count, kept open for their members.
    leaders: Vec<Event>,
    /// One ring per processor, with the index of the event that owns it.
    pub(super) rings: BTreeMap<u32, (Ring, usize)>,
    /// Threads that have events of their own.
    threads: BTreeSet<u32>,
}

/// A sampling event.
#[derive(Debug)]
pub(super) struct Open {
    pub(super) event: Event,
    /// Index into the plan.
    pub(super) planned: usize,
    /// Number in its records.
    pub(super) id: u64,
}

/// What to open.
#[derive(Clone, Debug)]
pub(super) struct OpenRequest {
    pub(super) plan: EventPlan,
    pub(super) target: Target,
    /// Bytes of each processor's ring.
    pub(super) ring_bytes: usize,
}

impl OpenRequest {
    /// Opens everything, giving up what can be given up and saying so in the plan's notes.
    ///
    /// # Errors
    /// What the kernel says when nothing is left to give up.
    pub(super) fn open(&mut self) -> io::Result<Opened> {
        loop {
            match Opened::new(self) {
                Err(e) if self.concede(&e) => {}
                done => return done,
            }
        }
    }

    /// Gives up one thing that may have caused the refusal; false if there is none.
    fn concede(&mut self, error: &io::Error) -> bool {
        let Some(number) = error.raw_os_error() else { return false };
        match number {
            EMFILE => {
                let before = self.plan.notes.iter().any(|n| n.contains("open files"));
                let raised = !before && raise_open_files().is_ok();
                if raised {
                    self.plan
                        .notes
                        .push("the limit of open files was raised: one event per thread and processor".into());
                }
                raised
            }
            EACCES | EPERM if self.all(|a| a.flags & flag::EXCLUDE_KERNEL == 0) && !self.is_ibs() => {
                self.change(|a| a.flags |= flag::EXCLUDE_KERNEL | flag::EXCLUDE_HV);
                self.plan
                    .notes
                    .push("what the kernel touches on the program's behalf is not seen (no permission)".into());
                true
            }
            EPERM if self.ring_bytes > RING_BYTES_MIN => {
                self.ring_bytes /= 2;
                true
            }
            EINVAL if self.all(|a| a.sample_type & sample::WEIGHT_STRUCT != 0) => {
                // Kernels before 5.12.
                self.change(|a| a.sample_type = a.sample_type & !sample::WEIGHT_STRUCT | sample::WEIGHT);
                true
            }
            EINVAL | EOPNOTSUPP if self.all(|a| a.flags >> 15 & 3 > 1) => {
                self.change(|a| *a = a.precise((a.flags >> 15 & 3) - 1));
                true
            }
            _ => false,
        }
    }
    fn is_ibs(&self) -> bool {
        self.plan.words.starts_with("ibs")
    }
    fn all(&self, f: impl Fn(&Attr) -> bool) -> bool {
        self.plan.events.iter().all(|p| f(&p.attr))
    }
    fn change(&mut self, f: impl Fn(&mut Attr)) {
        self.plan.events.iter_mut().for_each(|p| f(&mut p.attr));
    }
}

impl Opened {
    /// Opens everything as wished. A thread that ends meanwhile is passed over.
    fn new(request: &OpenRequest) -> io::Result<Opened> {
        let mut opened = Opened::default();
        let cpus = target::online_cpus();
        match request.target {
            Target::BeforeExec(pid) => opened.thread(request, pid, &cpus)?,
            Target::Running(pid) => {
                // A thread made while this goes on either inherits the events of its maker or is found by the next round.
                // One made between the rounds by a thread that has events is sampled twice: half a millisecond of risk,
                // against losing a thread altogether.
                for _ in 0..3 {
                    for tid in opened.unknown(pid) {
                        opened.thread(request, tid, &cpus)?;
                    }
                }
            }
        }
        opened.over = vec![false; opened.events.len()];
        if opened.events.is_empty() { Err(io::Error::from_raw_os_error(ESRCH)) } else { Ok(opened) }
    }

    fn unknown(&self, pid: u32) -> Vec<u32> {
        let all = target::tree_of(pid).into_iter().flat_map(target::threads_of);
        all.filter(|t| !self.threads.contains(t)).collect()
    }

    /// Opens all events of one thread.
    fn thread(&mut self, request: &OpenRequest, tid: u32, cpus: &[u32]) -> io::Result<()> {
        self.threads.insert(tid);
        for (i, planned) in request.plan.events.iter().enumerate() {
            for &cpu in cpus.iter().filter(|c| planned.cpus.is_empty() || planned.cpus.contains(c)) {
                match self.one(request, planned, i, (tid, cpu)) {
                    Err(e) if e.raw_os_error() == Some(ESRCH) => return Ok(()),
                    done => done?,
                }
            }
        }
        Ok(())
    }

    fn one(&mut self, request: &OpenRequest, planned: &Planned, i: usize, (tid, cpu): (u32, u32)) -> io::Result<()> {
        let begin = |mut attr: Attr| {
            match request.target {
                Target::BeforeExec(_) => attr.flags |= flag::ENABLE_ON_EXEC,
                Target::Running(_) => attr.flags &= !flag::DISABLED,
            }
            attr
        };
        let mut attr = planned.attr;
        attr.wakeup = u32::try_from(request.ring_bytes / 4).unwrap_or(u32::MAX);
        attr.clockid = CLOCK_MONOTONIC;
        if i == 0 {
            attr.flags |= TRACKING;
        }
        let leader = match planned.leader {
            Some(leader) => Some(Event::open(&begin(leader), Some(tid), Some(cpu), None)?),
            None => {
                attr = begin(attr);
                None
            }
        };
        let event = Event::open(&attr, Some(tid), Some(cpu), leader.as_ref())?;
        self.leaders.extend(leader);
        let id = event.id()?;
        match self.rings.get(&cpu) {
            Some((_, owner)) => event.set_output(&self.events[*owner].event)?,
            None => {
                let ring = Ring::map(&event, request.ring_bytes)?;
                self.rings.insert(cpu, (ring, self.events.len()));
            }
        }
        self.events.push(Open { event, planned: i, id });
        Ok(())
    }

    /// Switches all on or off.
    pub(super) fn switch(&self, on: bool) -> io::Result<()> {
        let order = |e: &Event| if on { e.enable() } else { e.disable() };
        self.leaders.iter().chain(self.events.iter().map(|o| &o.event)).try_for_each(order)
    }
}

const CLOCK_MONOTONIC: i32 = 1;

/// What the kernel's refusal means and what to do about it, on one line.
pub fn why_refused(error: &io::Error) -> String {
    refusal(error, || perf_permission(&ThisHost::default()))
}

/// As [`why_refused`]; `plain` says whether plain events of own programs are permitted.
fn refusal(error: &io::Error, plain: impl FnOnce() -> Result<(), String>) -> String {
    match error.raw_os_error() {
        Some(EACCES | EPERM | ENOSYS) => match plain() {
            Err(line) => line,
            Ok(()) => format!(
                "perf_event_open: {error}, though plain events of own programs are permitted: processes of other users need \
                 CAP_PERFMON and CAP_SYS_PTRACE (`setcap cap_perfmon,cap_sys_ptrace+ep` on the program), and so do \
                 events that the kernel cannot restrict to user space (AMD IBS before Linux 6.14)"
            ),
        },
        Some(ESRCH) => "there is no such process, or it has ended".to_owned(),
        Some(EMFILE) => {
            "too many open files: one event per thread and processor is needed; raise `ulimit -n`".to_owned()
        }
        Some(EINVAL | EOPNOTSUPP) => {
            format!(
                "the processor or the kernel refuses this event ({error}); virtual machines usually have no such unit"
            )
        }
        _ => format!("performance events: {error}"),
    }
}

/// Whether events of this choice can be sampled here, in programs of this user.
///
/// # Errors
/// One line: what is missing and how to get it.
pub fn permitted(choice: EventChoice) -> Result<(), String> {
    let mut request = OpenRequest {
        plan: choice.plan(Path::new("/sys"), 0)?,
        target: Target::Running(std::process::id()),
        ring_bytes: RING_BYTES_MIN,
    };
    loop {
        match probe(&request.plan) {
            Err(e) if request.concede(&e) => {}
            done => return done.map_err(|e| why_refused(&e)),
        }
    }
}

/// Opens each event once, for this process alone, and closes it again.
fn probe(plan: &EventPlan) -> io::Result<()> {
    let own = Some(std::process::id());
    for planned in &plan.events {
        let cpu = planned.cpus.first().copied();
        let leader = planned.leader.map(|l| Event::open(&l, own, cpu, None)).transpose()?;
        Event::open(&planned.attr, own, cpu, leader.as_ref())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_say_what_to_do() {
        let say = |number, plain: Result<(), &str>| {
            refusal(&io::Error::from_raw_os_error(number), || plain.map_err(str::to_owned))
        };
        for number in [EACCES, EPERM, ENOSYS] {
            assert_eq!(say(number, Err("paranoid; sysctl")), "paranoid; sysctl");
            assert!(say(number, Ok(())).contains("CAP_PERFMON"));
        }
        assert!(say(EINVAL, Ok(())).contains("virtual machines") && say(ESRCH, Ok(())).contains("no such process"));
        assert!(say(EMFILE, Ok(())).contains("ulimit") && !say(5, Ok(())).is_empty());
    }
}
