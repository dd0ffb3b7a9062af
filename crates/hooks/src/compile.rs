//! `homenode cc` and `homenode c++`: what to execute so that a program records itself.
//!
//! Compilers are asked for the ThreadSanitizer *pass* only, never for its runtime, so the request goes around their
//! drivers: to gcc by a specs file that adds it to `cc1`, to clang by `-Xclang`. Our flags come after the caller's,
//! because a later `-O3` would turn clang's vectorisers on again; vectorised references come out merged or not at all.
//! Programs (not shared libraries) get the archive whole and export its entry points, which is where the program's own
//! shared libraries find them.
use crate::error::{CompileError, Mode};
use crate::flags::{Flags, is_thread_sanitizer};
use crate::install;
use crate::toolchain::{Family, Toolchain};
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// What to execute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompilePlan {
    /// The compiler.
    pub compiler: OsString,
    /// Arguments of the compiler.
    pub args: Vec<OsString>,
    /// What differs from what the caller asked for, one line each, for stderr.
    pub notes: Vec<String>,
}

impl CompilePlan {
    /// The compiler with its arguments, ready to be started.
    pub fn command(&self) -> std::process::Command {
        let mut command = std::process::Command::new(&self.compiler);
        command.args(&self.args);
        command
    }
}

/// Options of the wrapper's own, which stand before the compiler's.
pub(crate) struct Own<'a> {
    /// `--compiler=NAME`.
    pub(crate) compiler: Option<&'a OsStr>,
    /// `--plain`.
    pub(crate) plain: bool,
}

impl<'a> Own<'a> {
    /// The options, and the rest.
    pub(crate) fn parse(mut args: &'a [OsString]) -> (Own<'a>, &'a [OsString]) {
        let mut own = Own { compiler: None, plain: false };
        while let [first, rest @ ..] = args {
            match (first == "--plain", first.to_str().and_then(|a| a.strip_prefix("--compiler="))) {
                (true, _) => own.plain = true,
                (_, Some(name)) => own.compiler = Some(OsStr::new(name)),
                _ => break,
            }
            args = rest;
        }
        (own, args)
    }
}

/// What `homenode cc|c++ ARGS` executes, given the installed archive (see [`install::install`]; the specs and the
/// export list are beside it). A leading `--compiler=NAME` chooses the compiler; `--plain` changes nothing here (see
/// [`plain`](crate::plain)). Runs the compiler once to learn its version and reads response files; otherwise as [`plan_with`].
pub fn plan(mode: Mode, args: &[OsString], archive: &Path) -> Result<CompilePlan, CompileError> {
    let (own, args) = Own::parse(args);
    let toolchain = Toolchain::detect(mode, own.compiler)?;
    plan_with(&toolchain, args, &expand(args, 0), archive)
}

/// The plan for a known compiler: pure. `expanded` is `args` with response files replaced by what they say.
pub fn plan_with(
    toolchain: &Toolchain,
    args: &[OsString],
    expanded: &[OsString],
    archive: &Path,
) -> Result<CompilePlan, CompileError> {
    let flags = Flags::parse(expanded);
    let mut notes = Vec::new();
    let mut out = toolchain.leading.clone();
    if !flags.has_input {
        out.extend_from_slice(args);
        return Ok(CompilePlan { compiler: toolchain.program.clone(), args: out, notes });
    }
    if let Some(name) = flags.foreign_sanitizer {
        return Err(CompileError::Sanitizer(name));
    }
    if flags.fully_static && !flags.stops {
        return Err(CompileError::Static);
    }
    out.extend(args.iter().filter(|a| !is_thread_sanitizer(a)).cloned());
    if flags.has_source {
        out.extend(header(archive));
    }
    if flags.has_source && !flags.opted_out {
        instrument(toolchain, &flags, archive, &mut out, &mut notes);
    }
    if !flags.stops && flags.shared && flags.no_undefined {
        // A shared library finds the entry points in the program that loads it.
        out.push(OsString::from("-Wl,-z,undefs"));
    }
    if !flags.stops && !flags.shared && !flags.relocatable {
        link(&flags, archive, &mut out, &mut notes);
    }
    Ok(CompilePlan { compiler: toolchain.program.clone(), args: out, notes })
}

/// Where compilers find `homenode.h` if they find it nowhere else: it is installed beside the archive.
pub(crate) fn header(archive: &Path) -> [OsString; 2] {
    ["-idirafter".into(), archive.parent().unwrap_or(Path::new("/")).into()]
}

fn instrument(toolchain: &Toolchain, flags: &Flags, archive: &Path, out: &mut Vec<OsString>, notes: &mut Vec<String>) {
    let mut push = |flag: &str| out.push(OsString::from(flag));
    if !flags.debug {
        push("-g");
    }
    // The checking variants (`__memcpy_chk`) would go past the recorded ones.
    push("-U_FORTIFY_SOURCE");
    if flags.lto {
        push("-fno-lto");
        notes.push("-flto is switched off: the instrumentation would run after it".to_string());
    }
    if flags.has_blocks() {
        // The assembler that makes calls of the entry points into blocks.
        push("-B");
        out.push(archive.parent().unwrap_or(Path::new("/")).as_os_str().to_os_string());
        if !flags.library {
            out.push(OsString::from("-Wa,--defsym,__homenode_executable=1"));
        }
        if toolchain.family == Family::Clang {
            out.push(OsString::from("-fno-integrated-as"));
        }
    }
    match toolchain.family {
        Family::Clang => out.extend(CLANG.iter().map(OsString::from)),
        Family::Gcc => {
            let old = (1..11).contains(&toolchain.major);
            if old {
                notes.push(
                    "gcc before 11 does not tell volatile reads apart: busy waiting on them is not marked".into(),
                );
            }
            out.push(joined("-specs=", &archive.with_file_name(if old { "gcc10.specs" } else { "gcc.specs" })));
        }
    }
}

/// Every one of these is measured: without them LU loses half of its references, or all but a few per cent with AVX2.
const CLANG: &[&str] = &[
    "-Xclang",
    "-fsanitize=thread",
    "-fno-vectorize",
    "-fno-slp-vectorize",
    "-mllvm",
    "-tsan-instrument-read-before-write=1",
    "-mllvm",
    "-tsan-distinguish-volatile=1",
];

fn link(flags: &Flags, archive: &Path, out: &mut Vec<OsString>, notes: &mut Vec<String>) {
    if flags.strips {
        notes.push("the program will be stripped: its report will have addresses instead of lines".to_string());
    }
    // `-x c` would still be in force for the archive.
    let head = ["-x", "none", "-Wl,--whole-archive"].map(OsString::from);
    out.extend(head);
    out.push(archive.as_os_str().to_os_string());
    out.extend(["-Wl,--no-whole-archive", "-Xlinker"].map(OsString::from));
    out.push(joined("--dynamic-list=", &archive.with_file_name("exports.list")));
    out.extend(["-lpthread", "-ldl"].map(OsString::from));
    if flags.openmp {
        // All that the program calls of OpenMP's runtime is in the archive, which calls the runtime: it would be left out.
        out.push(OsString::from("-Wl,--no-as-needed"));
    }
}

fn joined(prefix: &str, path: &Path) -> OsString {
    let mut text = OsString::from(prefix);
    text.push(path);
    text
}

/// Replaces `@file` by the words in the file, as far as it can be read; only for understanding the command line.
pub(crate) fn expand(args: &[OsString], depth: u32) -> Vec<OsString> {
    let mut out = Vec::new();
    for arg in args {
        let content = arg.to_str().and_then(|a| a.strip_prefix('@')).filter(|_| depth < 8);
        match content.and_then(|path| std::fs::read_to_string(path).ok()) {
            Some(text) => out.extend(expand(&words(&text), depth + 1)),
            None => out.push(arg.clone()),
        }
    }
    out
}

/// Words of a response file: blanks separate, quotes and backslashes protect.
fn words(text: &str) -> Vec<OsString> {
    let (mut out, mut word, mut quote) = (Vec::new(), None::<String>, None);
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (c, quote) {
            ('\\', _) => word.get_or_insert_default().extend(chars.next()),
            (c, Some(q)) if c == q => quote = None,
            ('"' | '\'', None) => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (c, None) if c.is_whitespace() => out.extend(word.take().map(OsString::from)),
            (c, _) => word.get_or_insert_default().push(c),
        }
    }
    out.extend(word.map(OsString::from));
    out
}

/// Installs the archive, prints the notes and becomes the compiler; returns only if that fails.
pub fn exec(mode: Mode, args: &[OsString]) -> CompileError {
    use std::os::unix::process::CommandExt;
    let planned = install::install().and_then(|archive| plan(mode, args, &archive));
    match planned {
        Ok(plan) => {
            plan.notes.iter().for_each(|note| eprintln!("homenode: note: {note}"));
            let error = plan.command().exec();
            CompileError::Exec(plan.compiler, error)
        }
        Err(e) => e,
    }
}
