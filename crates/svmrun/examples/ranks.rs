//! What `homenode svm run --transport mpi` is, for tests of this crate, which have no `homenode`: `[-n NODES] [--mpicc PROGRAM] [-o FILE]
//! [--private-pointers WHAT] -- COMMAND`.
use homenode_svmrun::{Joined, Ranks, SvmRequest, run_on};
use std::ffi::OsString;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut request =
        SvmRequest { nodes: None, transport: Some("mpi".to_owned()), heap_bytes: 1 << 30, ..SvmRequest::default() };
    let (mut words, mut file) = (std::env::args_os().skip(1), None);
    while let Some(word) = words.next() {
        let mut value = || words.next().unwrap_or_default();
        let text = |value: OsString| value.into_string().unwrap_or_default();
        match word.to_str() {
            Some("-n") => request.nodes = text(value()).parse().ok(),
            Some("--mpicc") => request.mpicc = Some(value().into()),
            Some("--private-pointers") => request.private_pointers = text(value()),
            Some("-o") => file = Some(value()),
            _ => break,
        }
    }
    request.command = words.collect();
    let done = Ranks::join(&request).and_then(|joined| match joined {
        Joined::First(ranks) => run_on(&request, ranks).map(|doc| {
            let written = file.map(|file| std::fs::write(file, doc.to_json()));
            if let Some(Err(e)) = written {
                eprintln!("homenode: {e}");
            }
            doc.status()
        }),
        Joined::Other(ranks) => ranks.serve(),
        Joined::Silent(status) => Ok(status),
        Joined::Alone => Ok(0),
    });
    done.map_or_else(
        |why| {
            eprintln!("homenode: {why}");
            ExitCode::from(why.class.exit_status())
        },
        ExitCode::from,
    )
}
