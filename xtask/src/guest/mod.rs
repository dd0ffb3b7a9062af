//! One Linux guest with many memory nodes under QEMU: `cargo run -p xtask -- guest [OPTION]... -- COMMAND`.
//!
//! The guest is Debian's own cloud kernel and an initramfs written anew for each run (busybox, the added files and the
//! libraries they need); it is emulated (TCG), so neither KVM nor root is needed. **Emulation models no memory latency**: a
//! guest shows where pages are and what a tool decides, never what is faster.
//!
//! Reading order: [`options`] (what a guest is), [`topology`], [`kernel`], [`image`] (on [`cpio`] and [`libraries`]),
//! [`qemu`] (the command line), [`boot`] (one run, on [`stream`]).
pub(crate) mod boot;
pub(crate) mod cpio;
pub(crate) mod image;
pub(crate) mod kernel;
pub(crate) mod libraries;
pub(crate) mod options;
pub(crate) mod packages;
pub(crate) mod qemu;
pub(crate) mod stream;
pub(crate) mod topology;

use boot::{Ended, Port};
use clap::Parser;
use options::Vm;
use std::io::Write;

/// Status of `guest` when the time is over.
const STATUS_TIME_OUT: u8 = 124;
/// Status of `guest` when QEMU or the guest's kernel failed.
const STATUS_BROKEN: u8 = 125;

/// Boots one Linux guest with several memory nodes, runs COMMAND in it and returns its status (124: time-out, 125: the
/// guest itself failed). COMMAND runs in /test, where added files are; what it leaves in /out comes back with --out.
#[derive(Parser)]
#[command(name = "cargo run -p xtask -- guest", no_binary_name = true)]
struct Arguments {
    #[command(flatten)]
    vm: Vm,
    /// Shows QEMU's command line and the kernel's messages
    #[arg(long)]
    verbose: bool,
    /// What to run in the guest
    #[arg(last = true, required = true)]
    command: Vec<String>,
}

/// Runs one guest; its output passes through as it comes. Returns the exit status of `guest`.
///
/// # Errors
/// Missing packages, a file that cannot be added, options that contradict each other.
pub(crate) fn run(arguments: &[&str]) -> anyhow::Result<u8> {
    let a = match Arguments::try_parse_from(arguments) {
        Ok(a) => a,
        Err(e) => {
            let status = if e.use_stderr() { 2 } else { 0 };
            e.print()?;
            return Ok(status);
        }
    };
    a.vm.validate()?;
    let verbose = a.verbose;
    let mut pass_on = |port: Port, bytes: &[u8]| {
        // A reader that left does not stop the guest: its status still counts.
        let _ = match port {
            Port::Out => std::io::stdout().write_all(bytes).and_then(|()| std::io::stdout().flush()),
            Port::Err => std::io::stderr().write_all(bytes),
            Port::Console if verbose => std::io::stderr().write_all(bytes),
            Port::Console | Port::Result => Ok(()),
        };
    };
    let run = boot::run(&a.vm, &a.command, verbose, &mut pass_on)?;
    match run.ended {
        Ended::Status(status) => Ok(status),
        Ended::TimeOut => {
            eprintln!("{}guest: COMMAND was not done after {} s (--timeout)", run.last_lines, a.vm.timeout_s);
            Ok(STATUS_TIME_OUT)
        }
        Ended::Broken(why) => {
            eprintln!("{}guest: {why}", run.last_lines);
            Ok(STATUS_BROKEN)
        }
    }
}
