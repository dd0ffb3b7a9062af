//! What an mpirun says to the processes that it starts. Pure.
use homenode_command::Failure;
use homenode_svm::job::MOST;
use homenode_table::clean;

/// Families of MPIs by what their mpirun says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    /// Open MPI.
    OpenMpi,
    /// MPICH, and others with its process manager.
    Mpich,
}

impl Family {
    const ALL: [Family; 2] = [Family::OpenMpi, Family::Mpich];

    /// Variables with the number of ranks, that of this one, and its number among those of its host.
    const fn variables(self) -> [&'static str; 3] {
        match self {
            Family::OpenMpi => ["OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK"],
            Family::Mpich => ["PMI_SIZE", "PMI_RANK", "MPI_LOCALRANKID"],
        }
    }
    /// The name of its compiler where several MPIs are installed.
    pub(super) const fn compiler(self) -> &'static str {
        match self {
            Family::OpenMpi => "mpicc.openmpi",
            Family::Mpich => "mpicc.mpich",
        }
    }
}

/// A process as an mpirun has started it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Started {
    pub(super) family: Family,
    /// Ranks.
    pub(super) size: u16,
    pub(super) rank: u16,
    /// Whether no other rank of its host says what all of them find.
    pub(super) speaks: bool,
}

/// What the environment says; `None` without an mpirun.
pub(super) fn started(find: impl Fn(&str) -> Option<String>) -> Result<Option<Started>, Failure> {
    let Some(family) = Family::ALL.into_iter().find(|family| find(family.variables()[0]).is_some()) else {
        return Ok(None);
    };
    let number = |name: &str| match find(name) {
        None => Ok(None),
        Some(text) => text.parse::<u16>().map(Some).map_err(|_| {
            Failure::usage(format!("--transport mpi: {name} is '{}', which no mpirun says", clean(&text)))
        }),
    };
    let [size, rank, local] = family.variables();
    let (found, local) = ((number(size)?, number(rank)?), number(local)?);
    match found {
        (Some(ranks), Some(number)) if number < ranks && ranks <= MOST => {
            Ok(Some(Started { family, size: ranks, rank: number, speaks: local.unwrap_or(number) == 0 }))
        }
        (Some(ranks), Some(number)) if number < ranks => Err(Failure::usage(format!(
            "--transport mpi: mpirun started {ranks} ranks, and each is a node: from 1 to {MOST} are possible"
        ))),
        _ => Err(Failure::usage(format!("--transport mpi: {size} and {rank} are not what an mpirun says"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pairs: &[(&str, &str)]) -> Result<Option<Started>, Failure> {
        started(|name| pairs.iter().find(|(n, _)| *n == name).map(|(_, value)| (*value).to_owned()))
    }

    #[test]
    fn ranks_are_known_by_what_their_mpirun_says() {
        assert_eq!(of(&[("PATH", "/bin")]).expect("nothing is wrong"), None);
        let open = [("OMPI_COMM_WORLD_SIZE", "3"), ("OMPI_COMM_WORLD_RANK", "2"), ("OMPI_COMM_WORLD_LOCAL_RANK", "0")];
        let started = Started { family: Family::OpenMpi, size: 3, rank: 2, speaks: true };
        assert_eq!(of(&open).expect("whole"), Some(started));
        let pmi = [("PMI_SIZE", "2"), ("PMI_RANK", "1"), ("MPI_LOCALRANKID", "1")];
        let started = Started { family: Family::Mpich, size: 2, rank: 1, speaks: false };
        assert_eq!(of(&pmi).expect("whole"), Some(started));
        assert!(!of(&pmi[..2]).expect("whole").expect("started").speaks);
    }

    #[test]
    fn what_no_mpirun_says_is_refused() {
        let refused = |size: &str, rank: &str, why: &str| {
            let said = of(&[("PMI_SIZE", size), ("PMI_RANK", rank)]).expect_err(why).message;
            assert!(said.contains(why), "{said}");
        };
        refused("two", "1", "PMI_SIZE is 'two'");
        refused("2", "-1", "PMI_RANK is '-1'");
        refused("2", "2", "not what an mpirun says");
        refused("0", "0", "not what an mpirun says");
        refused("65", "64", "from 1 to 64");
        assert!(of(&[("PMI_SIZE", "2")]).is_err());
    }
}
