//! Addresses of samples that have registers but no address: the code comes from the mapped files, where they are here.
use homenode_sampling::Notice;
use homenode_sampling::perf::effective::{Access, DropCounts, Dropped, Isa, When, accesses};
use homenode_sampling::perf::records::Fields;
use homenode_sys::dir;
use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Longest instruction of any machine.
const INSTRUCTION_MAX: usize = 15;
/// Most mappings kept for one process.
const MAPS_MAX: usize = 4096;
/// Most files kept open.
const FILES_MAX: usize = 256;

#[derive(Debug)]
struct Code {
    addr: u64,
    bytes: u64,
    file_offset: u64,
    path: String,
}

/// Finds code and asks it.
#[derive(Debug, Default)]
pub(super) struct Rebuilder {
    maps: HashMap<u32, Vec<Code>>,
    files: HashMap<String, Option<File>>,
    drops: DropCounts,
    found: u64,
}

impl Rebuilder {
    /// Takes note of mappings and forks.
    pub(super) fn notice(&mut self, notice: &Notice) {
        if let Notice::Map { pid, addr, bytes, file_offset, path, .. } = notice
            && path.starts_with('/')
        {
            let maps = self.maps.entry(*pid).or_default();
            if maps.len() < MAPS_MAX {
                maps.push(Code { addr: *addr, bytes: *bytes, file_offset: *file_offset, path: path.clone() });
            }
        }
    }
    /// The access of the sampled instruction; `None`, and counted why, if it cannot be known. Where an instruction makes
    /// several, it is the first of its operands.
    pub(super) fn access(&mut self, isa: Option<Isa>, f: &Fields<'_>, when: When) -> Option<Access> {
        let mut code = [0; INSTRUCTION_MAX];
        let n = self.code(f, &mut code);
        let registers = f.regs_user.or(f.regs_intr);
        let result = match (isa, registers) {
            (None, _) => Err(Dropped::Machine),
            (_, None) => Err(Dropped::NoRegister),
            (Some(isa), Some(registers)) => accesses(isa, &code[..n], f.ip, when, &registers),
        };
        match result {
            Ok(all) => {
                self.found += 1;
                all.first().copied()
            }
            Err(why) => {
                self.drops.add(why);
                None
            }
        }
    }
    /// Reads the bytes at the program counter; returns how many there are.
    fn code(&mut self, f: &Fields<'_>, out: &mut [u8]) -> usize {
        let maps = self.maps.get(&f.pid).map_or(&[][..], Vec::as_slice);
        // The youngest mapping that covers it holds.
        let holds = |c: &&Code| f.ip.checked_sub(c.addr).is_some_and(|d| d < c.bytes);
        let Some(map) = maps.iter().rev().find(holds) else { return 0 };
        if self.files.len() >= FILES_MAX && !self.files.contains_key(&map.path) {
            self.files.clear();
        }
        let open = || dir::regular(Path::new(&map.path)).ok();
        let file = self.files.entry(map.path.clone()).or_insert_with(open);
        let at = (f.ip - map.addr).checked_add(map.file_offset);
        let read = file.as_ref().zip(at).and_then(|(file, at)| file.read_at(out, at).ok());
        read.unwrap_or(0)
    }
    /// What a reader should know.
    pub(super) fn note(&self) -> Option<String> {
        let d = |why| self.drops.of(why);
        (self.found + self.drops.total() > 0).then(|| {
            format!(
                "addresses were computed from registers and from the code in the files of this machine, which must be those \
                 recorded: {} found; dropped: {} without code, {} not understood, {} not referring to data, {} whose \
                 registers were overwritten, {} through FS or GS, {} without registers, {} with many addresses, {} of a machine that the file does not name or \
                 whose instructions are not decoded",
                self.found,
                d(Dropped::NoCode),
                d(Dropped::NoInstruction),
                d(Dropped::NoMemory),
                d(Dropped::Overwritten),
                d(Dropped::Segment),
                d(Dropped::NoRegister),
                d(Dropped::Scattered),
                d(Dropped::Machine)
            )
        })
    }
}
