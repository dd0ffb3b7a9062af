//! Which compiler does the work: gcc or clang, and how old it is.
use crate::error::{CompileError, Mode};
use std::ffi::{OsStr, OsString};
use std::process::Command;

/// Environment variable that names the C compiler behind `homenode cc`; words after the first are arguments (`ccache
/// gcc`).
pub const REAL_CC: &str = "HOMENODE_REAL_CC";
/// Environment variable that names the C++ compiler behind `homenode c++`; words after the first are arguments.
pub const REAL_CXX: &str = "HOMENODE_REAL_CXX";

/// Families of compilers whose flags differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// GNU.
    Gcc,
    /// LLVM.
    Clang,
}

/// A compiler that can build recorded programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Toolchain {
    /// What to execute.
    pub program: OsString,
    /// Arguments that come before all others (the compiler behind `ccache`).
    pub leading: Vec<OsString>,
    /// Which flags it understands.
    pub family: Family,
    /// Major version, 0 if it does not say.
    pub major: u32,
}

impl Toolchain {
    /// The compiler for `mode`: `chosen` (from `--compiler=`), else the environment variable, else gcc, else clang.
    /// Runs it once to learn what it is. Errors if there is none or it is neither gcc nor clang.
    pub fn detect(mode: Mode, chosen: Option<&OsStr>) -> Result<Toolchain, CompileError> {
        let variable = if mode == Mode::Cc { REAL_CC } else { REAL_CXX };
        let from_env = std::env::var_os(variable).filter(|v| !v.is_empty());
        match chosen.map(OsStr::to_os_string).or(from_env) {
            Some(words) => identify(&words)?.ok_or(CompileError::NoCompiler(words)),
            None => first_found(mode),
        }
    }
}

fn first_found(mode: Mode) -> Result<Toolchain, CompileError> {
    let names = if mode == Mode::Cc { ["gcc", "clang"] } else { ["g++", "clang++"] };
    for name in names {
        if let Some(found) = identify(OsStr::new(name))? {
            return Ok(found);
        }
    }
    Err(CompileError::NoCompiler(OsString::from(names.join(" or "))))
}

/// Asks the compiler; `None` if it cannot be executed.
fn identify(words: &OsStr) -> Result<Option<Toolchain>, CompileError> {
    let mut words_iter = split(words).into_iter();
    let Some(program) = words_iter.next() else { return Ok(None) };
    let leading: Vec<OsString> = words_iter.collect();
    let Ok(said) = Command::new(&program).args(&leading).arg("--version").env("LC_ALL", "C").output() else {
        return Ok(None);
    };
    let text = String::from_utf8_lossy(&said.stdout);
    match parse_version(&text) {
        Some((family, major)) => Ok(Some(Toolchain { program, leading, family, major })),
        None => Err(CompileError::UnknownCompiler(words.to_os_string())),
    }
}

/// Words between blanks; a path with blanks cannot be given this way, as with `CC` in make.
fn split(words: &OsStr) -> Vec<OsString> {
    match words.to_str() {
        Some(text) => text.split_whitespace().map(OsString::from).collect(),
        None => vec![words.to_os_string()],
    }
}

/// Family and major version from what `--version` prints.
fn parse_version(text: &str) -> Option<(Family, u32)> {
    let first = text.lines().next()?;
    if let Some(at) = first.find("clang version ") {
        return Some((Family::Clang, leading_number(&first[at + "clang version ".len()..])));
    }
    if !text.contains("Free Software Foundation") {
        return None;
    }
    // `gcc (Debian 12.2.0-14) 12.2.0`: the distribution's words are in parentheses and may hold digits.
    let after = first.rfind(") ").map_or(first, |at| &first[at + 2..]);
    let version = after.split_whitespace().find(|w| w.starts_with(|c: char| c.is_ascii_digit()))?;
    Some((Family::Gcc, leading_number(version)))
}

fn leading_number(text: &str) -> u32 {
    let digits: String = text.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_as_distributions_print_them() {
        let fsf = "\nCopyright (C) 2022 Free Software Foundation, Inc.\n";
        for (line, family, major) in [
            ("gcc (Debian 12.2.0-14+deb12u1) 12.2.0", Family::Gcc, 12),
            ("g++ (Ubuntu 11.4.0-1ubuntu1~22.04) 11.4.0", Family::Gcc, 11),
            ("x86_64-linux-gnu-gcc-13 (GCC) 13.2.1 20230801", Family::Gcc, 13),
            ("Debian clang version 14.0.6", Family::Clang, 14),
            ("clang version 18.1.3 (https://github.com/llvm/llvm-project 0000)", Family::Clang, 18),
        ] {
            assert_eq!(parse_version(&format!("{line}{fsf}")), Some((family, major)), "{line}");
        }
        assert_eq!(parse_version("tcc version 0.9.27 (x86_64 Linux)"), None);
        assert_eq!(parse_version(""), None);
    }
}
