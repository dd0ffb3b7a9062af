//! Variables of the program for nodes of other hosts: what the first node's process has in its writable segments, and where its program and
//! libraries lie, so that code and pointers to the program's own data mean the same elsewhere.
use homenode_sys::segments::{Module, Segments};
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

/// First bytes of an image.
const MAGIC: u64 = u64::from_le_bytes(*b"HNIMAGE1");
/// Largest image: 1 TiB.
const BYTES_MOST: u64 = 1 << 40;
/// The kernel's own library, of which programs hold no addresses.
const OF_KERNEL: &str = "linux-vdso";

/// What a process has in its variables, and where it lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// The program, and then its libraries.
    pub modules: Vec<Module>,
    /// Addresses of writable data of the program, and the bytes there.
    pub data: Vec<(Range<u64>, Vec<u8>)>,
}

impl Image {
    /// That of this process.
    ///
    /// # Errors
    /// The process has more than one thread.
    pub(crate) fn of_process() -> io::Result<Image> {
        let loaded = Segments::loaded();
        let data = loaded.writable().iter().enumerate().map(|(at, range)| Ok((range.clone(), loaded.content(at)?)));
        Ok(Image { data: data.collect::<io::Result<_>>()?, modules: loaded.modules().to_vec() })
    }

    /// Makes the variables of this process those of the image.
    ///
    /// # Errors
    /// Why they would not mean the same here.
    pub(crate) fn enter(&self) -> Result<(), String> {
        let loaded = Segments::loaded();
        same(&self.modules, loaded.modules())?;
        for (range, bytes) in &self.data {
            let elsewhere = |e| format!("its variables lie elsewhere than on node 0: {e}");
            loaded.replace(range.start, bytes).map_err(elsewhere)?;
        }
        Ok(())
    }
    /// Leaves variables out, which then begin where the image is entered as in any process.
    pub fn leave_out(&mut self, variable: &Range<u64>) {
        for (range, bytes) in std::mem::take(&mut self.data) {
            let [from, to] = [variable.start, variable.end].map(|at| at.clamp(range.start, range.end));
            if from >= to {
                self.data.push((range, bytes));
                continue;
            }
            for part in [range.start..from, to..range.end].into_iter().filter(|part| !part.is_empty()) {
                let [first, end] = [part.start, part.end].map(|at| (at - range.start) as usize);
                self.data.push((part, bytes[first..end].to_vec()));
            }
        }
    }

    /// The image as [`Image::parse`] reads it.
    pub fn bytes(&self) -> Vec<u8> {
        let mut words = Vec::new();
        words.extend([MAGIC, self.modules.len() as u64, self.data.len() as u64].map(u64::to_le_bytes).concat());
        for module in &self.modules {
            words.extend([module.base, module.addresses.start, module.addresses.end].map(u64::to_le_bytes).concat());
            text(&mut words, module.name.as_bytes());
            text(&mut words, &module.build);
        }
        for (range, bytes) in &self.data {
            words.extend(range.start.to_le_bytes());
            text(&mut words, bytes);
        }
        words
    }

    /// Writes it, and before it the number of all bytes, to the beginning of a file.
    ///
    /// # Errors
    /// What the system says.
    pub fn write(&self, file: &File) -> io::Result<()> {
        let words = self.bytes();
        let length = words.len() as u64 + 8;
        if file.metadata()?.len() < length {
            file.set_len(length)?;
        }
        file.write_all_at(&length.to_le_bytes(), 0)?;
        file.write_all_at(&words, 8)
    }

    /// Lengthens a file to which an image was copied without zeros at its end.
    ///
    /// # Errors
    /// There is none.
    pub fn complete(file: &File) -> io::Result<()> {
        let length = length(file)?;
        if file.metadata()?.len() < length { file.set_len(length) } else { Ok(()) }
    }

    /// Reads what [`Image::write`] wrote.
    ///
    /// # Errors
    /// The file holds something else.
    pub fn read(file: &File) -> io::Result<Image> {
        let length = length(file)?;
        if length > file.metadata()?.len() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mut bytes = vec![0; (length - 8) as usize];
        file.read_exact_at(&mut bytes, 8)?;
        Image::parse(&bytes).ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "it is no image of variables"))
    }

    /// Reads an image without the number of its bytes.
    pub fn parse(mut bytes: &[u8]) -> Option<Image> {
        let bytes = &mut bytes;
        let [magic, modules, ranges] = [word(bytes)?, word(bytes)?, word(bytes)?];
        let mut image = Image { modules: Vec::new(), data: Vec::new() };
        if magic != MAGIC {
            return None;
        }
        for _ in 0..modules {
            let [base, start, end] = [word(bytes)?, word(bytes)?, word(bytes)?];
            let name = String::from_utf8(taken(bytes)?.to_vec()).ok()?;
            image.modules.push(Module { name, base, addresses: start..end, build: taken(bytes)?.to_vec() });
        }
        for _ in 0..ranges {
            let (start, content) = (word(bytes)?, taken(bytes)?.to_vec());
            image.data.push((start..start.checked_add(content.len() as u64)?, content));
        }
        bytes.is_empty().then_some(image)
    }
}

/// Bytes of the image that a file begins with, their number among them.
fn length(file: &File) -> io::Result<u64> {
    let mut length = [0; 8];
    file.read_exact_at(&mut length, 0)?;
    let length = u64::from_le_bytes(length);
    if (8..=BYTES_MOST).contains(&length) { Ok(length) } else { Err(io::ErrorKind::InvalidData.into()) }
}

/// Bytes with their number before them, and zeros up to a whole word behind.
fn text(to: &mut Vec<u8>, bytes: &[u8]) {
    to.extend((bytes.len() as u64).to_le_bytes());
    to.extend(bytes);
    to.resize(to.len().next_multiple_of(8), 0);
}

fn word(from: &mut &[u8]) -> Option<u64> {
    let (word, rest) = from.split_first_chunk()?;
    *from = rest;
    Some(u64::from_le_bytes(*word))
}

fn taken<'b>(from: &mut &'b [u8]) -> Option<&'b [u8]> {
    let length = usize::try_from(word(from)?).ok()?;
    let (padded, rest) = from.split_at_checked(length.checked_next_multiple_of(8)?)?;
    *from = rest;
    let (bytes, padding) = padded.split_at(length);
    padding.iter().all(|byte| *byte == 0).then_some(bytes)
}

/// Memory that belongs to one process alone and is none of its modules', each with what it is, given what the system has mapped for
/// that process, as in /proc/PID/maps.
pub fn private_areas(maps: &str, modules: &[Module]) -> Vec<(Range<u64>, &'static str)> {
    maps.lines().filter_map(|line| private_area(line, modules)).collect()
}

fn private_area(line: &str, modules: &[Module]) -> Option<(Range<u64>, &'static str)> {
    let mut words = line.split_ascii_whitespace();
    let (start, end) = words.next()?.split_once('-')?;
    let number = |text| u64::from_str_radix(text, 16).ok();
    let (range, rights) = (number(start)?..number(end)?, words.next()?);
    let is_private = rights.starts_with("rw") && rights.ends_with('p');
    let is_module = modules.iter().any(|m| m.addresses.start < range.end && range.start < m.addresses.end);
    let what = match words.nth(3) {
        Some("[heap]") => "its heap",
        Some("[stack]") => "its stack",
        _ => "its private memory",
    };
    (is_private && !is_module && !range.is_empty()).then_some((range, what))
}

/// What there is at an address that this process alone has; `None` if others have it, too, or nothing is there.
pub(crate) fn private_here(address: u64) -> Option<&'static str> {
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    let areas = private_areas(&maps, Segments::loaded().modules());
    areas.into_iter().find(|(area, _)| area.contains(&address)).map(|(_, what)| what)
}

/// Whether code and data of the program lie where those of the first node do; what is different otherwise.
fn same(there: &[Module], here: &[Module]) -> Result<(), String> {
    let file = |module: &Module| match module.name.rsplit('/').next() {
        None | Some("") => "the program".to_owned(),
        Some(name) => name.to_owned(),
    };
    let counts = |module: &&Module| !module.name.starts_with(OF_KERNEL);
    let (mut there, mut here) = (there.iter().filter(counts), here.iter().filter(counts));
    loop {
        let (theirs, ours) = match (there.next(), here.next()) {
            (None, None) => return Ok(()),
            (Some(theirs), None) => return Err(format!("{} is loaded on node 0 and not here", file(theirs))),
            (None, Some(ours)) => return Err(format!("{} is loaded here and not on node 0", file(ours))),
            (Some(theirs), Some(ours)) => (theirs, ours),
        };
        if file(theirs) != file(ours) {
            return Err(format!("{} is loaded where {} is on node 0", file(ours), file(theirs)));
        }
        if theirs.build != ours.build {
            return Err(format!("{} is another build than on node 0", file(ours)));
        }
        if theirs.addresses != ours.addresses {
            let (at, first) = (ours.addresses.start, theirs.addresses.start);
            let why = "are systems, libraries and limits (ulimit -s) the same?";
            return Err(format!("{} lies at {at:#x} and at {first:#x} on node 0: {why}", file(ours)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use homenode_sys::words::memory_file;

    fn module(name: &str, base: u64, build: &[u8]) -> Module {
        Module { name: name.to_owned(), base, addresses: base..base + 100, build: build.to_vec() }
    }

    fn image() -> Image {
        let modules = vec![module("", 0x5000, &[1, 2, 3]), module("/lib/libm.so.6", 0x7000, &[])];
        Image { modules, data: vec![(0x5040..0x5049, vec![7; 9]), (0x6000..0x6000, vec![])] }
    }

    #[test]
    fn an_image_is_read_as_it_was_written() {
        let file = memory_file("image", 0).expect("a file");
        assert!(Image::read(&file).is_err(), "nothing is there");
        image().write(&file).expect("written");
        assert_eq!(Image::read(&file).expect("read"), image());
        // A file may be longer than what it holds.
        file.set_len(1 << 20).expect("longer");
        assert_eq!(Image::read(&file).expect("read"), image());
    }

    #[test]
    fn variables_that_are_left_out_leave_what_is_beside_them() {
        let left = |variable: Range<u64>| {
            let mut image = Image { modules: vec![], data: vec![(10..14, vec![0, 1, 2, 3]), (20..22, vec![8, 9])] };
            image.leave_out(&variable);
            image.data.into_iter().map(|(range, bytes)| (range.start, bytes)).collect::<Vec<_>>()
        };
        let all = vec![(10, vec![0, 1, 2, 3]), (20, vec![8, 9])];
        assert_eq!(left(0..10), all);
        assert_eq!(left(14..20), all);
        assert_eq!(left(12..12), all);
        assert_eq!(left(11..13), [(10, vec![0]), (13, vec![3]), (20, vec![8, 9])]);
        assert_eq!(left(10..12), [(12, vec![2, 3]), (20, vec![8, 9])]);
        assert_eq!(left(13..21), [(10, vec![0, 1, 2]), (21, vec![9])]);
        assert_eq!(left(9..22), []);
    }

    #[test]
    fn zeros_at_the_end_need_not_be_copied() {
        let (file, copy) = (memory_file("image", 0).expect("a file"), memory_file("copy", 0).expect("a file"));
        let zeros = Image { modules: vec![], data: vec![(1..5000, vec![0; 4999])] };
        zeros.write(&file).expect("written");
        let mut bytes = [0; 100];
        file.read_exact_at(&mut bytes, 0).expect("read");
        copy.write_all_at(&bytes, 0).expect("written");
        assert!(Image::read(&copy).is_err());
        Image::complete(&copy).expect("longer");
        assert_eq!(Image::read(&copy).expect("read"), zeros);
    }

    #[test]
    fn damaged_images_are_none() {
        let file = memory_file("image", 0).expect("a file");
        image().write(&file).expect("written");
        let bytes = image().bytes();
        assert_eq!(Image::parse(&bytes), Some(image()));
        for end in 0..bytes.len() {
            assert_eq!(Image::parse(&bytes[..end]), None, "{end}");
        }
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x81;
            assert_ne!(Image::parse(&damaged), Some(image()), "{at}");
        }
        for length in [0, 7, 1 << 50] {
            file.write_all_at(&u64::to_le_bytes(length), 0).expect("written");
            assert!(Image::read(&file).is_err(), "{length}");
        }
    }

    #[test]
    fn another_build_or_place_is_named() {
        let there = image().modules;
        let differs = |here: &[Module]| same(&there, here).expect_err("it differs");
        let vdso = module("linux-vdso.so.1", 0x9000, &[]);
        assert_eq!(same(&there, &[there[0].clone(), vdso, module("/usr/lib/libm.so.6", 0x7000, &[])]), Ok(()));
        assert_eq!(
            differs(&[module("", 0x5000, &[1, 2, 4]), there[1].clone()]),
            "the program is another build than on node 0"
        );
        assert!(
            differs(&[there[0].clone(), module("libm.so.6", 0x8000, &[])])
                .starts_with("libm.so.6 lies at 0x8000 and at 0x7000")
        );
        assert_eq!(differs(&there[..1]), "libm.so.6 is loaded on node 0 and not here");
        assert_eq!(differs(&[there.clone(), vec![module("x", 1, &[])]].concat()), "x is loaded here and not on node 0");
        assert_eq!(
            differs(&[there[0].clone(), module("liba.so", 0x7000, &[])]),
            "liba.so is loaded where libm.so.6 is on node 0"
        );
    }

    #[test]
    fn private_memory_is_told_from_the_programs_variables() {
        static VARIABLE: u64 = 7;
        let here = 7u64;
        assert_eq!(private_here((&raw const VARIABLE).addr() as u64), None);
        // A thread of a test has a stack that is not the program's first.
        assert_eq!(private_here((&raw const here).addr() as u64), Some("its private memory"));
        assert_eq!(private_here(16), None);
    }

    #[test]
    fn an_image_of_another_program_is_not_entered() {
        assert!(image().enter().expect_err("another program").contains("node 0"));
    }
}
