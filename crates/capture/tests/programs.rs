//! Real programs, built with the hooks by gcc and clang, recorded from beginning to end.
use homenode_capture::{Calibrate, CaptureError, DirStore, RecordOptions, RecordSummary, record};
use homenode_hooks::{Mode, compile, install};
use homenode_objects::{ObjectKind, ObjectTable};
use homenode_trace::check::check;
use homenode_trace::symbols::{Global, Site};
use homenode_trace::{DatasetReader, EventKind};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, OnceLock};

const COMPILERS: [&str; 2] = ["gcc", "clang"];

fn archive() -> &'static Path {
    static AT: OnceLock<PathBuf> = OnceLock::new();
    AT.get_or_init(|| install::install_in(Path::new(env!("CARGO_TARGET_TMPDIR"))).unwrap())
}

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c").join(name)
}

/// Line of the source that carries the mark.
fn line_of(name: &str, mark: &str) -> u32 {
    let text = std::fs::read_to_string(source(name)).unwrap();
    text.lines().position(|l| l.contains(&format!("line: {mark}"))).unwrap() as u32 + 1
}

fn build(dir: &Path, compiler: &str, name: &str, flags: &[&str]) -> PathBuf {
    let cpp = name.ends_with(".cc");
    let compiler = if cpp { compiler.replace("gcc", "g++").replace("clang", "clang++") } else { compiler.to_owned() };
    let program = dir.join(format!("{}-{compiler}", name.replace('.', "-")));
    let mut args: Vec<OsString> = vec![format!("--compiler={compiler}").into(), "-O2".into(), "-g".into()];
    args.extend(flags.iter().map(OsString::from));
    args.extend(["-pthread".into(), source(name).into(), "-o".into(), program.clone().into()]);
    let plan = compile::plan(if cpp { Mode::Cxx } else { Mode::Cc }, &args, archive()).unwrap();
    let done = plan.command().output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    program
}

/// A reader and the folder of its dataset.
struct Recorded(DatasetReader, #[allow(dead_code, reason = "keeps the folder")] tempfile::TempDir);

impl std::ops::Deref for Recorded {
    type Target = DatasetReader;
    fn deref(&self) -> &DatasetReader {
        &self.0
    }
}

fn run(program: &Path, arguments: &[&str]) -> (RecordSummary, Recorded) {
    let dir = tempfile::tempdir().unwrap();
    let command = [program.as_os_str().to_owned()].into_iter().chain(arguments.iter().map(OsString::from)).collect();
    let options = RecordOptions {
        command,
        out: dir.path().join("x.hnt"),
        backend: "hooks".into(),
        limit_refs: None,
        roi: None,
        force: false,
        count_only: false,
        ..Default::default()
    };
    let summary = record(&options, &mut ()).unwrap();
    let reader = DatasetReader::open(Arc::new(DirStore::open(&options.out).unwrap())).unwrap();
    let report = check(&reader);
    assert!(report.ok(), "{arguments:?}: {:?}", report.problems);
    assert!(reader.manifest().complete);
    (summary, Recorded(reader, dir))
}

/// Writes to the named datum by code at the place that `site` accepts.
fn stores(reader: &DatasetReader, datum: &Global, site: impl Fn(&Site) -> bool) -> u64 {
    let (mut bytes, mut frame, mut n) = (Vec::new(), Default::default(), 0);
    for thread in 0..reader.threads() {
        let process = reader.manifest().threads[thread as usize].process;
        for i in 0..reader.frames(thread).len() {
            reader.read_frame(thread, i, &mut bytes, &mut frame).unwrap();
            n += (0..frame.len())
                .filter(|&i| {
                    let r = frame.get(i);
                    let named = || reader.symbols().site_id(process, frame.pcs[r.site as usize]);
                    let fits = || named().and_then(|id| reader.symbols().site(id)).is_some_and(&site);
                    process == datum.process && r.op.writes() && r.addr.wrapping_sub(datum.addr) < datum.bytes && fits()
                })
                .count() as u64;
        }
    }
    n
}

fn global(reader: &DatasetReader, process: u32, name: &str) -> Global {
    let named = reader.symbols().globals.iter().find(|g| g.process == process && g.name == name);
    named.unwrap_or_else(|| panic!("no global {name}")).clone()
}

#[test]
fn stores_carry_function_line_and_object_in_pie_and_fixed_programs() {
    let dir = tempfile::tempdir().unwrap();
    let line = line_of("kinds.c", "fill");
    for compiler in COMPILERS {
        for flags in [&["-pie", "-fPIE"][..], &["-no-pie", "-fno-pie"]] {
            let program = build(dir.path(), compiler, "kinds.c", flags);
            let (summary, reader) = run(&program, &[]);
            assert_eq!((summary.exit_status, summary.threads), (Some(0), 1));
            let table = global(&reader, 0, "table");
            assert_eq!(table.bytes, 32_768);
            let by_fill = |s: &Site| s.function == "fill" && s.file.ends_with("kinds.c") && s.line == line;
            assert_eq!(stores(&reader, &table, by_fill), 4096, "{compiler} {flags:?}");
        }
    }
}

#[test]
fn heap_objects_have_their_allocating_line() {
    let dir = tempfile::tempdir().unwrap();
    let line = line_of("kinds.c", "heap");
    for compiler in COMPILERS {
        let (_, reader) = run(&build(dir.path(), compiler, "kinds.c", &[]), &["heap"]);
        let stacks = reader.events().iter().filter_map(|e| match &e.kind {
            EventKind::Alloc { bytes: 8000, stack, .. } => Some(stack.clone()),
            _ => None,
        });
        let symbols = reader.symbols();
        let lines: Vec<(String, u32)> = stacks
            .map(|s| symbols.site(symbols.site_id(0, s[0]).unwrap()).unwrap())
            .map(|s| (s.function.clone(), s.line))
            .collect();
        assert_eq!(lines, [("main".to_owned(), line)], "{compiler}");
    }
}

/// Lines of the allocation that the user is shown, and of the function in between that returned it, if there is one; of
/// all heap blocks that `source` allocated.
fn allocations(reader: &DatasetReader, source: &str) -> BTreeSet<(u32, Option<u32>)> {
    let table = ObjectTable::build(reader.manifest(), reader.events(), reader.symbols());
    let line = |name: &str| {
        let (_, after) = name.split_once(&format!("{source}:"))?;
        after.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
    };
    let heap = table.groups().iter().filter(|g| g.kind == ObjectKind::Heap);
    heap.filter_map(|g| {
        let (place, through) = g.name.split_once(" through ").map_or((&*g.name, None), |(p, t)| (p, Some(t)));
        Some((line(place)?, through.and_then(line)))
    })
    .collect()
}

/// A function that returns what it allocated stands for its caller, whatever its name and however it was compiled; a pool
/// does not.
#[test]
fn allocators_of_the_program_are_known_by_what_they_do() {
    let dir = tempfile::tempdir().unwrap();
    let line = |mark: &str| line_of("wrappers.c", &format!("{mark} */"));
    let pairs = [
        ("a", "in plain"),
        ("b", "in plain"),
        ("c", "in plain"),
        ("d", "in cleared"),
        ("e", "in aligned"),
        ("f", "in header"),
        ("g", "in inlined"),
        ("m", "in make"),
    ];
    let mut expected: BTreeSet<(u32, Option<u32>)> = pairs.iter().map(|(a, b)| (line(a), Some(line(b)))).collect();
    expected.extend([(line("chunk"), None), (line("data"), None)]);
    for (compiler, level) in COMPILERS.iter().flat_map(|c| ["-O0", "-O1", "-O2"].map(|o| (c, o))) {
        // clang turns blocks that live as long as the program into variables unless told otherwise.
        let flags = if *compiler == "clang" { vec![level, "-fno-builtin"] } else { vec![level] };
        let (_, reader) = run(&build(dir.path(), compiler, "wrappers.c", &flags), &[]);
        // What the C library allocates for starting threads and printing comes after all that.
        let mut found = allocations(&reader, "wrappers.c");
        found.retain(|&(place, _)| place <= line("m"));
        assert_eq!(found, expected, "{compiler} {level}");
    }
}

/// Whatever way C++ takes to malloc, the line is the user's.
#[test]
fn cpp_blocks_have_the_line_of_the_user() {
    let dir = tempfile::tempdir().unwrap();
    let marks =
        ["array", "plain", "vector", "unique", "shared", "string", "append", "copy", "again", "memalign", "aligned"];
    let expected: BTreeSet<u32> = marks.iter().map(|m| line_of("blocks.cc", m)).collect();
    for (compiler, level) in COMPILERS.iter().flat_map(|c| ["-O0", "-O1", "-O2"].map(|o| (c, o))) {
        let (_, reader) = run(&build(dir.path(), compiler, "blocks.cc", &[level, "-std=c++17"]), &[]);
        let found = allocations(&reader, "blocks.cc").into_iter().map(|(line, _)| line).collect::<BTreeSet<u32>>();
        let missing: Vec<_> = expected.difference(&found).collect();
        assert!(missing.is_empty(), "{compiler} {level}: {missing:?} not in {found:?}");
    }
}

#[test]
fn stripped_programs_say_what_is_missing_and_debug_files_supply_it() {
    let dir = tempfile::tempdir().unwrap();
    let program = build(dir.path(), "gcc", "kinds.c", &[]);
    let tool = |name: &str, arguments: &[&str]| {
        assert!(Command::new(name).args(arguments).current_dir(dir.path()).status().unwrap().success());
    };
    let (file, debug) = (program.to_str().unwrap(), "kinds.debug");
    tool("objcopy", &["--only-keep-debug", file, debug]);
    tool("strip", &[file]);
    let (_, reader) = run(&program, &[]);
    let symbols = reader.symbols();
    assert!(symbols.notes.iter().any(|n| n.contains("stripped") && n.contains("-g")), "{:?}", symbols.notes);
    let known = || symbols.sites.iter().filter(|s| s.pc != 0);
    assert!(known().all(|s| s.line == 0 && s.place().contains("kinds-c-gcc+0x")), "{:?}", symbols.sites);
    tool("objcopy", &["--add-gnu-debuglink", debug, file]);
    let (_, reader) = run(&program, &[]);
    let line = line_of("kinds.c", "fill");
    let table = global(&reader, 0, "table");
    assert_eq!(stores(&reader, &table, |s| s.function == "fill" && s.line == line), 4096);
    assert!(reader.symbols().notes.is_empty(), "{:?}", reader.symbols().notes);
}

#[test]
fn cpp_names_are_demangled_and_inlined_lines_found() {
    let dir = tempfile::tempdir().unwrap();
    for compiler in COMPILERS {
        let (_, reader) = run(&build(dir.path(), compiler, "names.cc", &[]), &[]);
        let cells = global(&reader, 0, "grid::cells");
        let template = line_of("names.cc", "template");
        let over = |s: &Site| s.function.contains("grid::Relax::over") && s.line == template;
        assert_eq!(stores(&reader, &cells, over), 64, "{compiler}: {:?}", reader.symbols().sites);
        let inlined = line_of("names.cc", "inlined");
        assert_eq!(stores(&reader, &cells, |s| s.line == inlined), 1, "{compiler}");
    }
}

#[test]
fn threads_and_reused_thread_ids_are_threads_of_their_own() {
    let dir = tempfile::tempdir().unwrap();
    let program = build(dir.path(), "gcc", "kinds.c", &[]);
    for (arguments, threads) in [(&["threads", "8"][..], 9), (&["waves"], 201), (&["threads", "1000"], 1001)] {
        let (summary, reader) = run(&program, arguments);
        assert_eq!((summary.threads, summary.processes, summary.exit_status), (threads, 1, Some(0)), "{arguments:?}");
        let counters = global(&reader, 0, "counters");
        assert_eq!(stores(&reader, &counters, |s| s.function == "worker"), u64::from(threads - 1) * 1000);
        assert!((1..threads).all(|t| reader.manifest().threads[t as usize].parent == Some(0)));
    }
}

#[test]
fn forked_children_and_executed_programs_are_processes_of_their_own() {
    let dir = tempfile::tempdir().unwrap();
    for compiler in COMPILERS {
        let program = build(dir.path(), compiler, "kinds.c", &[]);
        for (how, parent, child) in [("fork", 4196, 100), ("orphan", 4096, 2048)] {
            let (summary, reader) = run(&program, &[how]);
            assert_eq!((summary.processes, summary.exit_status), (2, Some(0)), "{how}");
            for (process, expected) in [(0, parent), (1, child)] {
                let table = global(&reader, process, "table");
                assert_eq!(stores(&reader, &table, |s| s.function == "fill"), expected, "{compiler} {how} {process}");
            }
            let of =
                |t: usize| reader.manifest().processes[reader.manifest().threads[t].process as usize].address_space;
            assert_ne!(of(0), of(1));
        }
        let (summary, reader) = run(&program, &["exec"]);
        assert_eq!((summary.processes, summary.exit_status), (2, Some(0)));
        let processes = &reader.manifest().processes;
        assert_eq!(processes[0].pid, processes[1].pid, "the same process runs another program");
        assert!(processes.iter().all(|p| Path::new(&p.executable) == program), "{processes:?}");
        for process in 0..2 {
            let table = global(&reader, process, "table");
            assert_eq!(stores(&reader, &table, |s| s.function == "fill"), 4096, "{compiler} process {process}");
        }
    }
}

#[test]
fn every_way_to_end_is_recorded_to_the_last_reference() {
    let dir = tempfile::tempdir().unwrap();
    for compiler in COMPILERS {
        let program = build(dir.path(), compiler, "kinds.c", &[]);
        for (how, status) in [("segv", -11), ("abort", -6), ("exit", 3), ("kill", -9)] {
            let (summary, reader) = run(&program, &[how]);
            assert_eq!(summary.exit_status, Some(status), "{how}");
            assert_eq!(summary.ended.is_empty(), status >= 0, "{how}: {}", summary.ended);
            let table = global(&reader, 0, "table");
            assert_eq!(stores(&reader, &table, |s| s.function == "fill"), 4096, "{compiler} {how}");
        }
    }
}

#[test]
fn a_setuid_program_is_named_as_such() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let program = build(dir.path(), "gcc", "kinds.c", &[]);
    // Only root can make a file of another user setuid, and only on a file system that honours it.
    let chowned = std::os::unix::fs::chown(&program, Some(65_534), None).is_ok();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o4755)).unwrap();
    std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
    let options = RecordOptions {
        command: vec![program.into()],
        out: dir.path().join("x.hnt"),
        backend: "auto".into(),
        limit_refs: None,
        roi: None,
        force: false,
        count_only: false,
        ..Default::default()
    };
    match record(&options, &mut ()) {
        Err(CaptureError::Secure { what, .. }) => assert!(chowned && what == "setuid"),
        Err(other) => panic!("{other}"),
        Ok(_) => {
            let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap();
            assert!(!chowned || mounts.contains("nosuid"), "a setuid program was recorded");
        }
    }
}

#[test]
fn counting_counts_what_recording_records() {
    let dir = tempfile::tempdir().unwrap();
    let program = build(dir.path(), "gcc", "kinds.c", &[]);
    let (recorded, _) = run(&program, &["threads", "4"]);
    let options = RecordOptions {
        command: vec![program.into(), "threads".into(), "4".into()],
        out: PathBuf::new(),
        backend: "auto".into(),
        limit_refs: None,
        roi: None,
        force: false,
        count_only: true,
        ..Default::default()
    };
    let counted = record(&options, &mut ()).unwrap();
    assert_eq!((counted.refs, counted.exit_status), (recorded.refs, Some(0)));
}

#[test]
fn calibration_runs_the_program_without_hooks_with_the_same_arguments_or_records_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let program = build(dir.path(), "gcc", "kinds.c", &[]);
    let script = |name: &str, text: &str| {
        use std::os::unix::fs::PermissionsExt;
        let path = dir.path().join(name);
        std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    };
    let heard = dir.path().join("heard");
    let busy = script(
        "busy",
        &format!("echo \"$@\" >> {}; i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done", heard.display()),
    );
    let out = dir.path().join("x.hnt");
    let options = |calibrate: &Path| RecordOptions {
        command: vec![program.clone().into(), "threads".into(), "2".into()],
        out: out.clone(),
        backend: "hooks".into(),
        calibrate: Some(Calibrate { program: calibrate.into(), runs: 2 }),
        ..Default::default()
    };
    for (bad, why) in [
        (script("bad", "exit 3"), "exit status 3"),
        (script("killed", "kill -9 $$"), "SIGKILL"),
        (dir.path().join("none"), "no such file"),
        (program.clone(), "has the capture hooks"),
    ] {
        let said = record(&options(&bad), &mut ()).unwrap_err().to_string();
        assert!(said.contains(why) && !out.exists(), "{said}");
    }
    let summary = record(&options(&busy), &mut ()).unwrap();
    let native = summary.native.expect("it was calibrated");
    assert_eq!(
        std::fs::read_to_string(&heard).unwrap(),
        "threads 2\nthreads 2\n",
        "as often as asked, with the same words"
    );
    assert_eq!((native.runs, native.command[1..].join(" ").as_str()), (2, "threads 2"));
    assert!(native.cpu_us() > 1000 && native.wall_us > 1000, "{native:?}");
    let kept = DatasetReader::open(Arc::new(DirStore::open(&out).unwrap())).unwrap();
    assert_eq!(kept.manifest().native.as_ref(), Some(&native));
    assert!(matches!(record(&options(&busy), &mut ()), Err(CaptureError::OutputExists(_))));
    assert_eq!(
        std::fs::read_to_string(&heard).unwrap().lines().count(),
        2,
        "what is in the way is said before anything runs"
    );
}

/// What programs say of the addresses of their fields, `NAME PATH ADDRESS` line by line, is what the dataset's types say.
#[test]
fn fields_have_the_names_of_the_source() {
    let dir = tempfile::tempdir().unwrap();
    for (compiler, level) in COMPILERS.iter().flat_map(|c| ["-O0", "-O1", "-O2"].map(|o| (c, o))) {
        for source in ["fields.c", "fields.cc"] {
            let flags = [level, "-fno-builtin-malloc", "-fno-builtin-calloc"];
            let program = build(dir.path(), compiler, source, &flags);
            let file = dir.path().join("said");
            let (_, reader) = run(&program, &[file.to_str().unwrap()]);
            let said = std::fs::read_to_string(&file).unwrap();
            let said: Vec<(&str, u64)> = said
                .lines()
                .filter_map(|l| l.split_once(" 0x"))
                .map(|(what, at)| (what, u64::from_str_radix(at, 16).unwrap()))
                .collect();
            assert!(said.len() >= 6, "{source}");
            for (what, at) in said {
                let path = &what[what.find(['[', '.']).unwrap_or(what.len())..];
                let (found, is_block) = field_at(&reader, at);
                let expected = Some(path.to_owned()).filter(|p| !p.is_empty());
                // An optimiser may leave no trace of the variable that got a block; then its type is not known.
                if level != "-O2" || !is_block || found.is_some() {
                    assert_eq!(found, expected, "{compiler} {level} {source}: {what}, block: {is_block}");
                }
            }
        }
    }
}

/// Path of the field at an address, whatever lived there at last; and whether it is in a block.
fn field_at(reader: &DatasetReader, at: u64) -> (Option<String>, bool) {
    let symbols = reader.symbols();
    let covers = |g: &Global| at.wrapping_sub(g.addr) < g.bytes;
    if let Some(i) = symbols.globals.iter().position(covers) {
        return (symbols.field_of_global(i, at - symbols.globals[i].addr).map(|f| f.path), false);
    }
    let table = ObjectTable::build(reader.manifest(), reader.events(), symbols);
    let block = table.objects().iter().rfind(|o| o.kind == ObjectKind::Heap && at.wrapping_sub(o.addr) < o.bytes);
    let block = block.unwrap_or_else(|| panic!("no object at {at:#x}"));
    let stack = &table.groups()[block.group as usize].stack;
    (symbols.field_of_block(stack, block.bytes, at - block.addr).map(|f| f.path), true)
}

/// A library without hooks that is closed before the end is still named among what was not seen.
#[test]
fn a_library_that_was_closed_is_not_forgotten() {
    let dir = tempfile::tempdir().unwrap();
    for build_id in ["none", "sha1"] {
        let library = dir.path().join(format!("libdeaf-{build_id}.so"));
        let mut command = Command::new("gcc");
        command.args(["-shared", "-fPIC", "-O1", &format!("-Wl,--build-id={build_id}"), "-o"]);
        assert!(command.arg(&library).arg(source("deaf.c")).status().unwrap().success());
        let program = build(dir.path(), "gcc", "closes.c", &["-ldl"]);
        let (_, reader) = run(&program, &[library.to_str().unwrap()]);
        let notes = &reader.manifest().blind.notes;
        let named =
            notes.iter().any(|n| n.contains("no reference was seen") && n.contains(&format!("deaf-{build_id}.so")));
        assert!(named, "{notes:?}");
    }
}

/// Blocks are called by the variable or member that gets them; containers' blocks and those of functions by their lines.
#[test]
fn blocks_have_the_name_of_what_gets_them() {
    let dir = tempfile::tempdir().unwrap();
    // What clang makes of members from -O1 on is not recognised: their blocks have their lines only.
    for (compiler, level) in [("gcc", "-O0"), ("gcc", "-O1"), ("clang", "-O0")] {
        let (_, reader) = run(&build(dir.path(), compiler, "holders.cc", &[level, "-std=c++17"]), &[]);
        let symbols = reader.symbols();
        let table = ObjectTable::build(reader.manifest(), reader.events(), symbols);
        let names: BTreeSet<&str> = table.groups().iter().map(|g| g.name.split(" from ").next().unwrap()).collect();
        for wanted in ["plain", "Table::data", "Table::inner.more", "local", "Derived::extra"] {
            assert!(names.contains(wanted), "{compiler} {level}: no {wanted} in {names:?}");
        }
    }
}

/// References in templates of the library that were not inlined have the lines of the program that call them.
#[test]
fn references_in_library_code_have_their_callers() {
    let dir = tempfile::tempdir().unwrap();
    for compiler in COMPILERS {
        let (_, reader) = run(&build(dir.path(), compiler, "holders.cc", &["-O0", "-std=c++17"]), &[]);
        let calls = |line: u32| {
            let at = |s: &&Site| s.calls.iter().any(|c| c.line == line && c.file.ends_with("holders.cc"));
            reader.symbols().sites.iter().filter(at).count()
        };
        assert!(calls(line_of("holders.cc", "fill")) > 0, "{compiler}");
        let own = |s: &Site| s.file.ends_with("holders.cc") && !s.calls.is_empty();
        assert!(!reader.symbols().sites.iter().any(own), "the program's own code needs no caller");
    }
}
