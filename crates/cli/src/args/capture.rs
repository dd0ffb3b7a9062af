//! Commands that obtain a recording.
use clap::{Args, ValueHint};
use std::ffi::OsString;
use std::path::PathBuf;

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  homenode record -o lu.hnt -- ./lu -s S -p 4
  homenode record --limit-refs 100000000 --roi solve -- ./app

The program must be built with `homenode cc` or `homenode c++`. The status is 1 if the program failed; what it did until
then is recorded all the same.")]
pub(crate) struct Record {
    /// Dataset to write (a directory) [default: the program's name with .hnt]
    #[arg(short, long, value_hint = ValueHint::DirPath)]
    pub(crate) output: Option<PathBuf>,
    /// Replace the dataset if it exists.
    #[arg(long)]
    pub(crate) force: bool,
    /// How to see references (`homenode list backends`).
    #[arg(long, default_value = "auto")]
    pub(crate) backend: String,
    /// Stop recording after N references; the program runs on.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) limit_refs: Option<u64>,
    /// Record references only inside the phase of this name.
    #[arg(long, value_name = "NAME")]
    pub(crate) roi: Option<String>,
    /// Count references and record nothing: the floor of the slowdown.
    #[arg(long, conflicts_with_all = ["output", "limit_refs", "roi", "force"])]
    pub(crate) count_only: bool,
    /// Print the summary as JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Program and its arguments.
    #[arg(last = true, required = true, value_name = "CMD")]
    pub(crate) command: Vec<OsString>,
}

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  homenode cc -O2 -pthread app.c -o app
  make CC='homenode cc' CXX='homenode c++'

HOMENODE_REAL_CC and HOMENODE_REAL_CXX name the compiler to use (gcc or clang).")]
pub(crate) struct Compile {
    /// Arguments of the compiler.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGS")]
    pub(crate) args: Vec<OsString>,
}
