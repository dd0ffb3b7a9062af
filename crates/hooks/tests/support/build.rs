//! Building the test programs with the real wrapper.
use homenode_hooks::{Mode, compile, install};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// C compilers that every test program is built with; the C++ ones are these with `++`.
pub const COMPILERS: [&str; 2] = ["gcc", "clang"];

/// The installed archive.
pub fn archive() -> &'static Path {
    static AT: OnceLock<PathBuf> = OnceLock::new();
    AT.get_or_init(|| {
        install::install_in(Path::new(env!("CARGO_TARGET_TMPDIR"))).expect("the target directory is writable")
    })
}

pub fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c").join(name)
}

/// Runs the wrapper's plan; the output of the compiler, successful or not.
pub fn compile(compiler: &str, args: &[&str]) -> std::process::Output {
    let mode = if compiler.ends_with('+') { Mode::Cxx } else { Mode::Cc };
    let mut all = vec![OsString::from(format!("--compiler={compiler}"))];
    all.extend(args.iter().map(OsString::from));
    let plan = compile::plan(mode, &all, archive()).expect("a plan");
    plan.command().output().expect("the compiler starts")
}

/// `tests/c/NAME` built as a program in `dir`.
pub fn program(dir: &Path, compiler: &str, name: &str, flags: &[&str]) -> PathBuf {
    let out = dir.join(format!("{name}.{compiler}{}", flags.concat().replace('/', "_")));
    let (from, to) = (source(name), out.to_str().unwrap().to_string());
    let include = format!("-I{}", concat!(env!("CARGO_MANIFEST_DIR"), "/../../include"));
    let mut args = vec!["-O2", &include, "-Wall", "-Werror", from.to_str().unwrap(), "-o", &to];
    args.extend_from_slice(flags);
    let compiler = if name.ends_with(".cc") { cxx(compiler) } else { compiler };
    let done = compile(compiler, &args);
    assert!(done.status.success(), "{compiler} {name}: {}", String::from_utf8_lossy(&done.stderr));
    out
}

pub fn cxx(compiler: &str) -> &'static str {
    if compiler == "gcc" { "g++" } else { "clang++" }
}
