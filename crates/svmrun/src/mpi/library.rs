//! The library between `homenode` and an MPI: the MPI's own compiler makes it once, where nobody but this user can change it.
use super::environment::Family;
use homenode_command::Failure;
use homenode_hooks::install;
use homenode_host::launch;
use homenode_sys::net;
use homenode_table::clean;
use sha2::{Digest, Sha256};
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const SOURCE: &str = include_str!("ranks.c");
/// File name of the library.
const NAME: &str = "libhomenode_mpi.so";
/// The compiler's name where there is one MPI.
const MPICC: &str = "mpicc";
/// Bytes of a digest that name a directory.
const NAMED: usize = 16;

/// The library's file for the MPI of this compiler, or of what is found for the family.
pub(super) fn library(given: Option<&Path>, family: Family) -> Result<PathBuf, Failure> {
    let compiler = compiler(given, family)?;
    let shown = run(&compiler, Command::new(&compiler).arg("-show"))?;
    let mut digest = Sha256::new_with_prefix(SOURCE);
    digest.update(env!("CARGO_PKG_VERSION"));
    digest.update(&shown.stdout);
    let digest: String = digest.finalize().iter().take(NAMED).map(|byte| format!("{byte:02x}")).collect();
    let folder = install::directory(&format!("mpi-{digest}")).map_err(Failure::work)?;
    let file = folder.join(NAME);
    if !file.is_file() {
        make(&compiler, &folder, &file)?;
    }
    Ok(file)
}

fn compiler(given: Option<&Path>, family: Family) -> Result<PathBuf, Failure> {
    let find = |name: OsString| launch::find_program(&[name]);
    if let Some(given) = given {
        return find(given.into()).map_err(|e| Failure::usage(format!("--mpicc: {e}")));
    }
    let found = [family.compiler(), MPICC].into_iter().find_map(|name| find(name.into()).ok());
    found.ok_or_else(|| {
        Failure::work(
            "--transport mpi: there is no mpicc, which makes what homenode needs of the MPI: install the MPI's compiler (libopenmpi-dev, \
             libmpich-dev) or name it with --mpicc",
        )
    })
}

/// Compiles the library. Several ranks may be at it: each has files of its own, and takes the place of the last one's.
fn make(compiler: &Path, folder: &Path, file: &Path) -> Result<(), Failure> {
    let failed = |e: io::Error| Failure::work(format!("cannot make {}: {e}", file.display()));
    // The folder may be that of several hosts.
    let mut random = [0; 8];
    net::random(&mut random).map_err(failed)?;
    let own = |end: &str| folder.join(format!(".{:016x}.{end}", u64::from_ne_bytes(random)));
    let (source, made) = (own("c"), own("so"));
    let done = fs::write(&source, SOURCE).map_err(failed).and_then(|()| {
        let mut command = Command::new(compiler);
        command.args(["-O2", "-fPIC", "-shared", "-o"]).arg(&made).arg(&source);
        run(compiler, &mut command)?;
        fs::rename(&made, file).map_err(failed)
    });
    for left in [source, made] {
        // What was renamed, or not made, is not there.
        let _ = fs::remove_file(left);
    }
    done
}

/// What a compiler says.
fn run(compiler: &Path, command: &mut Command) -> Result<Output, Failure> {
    let name = compiler.display();
    let failed = |why: String| {
        Failure::work(format!("--transport mpi: {name} is no compiler of an MPI ({why}); name one with --mpicc"))
    };
    let output = command.output().map_err(|e| failed(e.to_string()))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let line = said.lines().find(|line| line.contains("error")).or_else(|| said.lines().next());
        return Err(failed(line.map_or_else(|| output.status.to_string(), clean)));
    }
    Ok(output)
}
