//! The code that a sampled thread was about to run, and the access in it.
use super::decode::Decoder;
use super::effective::{Access, Ahead, Isa};
use super::records::{Fields, Records, kind};
use crate::samples::{Notice, RawSample};
use crate::thin::Thin;
use homenode_sys::dir;
use std::collections::HashMap;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// Bytes of code looked at, and how many of them lie before the program counter: loops jump back.
const CODE_BYTES: usize = 384;
const BEFORE: u64 = 256;
/// Code is read anew after so long: programs that make code write it over.
const FRESH: Duration = Duration::from_secs(1);
/// Most places of code kept.
const PLACES_MAX: usize = 1 << 16;
/// Where fewer samples are wanted than this, a second, there are so many all the same: they cost next to nothing.
const LEAST_PER_S: u64 = 20;
/// Nanoseconds for which a sample weighs one.
const NS_PER_UNIT: u32 = 1_000;

/// Reads code of other processes.
#[derive(Debug)]
pub(super) struct Code {
    isa: Isa,
    memory: HashMap<u32, Option<File>>,
    places: HashMap<(u32, u64), Ahead>,
    since: Instant,
    thin: Thin,
    /// Samples since then, to know how many come.
    came: u64,
}

impl Code {
    pub(super) fn new(isa: Isa) -> Code {
        let (memory, places) = (HashMap::new(), HashMap::new());
        Code { isa, memory, places, since: Instant::now(), thin: Thin::default(), came: 0 }
    }

    /// Sets the samples wanted a second. The clock ticks on as before: to change its period, every event of every
    /// thread would have to be opened anew. What is left out is weighed by what is kept.
    pub(super) fn want(&mut self, per_second: u64) {
        self.thin.want(per_second.max(LEAST_PER_S) as f64);
    }

    /// As [`Decoder::decode`], with addresses that are computed here and weights in microseconds.
    pub(super) fn decode(
        &mut self,
        decoder: &mut Decoder,
        bytes: &[u8],
        samples: &mut Vec<RawSample>,
        notices: &mut Vec<Notice>,
    ) {
        let elapsed = self.since.elapsed();
        if elapsed >= FRESH || self.places.len() > PLACES_MAX {
            self.thin.arrives(std::mem::take(&mut self.came) as f64 / elapsed.as_secs_f64());
            self.places.clear();
            self.memory.clear();
            self.since = Instant::now();
        }
        let mut records = Records::new(bytes);
        for record in records.by_ref() {
            if record.kind == kind::SAMPLE {
                self.came += 1;
                if self.thin.keeps() {
                    let found = decoder.found(record.body, |f| self.access(f));
                    let times = self.thin.stands_for();
                    let weight = |ns: u32| (f64::from(ns / NS_PER_UNIT) * times).max(1.0) as u32;
                    samples.extend(found.map(|s| RawSample { weight: weight(s.weight), ..s }));
                }
            } else {
                decoder.record(&record, samples, notices);
            }
        }
        decoder.counts.damaged += u64::from(!records.rest().is_empty());
    }

    fn access(&mut self, f: &Fields<'_>) -> Option<Access> {
        let registers = f.regs_user?;
        let (isa, memory) = (self.isa, &mut self.memory);
        let read = || {
            let mut code = [0; CODE_BYTES];
            // A mapping may begin shortly before.
            for start in [f.ip.saturating_sub(BEFORE), f.ip & !0xfff, f.ip] {
                let n = bytes(memory, f.pid, start, &mut code);
                if n as u64 > f.ip - start {
                    return Ahead::read(isa, &code[..n], start, f.ip);
                }
            }
            Ahead::read(isa, &[], f.ip, f.ip)
        };
        self.places.entry((f.pid, f.ip)).or_insert_with(read).access(&registers).ok()
    }
}

/// Code at an address of a process; returns how many bytes there are.
fn bytes(memory: &mut HashMap<u32, Option<File>>, pid: u32, ip: u64, code: &mut [u8]) -> usize {
    let open = || File::open(format!("/proc/{pid}/mem")).ok();
    let file = memory.entry(pid).or_insert_with(open);
    let read = file.as_ref().and_then(|f| read_some(f, code, ip));
    read.or_else(|| from_file(pid, ip, code)).unwrap_or(0)
}

/// What there is at an offset: the last instructions of a mapping are followed by nothing.
fn read_some(file: &File, code: &mut [u8], at: u64) -> Option<usize> {
    file.read_at(code, at).ok().filter(|n| *n > 0)
}

/// Where the memory may not be read (another process of the same user, under Yama), the file that is mapped there may.
fn from_file(pid: u32, ip: u64, code: &mut [u8]) -> Option<usize> {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).ok()?;
    let (path, offset) = maps.lines().find_map(|line| mapped(line, ip))?;
    let file = dir::regular(Path::new(path)).ok()?;
    read_some(&file, code, offset)
}

/// Path and offset in the file of an address, if this line of `/proc/PID/maps` covers it.
fn mapped(line: &str, ip: u64) -> Option<(&str, u64)> {
    let mut words = line.split_ascii_whitespace();
    let (first, end) = words.next()?.split_once('-')?;
    let hex = |s: &str| u64::from_str_radix(s, 16).ok();
    let (first, end, offset) = (hex(first)?, hex(end)?, hex(words.nth(1)?)?);
    let path = words.nth(2).filter(|p| p.starts_with('/'))?;
    (first..end).contains(&ip).then(|| (path, (ip - first).saturating_add(offset)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_found_in_memory_and_in_files() {
        let at = read_some as *const () as u64;
        let pid = std::process::id();
        let (mut memory, mut file) = ([0; CODE_BYTES], [0; CODE_BYTES]);
        let mut open = HashMap::new();
        assert_eq!(bytes(&mut open, pid, at, &mut memory), CODE_BYTES);
        assert_eq!(from_file(pid, at, &mut file), Some(CODE_BYTES));
        assert_eq!(memory, file);
        assert_eq!(bytes(&mut open, pid, 8, &mut file), 0);
        assert_eq!(bytes(&mut open, u32::MAX >> 1, at, &mut file), 0);
    }

    #[test]
    fn lines_of_maps_are_understood_or_passed_over() {
        let line = "55d0-55e0 r-xp 00001000 08:01 77 /usr/bin/a b";
        assert_eq!(mapped(line, 0x55d4), Some(("/usr/bin/a", 0x1004)));
        assert_eq!(mapped(line, 0x55e0), None);
        for wrong in ["", "1-2", "55d0-55e0 rw-p 0 00:00 0", "55d0-55e0 rw-p 0 00:00 0 [heap]", "x-y r 0 0 0 /a"] {
            assert_eq!(mapped(wrong, 0x55d4), None, "{wrong}");
        }
    }
}
