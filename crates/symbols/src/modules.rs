//! Executables and libraries of processes that do not report for themselves: from `/proc/PID/maps` and mapping notices.
use homenode_sys::dir;
use object::read::ReadCache;
use object::read::elf::{FileHeader, ProgramHeader};
use object::{Endianness, elf};
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::Path;

const PROT_EXEC: u32 = 4;

/// An executable or library in a process's memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Module {
    /// Run-time address minus address in the file.
    pub bias: u64,
    /// Bytes from the bias to the end.
    pub bytes: u64,
    /// Path.
    pub path: String,
}

/// A mapping of a process, a line of `/proc/PID/maps`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// First byte.
    pub addr: u64,
    /// Bytes.
    pub bytes: u64,
    /// Offset in the file.
    pub file_offset: u64,
    /// Protection bits as in mmap(2).
    pub prot: u32,
    /// Path, or a name in brackets; empty for memory of no file.
    pub path: String,
}

/// Modules by process, each once.
#[derive(Debug, Default)]
pub struct Modules {
    known: BTreeMap<u32, Vec<Module>>,
    /// By path; `None` for what is no program file.
    files: HashMap<String, Option<Vec<Segment>>>,
}

/// An executable segment of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Segment {
    offset: u64,
    address: u64,
    file_bytes: u64,
    /// End of the last segment of the file, as linked.
    end: u64,
}

impl Modules {
    /// The module of a mapping, if it is code of a file and not known yet.
    pub fn mapped(&mut self, pid: u32, addr: u64, file_offset: u64, prot: u32, path: &str) -> Option<Module> {
        if prot & PROT_EXEC == 0 || !path.starts_with('/') {
            return None;
        }
        let segments = self.files.entry(path.to_owned()).or_insert_with(|| segments(path)).as_ref()?;
        // The kernel maps whole pages, so the mapping may begin up to a (large) page before its segment.
        let holds =
            |s: &&Segment| s.offset & !0xffff <= file_offset && file_offset < s.offset.saturating_add(s.file_bytes);
        let segment = segments.iter().rfind(holds)?;
        let bias = addr.wrapping_sub(segment.address.wrapping_sub(segment.offset).wrapping_add(file_offset));
        let module = Module { bias, bytes: segment.end, path: path.to_owned() };
        let known = self.known.entry(pid).or_default();
        if known.contains(&module) {
            return None;
        }
        known.push(module.clone());
        Some(module)
    }
    /// A forked child has its parent's modules.
    pub fn forked(&mut self, parent: u32, child: u32) -> Vec<Module> {
        let inherited = self.known.get(&parent).cloned().unwrap_or_default();
        self.known.insert(child, inherited.clone());
        inherited
    }
}

/// The executable segments of a 64-bit program file, `None` if it is none.
fn segments(path: &str) -> Option<Vec<Segment>> {
    let file = ReadCache::new(dir::regular(Path::new(path)).ok()?);
    let header = elf::FileHeader64::<Endianness>::parse(&file).ok()?;
    let endian = header.endian().ok()?;
    let loads = header.program_headers(endian, &file).ok()?.iter().filter(|p| p.p_type(endian) == elf::PT_LOAD);
    let loads: Vec<_> = loads.collect();
    let end = loads.iter().map(|p| p.p_vaddr(endian).saturating_add(p.p_memsz(endian))).max()?;
    let one = |p: &&elf::ProgramHeader64<Endianness>| Segment {
        offset: p.p_offset(endian),
        address: p.p_vaddr(endian),
        file_bytes: p.p_filesz(endian),
        end,
    };
    Some(loads.iter().filter(|p| p.p_flags(endian).0 & elf::PF_X.0 != 0).map(one).collect())
}

/// The mappings of a running process; none if it is gone or another user's.
pub fn mappings(pid: u32) -> Vec<Mapping> {
    let text = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
    text.lines().filter_map(mapping).collect()
}

fn mapping(line: &str) -> Option<Mapping> {
    let mut words = line.split_ascii_whitespace();
    let (range, rights, offset) = (words.next()?, words.next()?, words.next()?);
    let (from, to) = range.split_once('-')?;
    let number = |text: &str| u64::from_str_radix(text, 16).ok();
    let (addr, end, file_offset) = (number(from)?, number(to)?, number(offset)?);
    let bit = |letter: char, value: u32| if rights.contains(letter) { value } else { 0 };
    let prot = bit('r', 1) | bit('w', 2) | bit('x', PROT_EXEC);
    let path = words.skip(2).collect::<Vec<_>>().join(" ");
    Some(Mapping { addr, bytes: end.checked_sub(addr)?, file_offset, prot, path })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_maps_is_understood_and_nonsense_is_passed_over() {
        let line = "7f3a10000000-7f3a10021000 r-xp 00002000 fe:01 1234     /usr/lib/a b.so (deleted)";
        let Some(Mapping { addr, bytes, file_offset, prot, path }) = mapping(line) else { panic!() };
        assert_eq!((addr, bytes, file_offset, prot), (0x7f3a_1000_0000, 0x21000, 0x2000, 5));
        assert_eq!(path, "/usr/lib/a b.so (deleted)");
        for bad in ["", "x", "1-2", "2-1 r--p 0 0:0 0", "g-h r--p 0 0:0 0", "1-2 r--p z 0:0 0"] {
            assert_eq!(mapping(bad), None, "{bad}");
        }
    }

    #[test]
    fn this_program_and_its_libraries_have_the_biases_that_its_own_addresses_show() {
        let mut modules = Modules::default();
        let pid = std::process::id();
        let mut found = Vec::new();
        for Mapping { addr, file_offset, prot, path, .. } in mappings(pid) {
            found.extend(modules.mapped(pid, addr, file_offset, prot, &path));
        }
        let own = std::env::current_exe().unwrap().to_string_lossy().into_owned();
        let me = found.iter().find(|m| m.path == own).expect("this program is among them");
        let here = segments as *const () as usize as u64;
        assert!(here > me.bias && here < me.bias + me.bytes);
        // The bias of a position-independent program is where its first segment, linked at 0, is mapped.
        let maps = fs::read_to_string("/proc/self/maps").unwrap();
        let first = maps.lines().find(|l| l.ends_with(&own)).unwrap().split('-').next().unwrap().to_owned();
        assert_eq!(me.bias, u64::from_str_radix(&first, 16).unwrap());
        assert_eq!(modules.forked(pid, 1), found);
    }

    #[test]
    fn a_file_whose_segment_ends_beyond_all_bytes_is_read_without_an_overflow() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("program");
        // Header of an ELF file with one program header: loaded, executable, at the last page of all offsets.
        let mut bytes = vec![0u8; 64 + 56];
        bytes[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
        bytes[16..20].copy_from_slice(&[2, 0, 62, 0]);
        bytes[32] = 64;
        bytes[52..58].copy_from_slice(&[64, 0, 56, 0, 1, 0]);
        bytes[64..72].copy_from_slice(&[1, 0, 0, 0, 5, 0, 0, 0]);
        bytes[72..80].copy_from_slice(&(u64::MAX - 0xfff).to_le_bytes());
        bytes[96..104].copy_from_slice(&0x10_000u64.to_le_bytes());
        bytes[104..112].copy_from_slice(&0x10_000u64.to_le_bytes());
        fs::write(&path, bytes).unwrap();
        let found = Modules::default().mapped(1, 0x7000_0000, u64::MAX - 0xfff, PROT_EXEC, &path.to_string_lossy());
        assert_eq!(found.map(|m| m.bytes), Some(0x10_000));
    }
}
