//! Which compiler is meant, and why nothing can be compiled.
use std::ffi::OsString;
use std::path::PathBuf;

/// C or C++: which compiler is chosen by default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// `homenode cc`.
    Cc,
    /// `homenode c++`.
    Cxx,
}

/// Why there is nothing to execute. Every message says what to do.
#[derive(Debug)]
pub enum CompileError {
    /// None of these can be executed.
    NoCompiler(OsString),
    /// Neither gcc nor clang.
    UnknownCompiler(OsString),
    /// A fully static program was asked for.
    Static,
    /// Another sanitizer was asked for.
    Sanitizer(String),
    /// The archive could not be written anywhere.
    Install(PathBuf, std::io::Error),
    /// The compiler could not be started.
    Exec(OsString, std::io::Error),
}

impl std::fmt::Display for CompileError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            CompileError::NoCompiler(what) => {
                write!(
                    f,
                    "no compiler: cannot run {}; install gcc or clang, or set HOMENODE_REAL_CC / HOMENODE_REAL_CXX",
                    what.display()
                )
            }
            CompileError::UnknownCompiler(what) => write!(
                f,
                "{} is neither gcc nor clang; name one of them in HOMENODE_REAL_CC / HOMENODE_REAL_CXX or --compiler=",
                what.display()
            ),
            CompileError::Static => f.write_str(
                "-static: a static program has no C library behind which the hooks could stand; link it dynamically",
            ),
            CompileError::Sanitizer(name) => {
                write!(f, "-fsanitize={name} cannot be combined with recording; build without it")
            }
            CompileError::Install(path, e) => write!(f, "cannot write the hooks to {}: {e}", path.display()),
            CompileError::Exec(what, e) => write!(f, "cannot run {}: {e}", what.display()),
        }
    }
}

impl std::error::Error for CompileError {}
