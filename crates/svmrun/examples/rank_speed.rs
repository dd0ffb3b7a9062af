//! What the basic operations of the transport `mpi` cost between the ranks of an MPI on one host, as in table 1.5 of Bilas and Singh:
//! `mpirun -n 2 rank_speed [MPICC]`. Two nodes are threads of rank 0; what they ask in their mailboxes is done by the MPI of the two ranks.
use homenode_svmrun::{Joined, Ranks, SvmRequest};
use std::process::ExitCode;

fn main() -> ExitCode {
    let mpicc = std::env::args_os().nth(1).map(Into::into);
    let request = SvmRequest { nodes: None, transport: Some("mpi".to_owned()), mpicc, ..SvmRequest::default() };
    let measured = Ranks::join(&request).and_then(|joined| match joined {
        Joined::First(ranks) => ranks.speeds().map(|found| {
            found.map_or_else(
                || println!("mpi: the MPI needs the other side's help, so the transport would be tcp"),
                |all| {
                    println!("mpi, microseconds: median / 99 %");
                    all.iter().for_each(|times| println!("  {times}"));
                },
            )
        }),
        Joined::Other(ranks) => ranks.speeds().map(|_| ()),
        Joined::Alone | Joined::Silent(_) => Ok(()),
    });
    measured.map_or_else(
        |why| {
            eprintln!("rank_speed: {why}");
            ExitCode::from(why.class.exit_status())
        },
        |()| ExitCode::SUCCESS,
    )
}
