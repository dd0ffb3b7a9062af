//! `homenode cc --plain`: what is compiled or linked with the hooks is compiled or linked without them, too, beside it. Nobody
//! executes that; how many instructions the program has without hooks is read from it.
use crate::compile::{self, CompilePlan, Own};
use crate::error::{CompileError, Mode};
use crate::flags::{Flags, is_thread_sanitizer};
use crate::toolchain::Toolchain;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// Ending of the names of files without hooks.
const ENDING: &str = ".plain";

/// Options that ask for something else than an object or a program.
const OTHER_OUTPUT: [&str; 5] = ["-E", "-S", "-M", "-MM", "-fsyntax-only"];

/// Options that make more files than the output, and whether the next argument is their value.
const MORE_FILES: [(&str, bool); 8] = [
    ("-MD", false),
    ("-MMD", false),
    ("-MP", false),
    ("-MG", false),
    ("-MF", true),
    ("-MT", true),
    ("-MQ", true),
    ("-gsplit-dwarf", false),
];

/// A compilation without hooks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlainBuild {
    /// What to execute.
    pub plan: CompilePlan,
    /// What is made with the hooks.
    pub of: PathBuf,
    /// What is made without.
    pub to: PathBuf,
    /// Whether a program or library is linked.
    pub links: bool,
}

/// The file without hooks that stands beside one with them.
pub fn beside(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(ENDING);
    name.into()
}

/// What to do for the same arguments without hooks. `None` if they make no object or program of a known name, or if none of
/// what goes into it was built without hooks. Looks which files are there; `expanded` is without response files.
pub fn plain(toolchain: &Toolchain, expanded: &[OsString]) -> Option<PlainBuild> {
    let flags = Flags::parse(expanded);
    let compiles = expanded.iter().any(|a| a == "-c");
    if !flags.has_input || flags.stops && !compiles || expanded.iter().any(|a| OTHER_OUTPUT.iter().any(|o| a == o)) {
        return None;
    }
    let of = output(expanded, compiles)?;
    let (to, mut known) = (beside(&of), flags.has_source);
    let mut args = toolchain.leading.clone();
    let mut rest = expanded.iter().filter(|a| !is_thread_sanitizer(a));
    while let Some(arg) = rest.next() {
        let text = arg.to_string_lossy();
        if let Some((_, value)) = MORE_FILES.iter().find(|(name, _)| *name == text) {
            rest.by_ref().take(usize::from(*value)).for_each(drop);
        } else if text == "-o" {
            rest.next();
        } else if text.starts_with("-o") || text.starts_with("-Wp,-M") || text.starts_with("-MF") {
        } else if !text.starts_with('-') && is_made(Path::new(arg)) {
            known = true;
            args.push(beside(Path::new(arg)).into());
        } else {
            args.push(arg.clone());
        }
    }
    if !flags.debug && flags.has_source {
        args.push("-g".into());
    }
    let links = !flags.stops && !flags.relocatable;
    if links {
        // Libraries may have been built with hooks alone. What is linked here is never executed.
        args.push("-Wl,--unresolved-symbols=ignore-all".into());
    }
    args.extend(["-o".into(), to.clone().into()]);
    let plan = CompilePlan { compiler: toolchain.program.clone(), args, notes: Vec::new() };
    known.then_some(PlainBuild { plan, of, to, links })
}

/// Whether what stands beside an object was made when the object was, or later.
fn is_made(object: &Path) -> bool {
    let time = |file: &Path| std::fs::metadata(file).and_then(|m| m.modified()).ok();
    time(&beside(object)).is_some_and(|made| time(object).is_some_and(|of| made >= of))
}

/// The file that the arguments make, if it is one.
fn output(args: &[OsString], compiles: bool) -> Option<PathBuf> {
    let named = args.iter().enumerate().rev().find_map(|(n, arg)| {
        let joined = arg.to_str().and_then(|a| a.strip_prefix("-o")).filter(|f| !f.is_empty()).map(OsString::from);
        joined.or_else(|| args.get(n + 1).filter(|_| arg == "-o").cloned())
    });
    if let Some(named) = named {
        return Some(PathBuf::from(named)).filter(|f| f.as_os_str() != "-" && !f.starts_with("/dev"));
    }
    if !compiles {
        return Some("a.out".into());
    }
    let mut sources = args.iter().filter(|a| Flags::parse(std::slice::from_ref(a)).has_source);
    let source = Path::new(sources.next()?).file_stem().map(OsStr::to_owned)?;
    sources.next().is_none().then(|| Path::new(&source).with_extension("o"))
}

/// Whether the arguments ask for a build without hooks, too.
pub fn is_wanted(args: &[OsString]) -> bool {
    Own::parse(args).0.plain
}

/// Compiles with the hooks and, if that went well and is wanted, without; what the second says is only noted. Returns the compiler's exit
/// status. `build_id` reads the build id of a program, in hexadecimal digits: what is linked without hooks gets the same, so
/// that one can tell what belongs together.
///
/// # Errors
/// As [`compile::plan`], or the compiler cannot be started.
pub fn build(
    mode: Mode,
    args: &[OsString],
    archive: &Path,
    build_id: &dyn Fn(&Path) -> Option<String>,
) -> Result<i32, CompileError> {
    let plan = compile::plan(mode, args, archive)?;
    plan.notes.iter().for_each(|note| eprintln!("homenode: note: {note}"));
    let run = |plan: &CompilePlan| plan.command().status().map_err(|e| CompileError::Exec(plan.compiler.clone(), e));
    let status = run(&plan)?;
    let (own, args) = Own::parse(args);
    let toolchain = Toolchain::detect(mode, own.compiler)?;
    let expanded = compile::expand(args, 0);
    let other = plain(&toolchain, &expanded);
    let Some(mut other) = other.filter(|_| own.plain && status.success()) else {
        return Ok(status.code().unwrap_or(1));
    };
    if Flags::parse(&expanded).has_source {
        other.plan.args.extend(compile::header(archive));
    }
    // An older one would not belong to what has just been made.
    let _ = std::fs::remove_file(&other.to);
    if other.links {
        let Some(id) = build_id(&other.of) else {
            eprintln!("homenode: note: {} has no build id: nothing is linked without hooks", other.of.display());
            return Ok(0);
        };
        other.plan.args.push(format!("-Wl,--build-id=0x{id}").into());
    }
    if !run(&other.plan)?.success() {
        eprintln!("homenode: note: there is no {}: it does not build without hooks", other.to.display());
    }
    Ok(0)
}
