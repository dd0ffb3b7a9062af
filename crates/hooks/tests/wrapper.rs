//! `homenode cc` as a stand-in for the compiler: what it plans, and that real builds of every kind work.
mod support;

use homenode_base::ring::MODE_RECORD;
use homenode_hooks::CompileError;
use homenode_hooks::compile::{CompilePlan, plan_with};
use homenode_hooks::toolchain::{Family, Toolchain};
use std::ffi::OsString;
use std::path::Path;
use support::Recording;
use support::build::{COMPILERS, compile, program, source};

const ARCHIVE: &str = "/cache/with, comma/libhomenode_hooks.a";

fn planned(family: Family, line: &str) -> Result<CompilePlan, CompileError> {
    let program = if family == Family::Gcc { "gcc" } else { "clang" };
    let toolchain = Toolchain { program: program.into(), leading: Vec::new(), family, major: 12 };
    let args: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
    plan_with(&toolchain, &args, &args, Path::new(ARCHIVE))
}

fn line(family: Family, args: &str) -> String {
    let plan = planned(family, args).unwrap();
    plan.args.iter().map(|a| a.to_str().unwrap()).collect::<Vec<_>>().join(" ")
}

fn links(family: Family, args: &str) -> bool {
    line(family, args).contains(ARCHIVE)
}

fn instruments(family: Family, args: &str) -> bool {
    let line = line(family, args);
    line.contains("-specs=") || line.contains("-Xclang -fsanitize=thread")
}

#[test]
fn the_header_is_found_after_all_others_where_there_is_a_source() {
    for family in [Family::Gcc, Family::Clang] {
        for args in ["-c a.c", "-E a.c", "a.c -o a -Iinclude", "-c a.c -fno-sanitize=thread"] {
            assert!(line(family, args).contains(" -idirafter /cache/with, comma"), "{args}");
        }
        assert!(!line(family, "a.o -o a").contains("-idirafter"));
    }
}

#[test]
fn the_archive_goes_into_programs_only() {
    for family in [Family::Gcc, Family::Clang] {
        for args in
            ["a.c", "a.o -o a", "-O2 a.c b.o -lm", "-o a @objects", "-x c - -o a", "a.c -pie", "-static-libgcc a.o"]
        {
            assert!(links(family, args), "{args}");
        }
        for args in [
            "-c a.c",
            "-S a.c",
            "-E a.c",
            "-M a.c",
            "-MM a.c",
            "-fsyntax-only a.c",
            "-shared a.o -o a.so",
            "-r a.o b.o",
            "a.h",
        ] {
            assert!(!links(family, args), "{args}");
        }
    }
}

#[test]
fn the_runtime_of_openmp_stays_linked_although_only_the_archive_calls_it() {
    for family in [Family::Gcc, Family::Clang] {
        let keeps = |args: &str| line(family, args).contains("-Wl,--no-as-needed");
        assert!(keeps("-fopenmp a.c -o a") && keeps("-fopenmp=libomp a.o -o a"));
        assert!(!keeps("a.c -o a") && !keeps("-fopenmp -c a.c") && !keeps("-fopenmp -fno-openmp a.c -o a"));
    }
}

#[test]
fn only_sources_are_instrumented() {
    for family in [Family::Gcc, Family::Clang] {
        for args in ["-c a.c", "a.cc b.o", "-x c++ -c a", "-E a.c", "-S a.cpp -o -", "-shared -fPIC a.C -o a.so"] {
            assert!(instruments(family, args), "{args}");
        }
        for args in ["a.o b.a", "-c a.s", "-o a.c.o b.o", "-include a.c b.o", "-c -fno-sanitize=thread a.c"] {
            assert!(!instruments(family, args), "{args}");
        }
    }
}

#[test]
fn questions_to_the_compiler_pass_unchanged() {
    for args in ["--version", "-v", "-dumpmachine", "-print-search-dirs", "-O2 -E -dM", ""] {
        assert_eq!(line(Family::Gcc, args), args);
    }
}

#[test]
fn our_flags_come_last_and_keep_what_the_caller_chose() {
    let clang = line(Family::Clang, "-fvectorize -O3 -c a.c");
    assert!(clang.starts_with("-fvectorize -O3 -c a.c -idirafter /cache/with, comma -g "), "{clang}");
    assert!(clang.find("-O3") < clang.find("-fno-vectorize"), "a later -O3 would vectorise again");
    for debug in ["-g", "-g0", "-ggdb3", "-gdwarf-5", "-g1"] {
        let gcc = line(Family::Gcc, &format!("{debug} -c a.c"));
        assert_eq!(gcc.matches("-g").count(), 1, "{gcc}");
    }
    assert!(!line(Family::Gcc, "-fsanitize=thread a.c").contains("-fsanitize=thread"), "libtsan must not be linked");
    assert!(line(Family::Gcc, "-flto a.c").contains("-fno-lto"));
    assert_eq!(planned(Family::Gcc, "-flto -s a.c").unwrap().notes.len(), 2, "what is changed is said");
}

#[test]
fn what_cannot_work_is_refused_with_a_reason() {
    for args in ["-static a.c", "-static-pie a.o", "--static a.o"] {
        assert!(matches!(planned(Family::Gcc, args), Err(CompileError::Static)), "{args}");
    }
    assert!(planned(Family::Gcc, "-static -c a.c").is_ok(), "nothing is linked");
    assert!(
        matches!(planned(Family::Clang, "-fsanitize=address,undefined a.c"), Err(CompileError::Sanitizer(s)) if s == "address")
    );
    assert!(planned(Family::Clang, "-fsanitize=undefined a.c").is_ok());
}

#[test]
fn separate_steps_response_files_and_libraries_build_programs_that_record() {
    for compiler in COMPILERS {
        let r = Recording::new(MODE_RECORD);
        let at = |name: &str| r.dir.path().join(name).to_str().unwrap().to_string();
        let include = concat!("-I", env!("CARGO_MANIFEST_DIR"), "/../../include");
        let plain = source("plain.c");
        std::fs::write(at("step one.rsp"), format!("-O3 -c {include} '{}' -o \"{}\"", plain.display(), at("plain.o")))
            .unwrap();
        let respond = format!("@{}", at("step one.rsp"));
        for args in [&[respond.as_str()][..], &[&at("plain.o"), "-o", &at("plain")]] {
            let built = compile(compiler, args);
            assert!(built.status.success() && built.stderr.is_empty(), "{compiler} {args:?}: {built:?}");
        }
        let (_, rings) = r.run(Path::new(&at("plain")), &[]);
        assert!(rings[0].phase("plain").len() > 16, "{compiler}");
    }
}

#[test]
fn builds_with_optimisation_debug_stripping_and_position_dependence_record_the_same() {
    for compiler in COMPILERS {
        let mut first: Option<usize> = None;
        for flags in [&["-O3"][..], &["-O3", "-s"], &["-O3", "-no-pie", "-fno-pie"], &["-O3", "-g3"], &["-O3", "-flto"]]
        {
            let r = Recording::new(MODE_RECORD);
            let (output, rings) = r.run(&program(r.dir.path(), compiler, "plain.c", flags), &[]);
            assert!(output.status.success(), "{compiler} {flags:?} {output:?}");
            let n = rings[0].phase("plain").len() + rings[0].phase("loop").len();
            assert_eq!(*first.get_or_insert(n), n, "{compiler} {flags:?}");
        }
    }
}

#[test]
fn vectorisers_do_not_merge_references() {
    for compiler in COMPILERS {
        for level in ["-O2", "-O3", "-Ofast"] {
            let dir = tempfile::tempdir().unwrap();
            let code = dir.path().join("vector.s");
            let vector = source("vector.c");
            let args = [level, "-mavx2", "-S", vector.to_str().unwrap(), "-o", code.to_str().unwrap()];
            assert!(compile(compiler, &args).status.success());
            let text = std::fs::read_to_string(&code).unwrap();
            let calls = text.split_whitespace().filter(|word| word.starts_with("__tsan_"));
            let symbols = calls.collect::<Vec<_>>().join(" ");
            assert!(symbols.contains("__tsan_read8") && symbols.contains("__tsan_write8"), "{compiler}: {symbols}");
            assert!(!symbols.contains("16") && !symbols.contains("_range"), "{compiler} {level}: {symbols}");
        }
    }
}
