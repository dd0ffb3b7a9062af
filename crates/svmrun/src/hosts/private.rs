//! Global variables that point to memory which their process alone has: on another host there is something else, or nothing.
use homenode_svm::image::{Image, private_areas};
use homenode_symbols::answers::Global;
use std::ops::Range;
use std::path::Path;

/// A variable's word that points to private memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pointer {
    /// Address of the word in the program's file.
    pub(super) at: u64,
    /// Where it points to.
    pub(super) to: u64,
    /// What is there.
    pub(super) what: &'static str,
}

/// The pointers to private memory in an image, given what the system has mapped for that process, as in /proc/PID/maps.
pub(super) fn pointers(image: &Image, maps: &str) -> Vec<Pointer> {
    let areas = private_areas(maps, &image.modules);
    let base = image.modules.first().map_or(0, |program| program.base);
    let mut found = Vec::new();
    for (range, bytes) in &image.data {
        // A compiler aligns pointers, but a range need not begin aligned.
        let skip = (range.start.next_multiple_of(8) - range.start) as usize;
        let words = bytes.get(skip..).unwrap_or_default().chunks_exact(8);
        for (at, word) in (range.start + skip as u64..).step_by(8).zip(words) {
            let to = u64::from_le_bytes(word.try_into().unwrap_or_default());
            if let Some((_, what)) = areas.iter().find(|(area, _)| area.contains(&to)) {
                found.push(Pointer { at: at - base, to, what });
            }
        }
    }
    found
}

/// Makes these words null: who follows them elsewhere is stopped at once.
pub(super) fn clear(image: &mut Image, pointers: &[Pointer]) {
    let base = image.modules.first().map_or(0, |program| program.base);
    for address in pointers.iter().map(|pointer| pointer.at + base) {
        let found = image.data.iter_mut().find(|(range, _)| range.contains(&address));
        if let Some((range, bytes)) = found {
            let at = (address - range.start) as usize;
            bytes[at..at + 8].fill(0);
        }
    }
}

/// Modules of Rust's standard library, which is a part of each program: their variables are those of a process. One that has bought memory
/// for its output, say, buys it anew elsewhere.
const OF_RUST: [&str; 4] = ["std::io::stdio::", "std::sys::", "std::panicking::", "std::backtrace_rs::"];

/// Leaves variables of Rust's standard library that have such pointers out of the image, so that they begin elsewhere as in any process.
/// The other pointers.
pub(super) fn begin_anew(image: &mut Image, pointers: Vec<Pointer>, program: &Path) -> Vec<Pointer> {
    if pointers.is_empty() {
        return pointers;
    }
    let base = image.modules.first().map_or(0, |program| program.base);
    let of_rust = |global: &Global| {
        let name = global.name.trim_start_matches('<');
        !global.thread_local && OF_RUST.iter().any(|module| name.starts_with(module))
    };
    let globals = globals(program).into_iter().filter(of_rust);
    let globals: Vec<Range<u64>> = globals.map(|g| g.address..g.address.saturating_add(g.bytes)).collect();
    let (anew, others): (Vec<_>, Vec<_>) =
        pointers.into_iter().partition(|p| globals.iter().any(|g| g.contains(&p.at)));
    for global in globals.iter().filter(|global| anew.iter().any(|pointer| global.contains(&pointer.at))) {
        image.leave_out(&(base.wrapping_add(global.start)..base.wrapping_add(global.end)));
    }
    others
}

fn globals(program: &Path) -> Vec<Global> {
    homenode_symbols::image::resolve(program, &[], &[], None).map(|answers| answers.globals).unwrap_or_default()
}

/// The variables with such pointers, and whether there are several, with their names if the program's file has them.
fn named(pointers: &[Pointer], program: &Path) -> (String, bool) {
    const NAMED: usize = 3;
    let globals = globals(program);
    let mut names: Vec<String> = Vec::new();
    for pointer in pointers {
        let global = globals.iter().find(|g| !g.thread_local && (g.address..g.address + g.bytes).contains(&pointer.at));
        let name = global.map_or_else(|| format!("that at {:#x} of the program", pointer.at), |g| g.name.clone());
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let (count, shown) = (names.len(), names.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", "));
    let more = if count > NAMED { format!(" and {} more", count - NAMED) } else { String::new() };
    (format!("global variable{} {shown}{more}", if count > 1 { "s" } else { "" }), count > 1)
}

/// Why a program with such pointers cannot go on elsewhere.
pub(super) fn refusal(pointers: &[Pointer], program: &Path) -> Option<String> {
    let first = pointers.first()?;
    let (names, several) = named(pointers, program);
    let (verb, them) = if several { ("point", "them") } else { ("points", "it") };
    Some(format!(
        "the {names} {verb} to memory that node 0 alone has ({}, {:#x}), and nodes on other hosts would have nothing there: take that with \
         homenode_shared_alloc, set {them} after the first homenode_create, or, if no other node follows {them}, give --private-pointers null",
        first.what, first.to
    ))
}

/// What to say of a program whose pointers were made null elsewhere.
pub(super) fn note(pointers: &[Pointer], program: &Path) -> Option<String> {
    pointers.first()?;
    let (names, several) = named(pointers, program);
    let verb = if several { "point" } else { "points" };
    Some(format!("the {names} {verb} to memory that node 0 alone has: null on all other nodes"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use homenode_sys::segments::Module;
    use std::sync::atomic::{AtomicU64, Ordering};

    const MAPS: &str = "\
555555554000-555555556000 r-xp 00000000 08:01 77 /home/me/lu
555555556000-555555558000 rw-p 00002000 08:01 77 /home/me/lu
555555559000-55555557a000 rw-p 00000000 00:00 0 [heap]
200000000000-200040000000 ---s 00000000 00:01 8 /memfd:homenode heap 0 (deleted)
7ffff7a00000-7ffff7a10000 rw-p 00000000 00:00 0 
7ffff7c00000-7ffff7c02000 rw-p 00000000 08:01 99 /lib/libc.so.6
7ffff7c02000-7ffff7c10000 rw-p 00000000 00:00 0 
7ffffffde000-7ffffffff000 rw-p 00000000 00:00 0 [stack]
garbage
";

    fn image(words: &[u64]) -> Image {
        let module =
            |base: u64, end: u64| Module { name: String::new(), base, addresses: base..end, build: Vec::new() };
        let start = 0x5555_5555_6004u64;
        let bytes: Vec<u8> =
            [0; 4].into_iter().chain(words.iter().flat_map(|w| w.to_le_bytes())).chain([9; 3]).collect();
        let data = vec![(start..start + bytes.len() as u64, bytes)];
        Image {
            modules: vec![module(0x5555_5555_4000, 0x5555_5555_8000), module(0x7fff_f7c0_0000, 0x7fff_f7c1_0000)],
            data,
        }
    }

    #[test]
    fn what_points_to_private_memory_is_found_and_nothing_else() {
        let harmless =
            [0, 0x5555_5555_6010, 0x2000_0000_1000, 0x7fff_f7c0_8000, 0x5555_5555_8fff, u64::MAX, 0x7fff_f7a1_0000];
        assert_eq!(pointers(&image(&harmless), MAPS), []);
        let found = pointers(&image(&[1, 0x5555_5555_9000, 0x7fff_ffff_efff, 0x7fff_f7a0_0008]), MAPS);
        let expected = [(0x2010, "its heap"), (0x2018, "its stack"), (0x2020, "its private memory")];
        assert_eq!(found.iter().map(|p| (p.at, p.what)).collect::<Vec<_>>(), expected);
        let why = refusal(&found, Path::new("/nowhere")).expect("a refusal");
        assert!(why.contains("that at 0x2010 of the program, that at 0x2018") && why.contains("its heap"), "{why}");
        assert_eq!(refusal(&[], Path::new("/nowhere")), None);
        assert_eq!(note(&[], Path::new("/nowhere")), None);
    }

    static MINE: AtomicU64 = AtomicU64::new(0);

    #[test]
    fn variables_of_rusts_library_begin_anew() {
        println!("Rust's library has a variable for this, and the test one of its own");
        std::hint::black_box(&MINE).store(1, Ordering::Relaxed);
        let own = std::env::current_exe().expect("known");
        let variable = |name: &str| globals(&own).into_iter().find(|g| g.name.contains(name)).expect("a variable");
        let (of_rust, mine) = (variable("std::io::stdio::STDOUT"), variable("private::tests::MINE"));
        let pointer = |of: &Global| Pointer { at: of.address, to: 1, what: "its heap" };
        let base = 0x5000_0000;
        let module = Module { name: String::new(), base, addresses: base..2 * base, build: Vec::new() };
        let content = |of: &Global| (base + of.address..base + of.address + of.bytes, vec![1; of.bytes as usize]);
        let mut image = Image { modules: vec![module], data: vec![content(&of_rust), content(&mine)] };
        assert_eq!(begin_anew(&mut image, vec![pointer(&of_rust), pointer(&mine)], &own), [pointer(&mine)]);
        assert_eq!(image.data, [content(&mine)]);
        assert_eq!(begin_anew(&mut image, vec![pointer(&mine)], Path::new("/nowhere")), [pointer(&mine)]);
    }

    #[test]
    fn pointers_made_null_leave_all_else() {
        let words = [1, 0x5555_5555_9000, 2, 0x7fff_ffff_efff, 3];
        let mut made = image(&words);
        let found = pointers(&made, MAPS);
        clear(&mut made, &found);
        assert_eq!(made, image(&[1, 0, 2, 0, 3]));
        let said = note(&found, Path::new("/nowhere")).expect("a note");
        assert!(said.contains("that at 0x2010 of the program, that at 0x2020") && said.contains("null"), "{said}");
    }
}
