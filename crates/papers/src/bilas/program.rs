//! The programs: those of tables 1.2, 1.3 and 1.6, as far as ours stand for them.
use homenode_command::{Failure, Progress};
use homenode_reproducing::kept::Results;
use homenode_reproducing::programs::{self, Run};
use homenode_trace::dataset::DatasetReader;
use std::path::{Path, PathBuf};

/// A program, and which rows of the study it stands for.
pub(super) struct Listed {
    /// Ours.
    pub(super) name: &'static str,
    /// Row of table 1.2: simulated on 16 processors.
    pub(super) simulated: Option<&'static str>,
    /// Row of table 1.3: measured on 16 processors.
    pub(super) measured: Option<&'static str>,
    /// Row of tables 1.6 to 1.11: emulated on 32 and 64 processors.
    pub(super) emulated: Option<&'static str>,
    source: &'static str,
    defines: &'static [&'static str],
    /// The phase that counts.
    pub(super) phase: &'static str,
    /// Options for XS, S, M.
    pub(super) sizes: [&'static str; 3],
    /// What is ours and not the study's.
    pub(super) stands: &'static str,
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

macro_rules! source {
    ($file:literal) => {
        include_str!(concat!("../../../../workloads/", $file))
    };
}

/// In the order of table 1.2, and behind each its other versions.
pub(super) static LIST: [Listed; 14] = [
    Listed {
        name: "fft",
        simulated: Some("FFT"),
        measured: Some("FFT"),
        emulated: None,
        source: source!("fft.c"),
        defines: &["-DHN_PAD=2"],
        phase: "transform",
        sizes: ["-n 16384 -i 1", "-n 65536 -i 1", "-n 262144 -i 1"],
        stands: "transposes that all begin with the same rows; of one transform",
    },
    Listed {
        name: "fft_staggered",
        simulated: None,
        measured: None,
        emulated: Some("FFTst"),
        source: source!("fft.c"),
        defines: &["-DHN_PAD=2", "-DHN_STAGGERED=1"],
        phase: "transform",
        sizes: ["-n 16384 -i 1", "-n 65536 -i 1", "-n 262144 -i 1"],
        stands: "each thread begins a transpose with its own rows",
    },
    Listed {
        name: "lu",
        simulated: Some("LU"),
        measured: Some("LU-contiguous"),
        emulated: Some("LU"),
        source: source!("lu.c"),
        defines: &["-DHN_GROUPED=1"],
        phase: "factor",
        sizes: ["-n 128 -b 8", "-n 256 -b 16", "-n 512 -b 16"],
        stands: "blocks of a thread lie together",
    },
    Listed {
        name: "ocean",
        simulated: Some("Ocean"),
        measured: Some("Ocean-rowwise"),
        emulated: None,
        source: source!("ascoma/ocean.c"),
        defines: &["-DHN_STRIPS=1"],
        phase: "steps",
        sizes: ["-n 66 -i 1", "-n 130 -i 2", "-n 258 -i 2"],
        stands: "strips of rows, some fields and a multigrid solver",
    },
    Listed {
        name: "water",
        simulated: Some("Water(nsquared)"),
        measured: Some("Water-nsquared"),
        emulated: None,
        source: source!("water.c"),
        defines: &["-DHN_GATHERED=1"],
        phase: "simulate",
        sizes: ["-n 216 -i 1", "-n 512 -i 2", "-n 1331 -i 2"],
        stands: "each thread takes the lock of a molecule once a step, as in the second edition of the suite; less is computed of a pair",
    },
    Listed {
        name: "water_spatial",
        simulated: Some("Water(spatial)"),
        measured: Some("Water-spatial"),
        emulated: Some("waterF"),
        source: source!("water.c"),
        defines: &["-DHN_SPATIAL=1"],
        phase: "simulate",
        sizes: ["-n 216 -i 1", "-s XS", "-s S"],
        stands: "molecules lie in cells; the restructured version of the emulation is another one",
    },
    Listed {
        name: "radix",
        simulated: Some("Radix"),
        measured: None,
        emulated: None,
        source: source!("radix.c"),
        defines: &[],
        phase: "sort",
        sizes: ["-n 65536", "-n 524288", "-n 2097152"],
        stands: "keys go to their places one by one",
    },
    Listed {
        name: "radix_local",
        simulated: None,
        measured: Some("Radix-local"),
        emulated: Some("radixL"),
        source: source!("radix.c"),
        defines: &["-DHN_LOCAL=1"],
        phase: "sort",
        sizes: ["-n 65536", "-n 524288", "-n 2097152"],
        stands: "keys are put in order at home, and copied in runs; it has no lock",
    },
    Listed {
        name: "ssort",
        simulated: None,
        measured: None,
        emulated: Some("ssort"),
        source: source!("ssort.c"),
        defines: &[],
        phase: "sort",
        sizes: ["-n 65536", "-n 524288", "-n 2097152"],
        stands: "sample sort, from its description",
    },
    Listed {
        name: "volrend",
        simulated: Some("Volrend"),
        measured: None,
        emulated: None,
        source: source!("volrend.c"),
        defines: &["-DHN_RECKONED=1"],
        phase: "render",
        sizes: ["-s XS -n 32", "-s XS", "-s S"],
        stands: "queues of tiles with stealing, which is reckoned and not the recording host's; a volume that is computed, not a head",
    },
    Listed {
        name: "volrend_balanced",
        simulated: None,
        measured: Some("Volrend-stealing"),
        emulated: Some("volrend"),
        source: source!("volrend.c"),
        defines: &["-DHN_RECKONED=1", "-DHN_BALANCED=1"],
        phase: "render",
        sizes: ["-s XS -n 32", "-s XS", "-s S"],
        stands: "tiles dealt out so that less is stolen",
    },
    Listed {
        name: "raytrace",
        simulated: Some("Raytrace"),
        measured: Some("Raytrace"),
        emulated: None,
        source: source!("raytrace.c"),
        defines: &["-DHN_RECKONED=1"],
        phase: "render",
        sizes: ["-s XS -n 48", "-s XS", "-s S"],
        stands: "spheres, and one queue of tiles; no lock for numbers of rays",
    },
    Listed {
        name: "barnes",
        simulated: Some("Barnes(rebuild)"),
        measured: Some("Barnes-original"),
        emulated: None,
        source: source!("barnes.c"),
        defines: &["-DHN_LOCKED=1"],
        phase: "steps",
        sizes: ["-n 512 -i 1", "-n 4096 -i 1", "-n 16384 -i 1"],
        stands: "a tree that all build with locks, anew in each step",
    },
    Listed {
        name: "barnes_spatial",
        simulated: Some("Barnes(space)"),
        measured: Some("Barnes-spatial"),
        emulated: None,
        source: source!("barnes.c"),
        defines: &["-DHN_SPATIAL=1"],
        phase: "steps",
        sizes: ["-n 512 -i 1", "-n 4096 -i 1", "-n 16384 -i 1"],
        stands: "each thread builds the tree of its part of space, without locks",
    },
];

impl Listed {
    /// Builds it for the first recording, and records it with so many threads; `size` is 0 to 2 for XS, S and M.
    ///
    /// # Errors
    /// No compiler that can build it, or it fails.
    pub(super) fn recorded(
        &'static self,
        folder: &Path,
        (size, number): (usize, usize),
        threads: u32,
        progress: &mut dyn Progress,
    ) -> Result<Recorded, Failure> {
        let failed = |e: std::io::Error| Failure::work(format!("cannot write {}: {e}", folder.display()));
        let is_built = folder.join(self.name).exists();
        if !is_built && !programs::built(folder, self.name, self.source, self.defines).map_err(failed)? {
            let name = self.name;
            return Err(Failure::work(format!("{name} cannot be built: a C compiler is needed (homenode doctor)")));
        }
        let run = Run { folder, name: self.name, threads, number, phase: None };
        let reader = run.recorded(self.sizes[size].split_whitespace(), progress)?;
        Ok(Recorded { listed: self, reader, path: run.dataset(), results: run.results()? })
    }
}
