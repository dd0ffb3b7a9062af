//! The six programs of the study, and what it prints of them.
use homenode_base::Cost;
use homenode_command::{Failure, Progress};
use homenode_machine::costs::Matrix;
use homenode_machine::{Machine, models};
use homenode_reproducing::kept::Results;
use homenode_reproducing::programs::{self, Run};
use homenode_trace::dataset::DatasetReader;
use std::path::{Path, PathBuf};

/// A program, and its rows of tables 5 and 6.
pub(super) struct Listed {
    /// Name in the study.
    pub(super) name: &'static str,
    /// Nodes, one thread on each (section 4.2).
    pub(super) nodes: u16,
    /// The phase that is measured.
    pub(super) phase: &'static str,
    source: &'static str,
    defines: &'static [&'static str],
    /// Options for XS, S, M and P.
    sizes: [&'static str; 4],
    /// Pressures in percent at which it is run.
    pub(super) pressures: &'static [u32],
    /// Table 5: home pages of a node, most remote pages of a node, ideal pressure in percent.
    pub(super) pages: [u64; 3],
    /// Table 6: remote pages of all nodes, and those refetched 32 times.
    pub(super) refetched: [u64; 2],
    /// Why ours misses, at the study's size.
    pub(super) why: &'static str,
    /// The program changed, one thing at a time: what of its results is the program's doing.
    pub(super) changes: &'static [Change],
}

/// A program of which one thing is changed that the study does not tell, or tells otherwise.
pub(super) struct Change {
    /// Name on the page.
    pub(super) name: &'static str,
    /// What is changed.
    pub(super) words: &'static str,
    /// Definitions that are added.
    defines: &'static [&'static str],
    /// An option that is added, and wins over one before it.
    option: &'static str,
}

/// A recording of one, and what a run that was killed found of it.
pub(super) struct Recorded {
    /// The program.
    pub(super) listed: &'static Listed,
    /// The recording.
    pub(super) reader: DatasetReader,
    /// Folder of the recording.
    pub(super) path: PathBuf,
    /// Of an earlier run.
    pub(super) results: Results,
}

const ALL_PRESSURES: &[u32] = &[10, 30, 50, 70, 90];

/// In the order of table 5.
pub(super) static LIST: [Listed; 6] = [
    Listed {
        name: "barnes",
        nodes: 8,
        phase: "steps",
        source: include_str!("../../../../workloads/barnes.c"),
        defines: &["-DHN_TRACED=1", "-DHN_SPACE=1"],
        sizes: ["-n 1024 -i 1", "-n 4096 -i 1", "-n 8192 -i 1", "-n 16384 -i 1"],
        pressures: &[10, 30, 50, 70],
        pages: [102, 552, 16],
        refetched: [4416, 3498],
        why: "bodies and tree alone: no arrays of locks, leaves or costs; bodies fill space evenly",
        changes: &[],
    },
    Listed {
        name: "em3d",
        nodes: 8,
        phase: "update",
        source: include_str!("../../../../workloads/ascoma/em3d_built.c"),
        defines: &["-DHN_TRACED=1"],
        sizes: ["-n 1280 -b 15", "-n 5000 -b 15", "-n 20000 -b 15", "-n 40000 -b 15"],
        pressures: ALL_PRESSURES,
        pages: [491, 778, 39],
        refetched: [6224, 1868],
        why: "the length of its records (24 bytes, from table 6), the degree and how the graph is built are ours: the study tells nodes, share and updates",
        changes: &[
            Change {
                name: "em3d-long-records",
                words: "em3d: a record has 96 bytes, not 24",
                defines: &["-DHN_LINKS=21"],
                option: "",
            },
            Change {
                name: "em3d-half-remote",
                words: "em3d: half of the edges are remote, not 15 %",
                defines: &[],
                option: "-b 50",
            },
        ],
    },
    Listed {
        name: "fft",
        nodes: 8,
        phase: "transform",
        source: include_str!("../../../../workloads/fft.c"),
        defines: &["-DHN_TRACED=1", "-DHN_PAD=2"],
        sizes: ["-n 16384 -i 1", "-n 65536 -i 1", "-n 262144 -i 1", "-n 262144 -i 1"],
        pressures: ALL_PRESSURES,
        pages: [390, 1254, 24],
        refetched: [10032, 5],
        why: "each thread initialises its own rows; where one thread does, its share is spread over the others, and own rows are remote too",
        changes: &[],
    },
    Listed {
        name: "lu",
        nodes: 4,
        phase: "factor",
        source: include_str!("../../../../workloads/lu.c"),
        defines: &["-DHN_TRACED=1", "-DHN_GROUPED=1"],
        sizes: ["-n 128 -b 16", "-n 256 -b 16", "-n 512 -b 16", "-n 1024 -b 16"],
        pressures: ALL_PRESSURES,
        pages: [514, 405, 56],
        refetched: [1620, 1606],
        why: "a thread of four reads half of the blocks of two others, 1056 of 2 KiB at the study's size: they cannot lie on fewer than 528 pages",
        changes: &[Change {
            name: "lu-one-initialises",
            words: "lu: thread 0 initialises the matrix, so that blocks of the others are spread over all nodes",
            defines: &["-DHN_ONE_INITIALISES=1"],
            option: "",
        }],
    },
    Listed {
        name: "ocean",
        nodes: 8,
        phase: "steps",
        source: include_str!("../../../../workloads/ascoma/ocean.c"),
        defines: &["-DHN_TRACED=1"],
        sizes: ["-n 34 -i 1", "-n 130 -i 1", "-n 258 -i 1", "-n 258 -i 6"],
        pressures: ALL_PRESSURES,
        pages: [473, 356, 57],
        refetched: [2848, 569],
        why: "how many fields there are, and at how many neighbours are looked, is ours",
        changes: &[Change {
            name: "ocean-strips",
            words: "ocean: cut into strips of rows, so that neighbours of other nodes lie side by side",
            defines: &["-DHN_STRIPS=1"],
            option: "",
        }],
    },
    Listed {
        name: "radix",
        nodes: 8,
        phase: "sort",
        source: include_str!("../../../../workloads/radix.c"),
        defines: &["-DHN_TRACED=1", "-DHN_DIGIT_BITS=10", "-DHN_BELL=1"],
        sizes: ["-n 32768 -b 19", "-n 262144 -b 19", "-n 524288 -b 19", "-n 1048576 -b 19"],
        pressures: ALL_PRESSURES,
        pages: [259, 1306, 17],
        refetched: [10448, 10236],
        why: "with fewer keys a digit has less than a page, and every node writes to all of them in the second pass, too",
        changes: &[Change {
            name: "radix-even-keys",
            words: "radix: all keys are as frequent",
            defines: &["-DHN_BELL=0"],
            option: "",
        }],
    },
];

impl Listed {
    /// Builds it for the first recording, and records it, perhaps changed; `size` is 0 to 3 for XS, S, M and P.
    ///
    /// # Errors
    /// No compiler that can build it, or it fails.
    pub(super) fn recorded(
        &'static self,
        folder: &Path,
        (size, number): (usize, usize),
        change: Option<&'static Change>,
        progress: &mut dyn Progress,
    ) -> Result<Recorded, Failure> {
        let name = change.map_or(self.name, |c| c.name);
        let defines: Vec<&str> = self.defines.iter().chain(change.map_or(&[][..], |c| c.defines)).copied().collect();
        let failed = |e: std::io::Error| Failure::work(format!("cannot write {}: {e}", folder.display()));
        if number == 0 && !programs::built(folder, name, self.source, &defines).map_err(failed)? {
            return Err(Failure::work(format!("{name} cannot be built: a C compiler is needed (homenode doctor)")));
        }
        let run = Run { folder, name, threads: self.nodes.into(), number, phase: Some("traced") };
        let options = [self.sizes[size], change.map_or("", |c| c.option)];
        let reader = run.recorded(options.into_iter().flat_map(str::split_whitespace), progress)?;
        Ok(Recorded { listed: self, reader, path: run.dataset(), results: run.results()? })
    }

    /// The study's machine with the nodes that the program has.
    ///
    /// # Errors
    /// None: the machine is in the registry.
    pub(super) fn machine(&self) -> Result<Machine, Failure> {
        let mut machine = models::find("ascoma").ok_or_else(|| Failure::work("no machine 'ascoma'"))?;
        let nodes = usize::from(self.nodes);
        if let Some(h) = machine.sections.hybrid.as_ref().filter(|_| nodes != machine.nodes()) {
            let near_far = Matrix::uniform(nodes, Cost(h.local() as i64), Cost(h.remote() as i64));
            machine.cost.read = near_far.clone();
            machine.cost.write = near_far.clone();
            machine.cost.write_back = near_far;
        }
        machine.shape.cores.truncate(nodes);
        Ok(machine)
    }
}
