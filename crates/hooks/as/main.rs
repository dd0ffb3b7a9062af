//! What compilers execute as `as` when they build programs with hooks: the assembler, and before it the calls of the hooks are made
//! into blocks of references ([`blocks`]). The compiler is told of it by `-B`.
//!
//! Only assembly language for x86-64 in one file or from standard input is changed; everything else goes to the assembler as it is.
mod blocks;

use std::ffi::{OsStr, OsString};
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio, exit};

/// Options whose value is the next argument.
const WITH_VALUE: &[&str] = &["-o", "-I", "--MD", "--defsym", "--debug-prefix-map"];

/// Definition by which the compiler's command line says that the code is for an executable.
const EXECUTABLE: &str = "__homenode_executable=1";

/// Where the assembler is to read.
enum Input {
    /// The file that this argument names.
    File(usize),
    Standard,
}

fn main() {
    let args: Vec<OsString> = std::env::args_os().skip(1).collect();
    let assembler = assembler();
    let executable = args.iter().any(|arg| arg == EXECUTABLE);
    let (text, without) = match input(&args) {
        Some(Input::File(at)) => (
            std::fs::read_to_string(&args[at])
                .ok()
                .and_then(|t| blocks::filter(&t, executable))
                .map(String::into_bytes),
            Some(at),
        ),
        Some(Input::Standard) => (Some(standard(executable)), None),
        None => (None, None),
    };
    let mut command = Command::new(&assembler);
    let Some(text) = text else {
        let e = command.args(&args).exec();
        fail(&assembler, &e)
    };
    let rest = args.iter().enumerate().filter(|(i, _)| Some(*i) != without).map(|(_, arg)| arg);
    let mut child = command.args(rest).stdin(Stdio::piped()).spawn().unwrap_or_else(|e| fail(&assembler, &e));
    if let Some(mut stdin) = child.stdin.take() {
        // An assembler that wants no more says itself why.
        let _ = stdin.write_all(&text);
    }
    match child.wait() {
        Ok(status) => exit(status.code().unwrap_or(1)),
        Err(e) => fail(&assembler, &e),
    }
}

fn fail(assembler: &OsStr, e: &std::io::Error) -> ! {
    eprintln!("homenode: cannot execute the assembler {}: {e}", assembler.display());
    exit(1)
}

fn standard(executable: bool) -> Vec<u8> {
    let mut bytes = Vec::new();
    // What cannot be read, the assembler would not have read either.
    let _ = std::io::stdin().read_to_end(&mut bytes);
    std::str::from_utf8(&bytes).ok().and_then(|text| blocks::filter(text, executable)).map_or(bytes, String::into_bytes)
}

/// The only input, if what it holds is for x86-64.
fn input(args: &[OsString]) -> Option<Input> {
    let (mut found, mut wide, mut value) = (None, false, false);
    for (i, arg) in args.iter().enumerate() {
        if std::mem::take(&mut value) {
            continue;
        }
        let text = arg.to_string_lossy();
        wide |= text == "--64";
        value = WITH_VALUE.contains(&&*text);
        let is_input = text == "-" || !text.starts_with('-');
        if text.starts_with('@') || text == "--" || is_input && found.replace(i).is_some() {
            return None;
        }
    }
    let from = found.filter(|&at| args[at] != "-").map_or(Input::Standard, Input::File);
    wide.then_some(from)
}

/// The assembler: what the compiler says that it would execute, else the first `as` on the path that is not this program.
fn assembler() -> OsString {
    let asked = std::env::var_os("COLLECT_GCC").and_then(|compiler| {
        let said = Command::new(compiler).arg("-print-prog-name=as").stderr(Stdio::null()).output().ok()?;
        let name = String::from_utf8(said.stdout).ok()?;
        let name = name.trim_end();
        (said.status.success() && !name.is_empty()).then(|| name.to_owned())
    });
    let name = asked.unwrap_or_else(|| "as".to_owned());
    if name.contains('/') {
        return name.into();
    }
    let own = std::env::current_exe().ok().and_then(|own| own.canonicalize().ok());
    let path = std::env::var_os("PATH").unwrap_or_default();
    let other = |at: &PathBuf| at.is_file() && at.canonicalize().ok() != own;
    std::env::split_paths(&path)
        .map(|dir| dir.join(Path::new(&name)))
        .find(other)
        .map_or(name.into(), PathBuf::into_os_string)
}
