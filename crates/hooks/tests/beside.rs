//! `homenode cc --plain`: what is built without hooks beside what is built with them.
mod support;

use homenode_hooks::plain::{PlainBuild, build, is_wanted, plain};
use homenode_hooks::toolchain::{Family, Toolchain};
use homenode_hooks::{CompileError, Mode};
use std::ffi::OsString;
use std::path::Path;
use support::build::{COMPILERS, archive};

const ID: &str = "00112233445566778899aabbccddeeff00112233";

fn words(line: &str) -> Vec<OsString> {
    line.split_whitespace().map(OsString::from).collect()
}

fn planned(line: &str) -> Option<PlainBuild> {
    let toolchain = Toolchain { program: "gcc".into(), leading: Vec::new(), family: Family::Gcc, major: 12 };
    plain(&toolchain, &words(line))
}

fn line(args: &str) -> String {
    let plan = planned(args).unwrap().plan;
    plan.args.iter().map(|a| a.to_str().unwrap()).collect::<Vec<_>>().join(" ")
}

#[test]
fn outputs_get_another_name_and_nothing_else_is_written() {
    assert_eq!(line("-O2 -c src/a.c"), "-O2 -c src/a.c -g -o a.o.plain");
    assert_eq!(line("-g -c a.c -o x/a.o"), "-g -c a.c -o x/a.o.plain");
    assert_eq!(line("-gdwarf-4 -gsplit-dwarf -c a.cc -ob.o"), "-gdwarf-4 -c a.cc -g -o b.o.plain".replace(" -g ", " "));
    assert_eq!(line("-g -c a.c -MD -MP -MF a.d -MT a.o -Wp,-MMD,x.d -fsanitize=thread"), "-g -c a.c -o a.o.plain");
    assert_eq!(line("-g a.c -lm"), "-g a.c -lm -Wl,--unresolved-symbols=ignore-all -o a.out.plain");
    let built = planned("-O2 -g a.c b.o -o p").unwrap();
    assert_eq!((built.of.as_path(), built.to.as_path(), built.links), (Path::new("p"), Path::new("p.plain"), true));
}

#[test]
fn what_makes_no_object_or_program_is_not_done_again() {
    for args in ["-E a.c", "-S a.c -o a.s", "-M a.c", "-MM a.c", "-fsyntax-only a.c", "--version", "-c a.c b.c", "a.h"]
    {
        assert_eq!(planned(args), None, "{args}");
    }
    for args in ["-x c - -o -", "-c a.c -o /dev/null", "a.o b.o -o nothing-without-hooks-goes-into-it"] {
        assert_eq!(planned(args), None, "{args}");
    }
    assert!(is_wanted(&words("--plain -c a.c")) && is_wanted(&words("--compiler=gcc --plain -c a.c")));
    assert!(!is_wanted(&words("-c a.c")) && !is_wanted(&words("-c a.c --plain")));
}

/// Compiled and linked in two steps, by both compilers.
#[test]
fn objects_and_programs_stand_beside_those_with_hooks() {
    for compiler in COMPILERS {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        std::fs::write(at("a.c"), "int f(int *p); int x; int main(void) { return f(&x); }").unwrap();
        std::fs::write(at("b.c"), "int f(int *p) { return *p += 0; }").unwrap();
        let run = |line: &str| {
            let args = words(&format!("--compiler={compiler} --plain {line}"));
            build(Mode::Cc, &args, archive(), &|_| Some(ID.to_owned())).unwrap()
        };
        for name in ["a", "b"] {
            assert_eq!(run(&format!("-O1 -c {} -o {}", at(&format!("{name}.c")), at(&format!("{name}.o")))), 0);
        }
        assert_eq!(run(&format!("{} {} -o {}", at("a.o"), at("b.o"), at("program"))), 0);
        assert_eq!(std::process::Command::new(at("program")).status().unwrap().code(), Some(0));
        for (name, hooked) in [("a.o", true), ("program", true), ("a.o.plain", false), ("program.plain", false)] {
            let bytes = std::fs::read(at(name)).unwrap();
            assert_eq!(bytes.windows(7).any(|w| w == b"__tsan_"), hooked, "{compiler} {name}");
        }
        let id: Vec<u8> = (0..20).map(|n| u8::from_str_radix(&ID[2 * n..2 * n + 2], 16).unwrap()).collect();
        assert!(std::fs::read(at("program.plain")).unwrap().windows(20).any(|w| w == id), "its build id");
        // What is older than what has the hooks was built of something else: each in turn, then both.
        let link = format!("{} {} -o {}", at("a.o"), at("b.o"), at("program"));
        let old = |name: &str| {
            let file = std::fs::File::options().append(true).open(at(name)).unwrap();
            file.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
        };
        let without = |link: &str| planned(link).map(|b| b.plan.args.iter().filter(|a| is_plain(a)).count());
        assert_eq!(without(&link), Some(3));
        old("a.o.plain");
        assert_eq!(without(&link), Some(2));
        old("b.o.plain");
        assert_eq!(without(&link), None);
        std::fs::write(at("b.c"), "int f(int *p) { nonsense }").unwrap();
        assert_ne!(run(&format!("-c {} -o {}", at("b.c"), at("b.o"))), 0);
    }
}

fn is_plain(name: &OsString) -> bool {
    name.to_str().unwrap().ends_with(".plain")
}

#[test]
fn a_compiler_that_is_none_is_refused() {
    let done = build(Mode::Cc, &words("--plain --compiler=/nowhere/cc -c a.c"), archive(), &|_| None);
    assert!(matches!(done, Err(CompileError::NoCompiler(_))), "{done:?}");
}
