//! # Sampling by protection: what the preloaded library does on machines with one memory node
//!
//! The library takes access away from pages chosen at random and writes down who touches each first; no system call of the
//! program ever meets such a page (`crates/hooks/c/agent/protect.h` says how). This is the recorder's end: it makes the
//! file that both share, says what sampling may cost, and reads the samples. `docs/design/faults.md` has the estimator,
//! which is that of hinting faults.
//!
//! **Invariant:** the file is not trusted: a sample counts if its own number stands in it, and whatever else it says, reading
//! it changes nothing but the dataset.
use crate::error::CaptureError;
use crate::sampled::{Sampler, Subject};
use homenode_sampling::{Notice, RawSample, SampleSource, SamplingError};
use homenode_sys::clock::monotonic_ns;
use homenode_sys::map::SharedMap;
use homenode_trace::{DataSource, Op, SampleUnit};
use std::ffi::OsString;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Environment variable that names the file.
pub const PROTECT_ENV: &str = "HOMENODE_AGENT_PROTECT";
/// Name of the file, below the directory of the rings.
const FILE: &str = "protect";
const MAGIC: u64 = u64::from_le_bytes(*b"HNPROT01");
const SLOTS: u64 = 16_384;
const SLOT_BYTES: u64 = 64;
const HEADER_BYTES: u64 = 4096;
const BYTES: u64 = HEADER_BYTES + SLOTS * SLOT_BYTES;
const OFF_PERMILLE: u64 = 8;
const OFF_STOP: u64 = 12;
const OFF_MOST: u64 = 16;
const OFF_HEAD: u64 = 64;
const OFF_TAIL: u64 = 128;
const OFF_LOST: u64 = 192;
const OFF_SPENT_NS: u64 = 200;
const OFF_CALLS: u64 = 208;
const OFF_OPENED: u64 = 216;
const OFF_EXPIRED: u64 = 224;
const OFF_SAMPLING: u64 = 232;
const OFF_WHY_NOT: u64 = 236;
const OFF_FAULT_NS: u64 = 240;
const OFF_CALL_NS: u64 = 248;
/// More samples a second than any overhead bound allows.
const UNLIMITED: u64 = 1_000_000;
/// How often the file is looked at.
const LOOK: Duration = Duration::from_millis(10);
/// A sample whose number was given and which is not there after this time never comes: its process was killed.
const PATIENCE_NS: u64 = 200_000_000;

/// What is missing for sampling by protection on this machine, in words; `None` if nothing is.
pub fn missing_in_words() -> Option<String> {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return Some("sampling by protection needs Linux 5.11 or later on x86-64 (Syscall User Dispatch)".to_owned());
    }
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(|n| n.parse::<u32>().unwrap_or(0));
    let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    (version < (5, 11)).then(|| {
        format!("sampling by protection needs Linux 5.11 or later (Syscall User Dispatch); this is {}", release.trim())
    })
}

/// Samples programs that it starts, with the preloaded library's help. Needs no privilege and one memory node.
#[derive(Debug, Default)]
pub struct Protect {
    map: Option<SharedMap>,
}

impl Sampler for Protect {
    fn name(&self) -> &'static str {
        "faults"
    }
    fn environment(&mut self, rings: &Path) -> Result<Vec<(OsString, OsString)>, CaptureError> {
        let path = rings.join(FILE);
        let fail = CaptureError::io("create", &path);
        let create = || -> std::io::Result<SharedMap> {
            let mut file = File::options().read(true).write(true).create_new(true).open(&path)?;
            file.set_len(BYTES)?;
            file.write_all(&MAGIC.to_le_bytes())?;
            SharedMap::of_file(&file, BYTES, true)
        };
        self.map = Some(create().map_err(fail)?);
        let absolute = std::path::absolute(&path).map_err(CaptureError::io("find", &path))?;
        Ok(vec![(PROTECT_ENV.into(), absolute.into_os_string())])
    }
    fn open(&mut self, subject: &Subject) -> Result<Box<dyn SampleSource>, CaptureError> {
        let refuse = |why: &str| CaptureError::Backend { name: "faults".to_owned(), why: why.to_owned() };
        let Some(map) = self.map.take().filter(|_| subject.held) else {
            return Err(refuse("protection samples only programs that it starts; give a command instead of --pid"));
        };
        let source = ProtectSource { map, read: 0, overhead: subject.overhead_permille, missing_since: None, gaps: 0 };
        source.store32(OFF_PERMILLE, subject.overhead_permille.clamp(1, 1000));
        source.store64(OFF_MOST, UNLIMITED);
        Ok(Box::new(source))
    }
}

/// The reading end.
#[derive(Debug)]
pub struct ProtectSource {
    map: SharedMap,
    read: u64,
    overhead: u32,
    /// Since when the next sample has been missing.
    missing_since: Option<u64>,
    /// Samples that never came.
    gaps: u64,
}

impl ProtectSource {
    fn store32(&self, offset: u64, value: u32) {
        if let Some(word) = self.map.u32_mut(offset) {
            word.store(value, Ordering::Release);
        }
    }
    fn store64(&self, offset: u64, value: u64) {
        if let Some(word) = self.map.u64_mut(offset) {
            word.store(value, Ordering::Release);
        }
    }
    fn load(&self, offset: u64) -> u64 {
        self.map.load_u64(offset).unwrap_or(0)
    }

    /// Takes what is there.
    fn take(&mut self, samples: &mut Vec<RawSample>) {
        let head = self.load(OFF_HEAD);
        if head.wrapping_sub(self.read) > SLOTS {
            // No library of ours goes that far ahead: skip to where samples may be whole.
            self.gaps += head.saturating_sub(self.read);
            self.read = head;
        }
        while self.read < head {
            let offset = HEADER_BYTES + self.read % SLOTS * SLOT_BYTES;
            if self.load(offset) == self.read + 1 {
                let mut bytes = [0; SLOT_BYTES as usize];
                if self.map.copy_bytes(offset, &mut bytes) {
                    samples.push(decode(&bytes));
                }
            } else if self.waits() {
                break;
            } else {
                self.gaps += 1;
            }
            self.missing_since = None;
            self.read += 1;
        }
        self.store64(OFF_TAIL, self.read);
    }
    /// Whether to go on waiting for the next sample.
    fn waits(&mut self) -> bool {
        let now = monotonic_ns();
        now - *self.missing_since.get_or_insert(now) < PATIENCE_NS
    }
}

fn decode(bytes: &[u8; SLOT_BYTES as usize]) -> RawSample {
    let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
    let half = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
    RawSample {
        time_ns: word(8),
        pid: half(16),
        tid: half(20),
        cpu: Some(half(24)),
        ip: word(32),
        addr: word(40),
        size: 1,
        op: if half(28) & 1 == 0 { Op::Read } else { Op::Write },
        weight: 1,
        latency_cycles: None,
        source: DataSource::Unknown,
    }
}

impl SampleSource for ProtectSource {
    fn unit(&self) -> SampleUnit {
        SampleUnit::Window
    }
    fn event(&self) -> String {
        "faults on pages protected at random (preloaded library)".to_owned()
    }
    fn sees_writes(&self) -> bool {
        // The first access of a window is seen with its kind; those after it are not.
        true
    }
    fn poll(
        &mut self,
        timeout: Duration,
        samples: &mut Vec<RawSample>,
        _notices: &mut Vec<Notice>,
    ) -> Result<bool, SamplingError> {
        let before = samples.len();
        self.take(samples);
        if samples.len() == before {
            std::thread::sleep(timeout.min(LOOK));
            self.take(samples);
        }
        Ok(true)
    }
    fn set_rate(&mut self, per_second: u64) -> Result<(), SamplingError> {
        self.store64(OFF_MOST, per_second.min(UNLIMITED));
        Ok(())
    }
    fn lost(&self) -> u64 {
        self.load(OFF_LOST) + self.gaps
    }
    fn notes(&self) -> Vec<String> {
        let half = |offset| self.map.load_u32(offset).unwrap_or(0);
        let (micro, milli) = (|offset| self.load(offset) as f64 / 1e3, |offset| self.load(offset) as f64 / 1e6);
        let mut notes = vec![format!(
            "{} windows on pages chosen at random, {} of them closed because nobody touched the page; a sample costs {:.1} us, \
             and so that none of the program's {} system calls meets a protected page, each costs {:.1} us more: {:.0} ms \
             in all, bound {:.1} % of the program's processor time",
            self.load(OFF_OPENED),
            self.load(OFF_EXPIRED),
            micro(OFF_FAULT_NS),
            self.load(OFF_CALLS),
            micro(OFF_CALL_NS),
            milli(OFF_SPENT_NS),
            f64::from(self.overhead) / 10.0
        )];
        notes.push("only objects of at least 64 KiB and the program's own static data are sampled".to_owned());
        if half(OFF_SAMPLING) == 0 {
            notes.push(
                "the program was not sampled: it is static, or set-user-ID, or ended before the library could begin"
                    .to_owned(),
            );
        }
        if let Some(why) = why_not(half(OFF_WHY_NOT)) {
            notes.push(format!("in some process sampling ended early or never began: {why}"));
        }
        notes
    }
}

impl Drop for ProtectSource {
    fn drop(&mut self) {
        self.store32(OFF_STOP, 1);
    }
}

/// The library's reasons.
fn why_not(code: u32) -> Option<&'static str> {
    match code {
        0 => None,
        1 => Some("the kernel has no Syscall User Dispatch, or another library or filter forbids it"),
        2 => Some("more threads than it can follow, or no memory"),
        3 => Some(
            "the program did what sampling could disturb (other credentials or namespaces, seccomp, io_uring, ...)",
        ),
        5 => Some("the program makes so many system calls that looking at each would cost more than the bound"),
        4 => Some("the process has nearly as many mappings as vm.max_map_count allows"),
        _ => Some("for a reason that this version does not know"),
    }
}
