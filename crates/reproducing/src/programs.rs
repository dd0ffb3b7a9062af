//! Our workloads, built with the hooks and recorded now, unless a run that was killed has done so.
use crate::kept::{Card, Results};
use homenode_capture::{DirStore, RecordOptions};
use homenode_command::{Failure, Progress, Recording};
use homenode_hooks::{Mode, compile, install};
use homenode_trace::dataset::DatasetReader;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;

/// Headers of the workloads.
const HEADERS: [(&str, &str); 8] = [
    ("hn_workload.h", include_str!("../../../workloads/hn_workload.h")),
    ("barnes_locked.h", include_str!("../../../workloads/barnes_locked.h")),
    ("barnes_spatial.h", include_str!("../../../workloads/barnes_spatial.h")),
    ("reckon.h", include_str!("../../../workloads/reckon.h")),
    ("water_cells.h", include_str!("../../../workloads/water_cells.h")),
    ("thesis.h", include_str!("../../../workloads/thesis/thesis.h")),
    ("presto.h", include_str!("../../../workloads/thesis/presto.h")),
    ("markatos.h", include_str!("../../../workloads/markatos/markatos.h")),
];

/// A run of a built workload to be recorded.
#[derive(Clone, Copy)]
pub struct Run<'a> {
    /// Where programs and recordings are.
    pub folder: &'a Path,
    /// Name of the program.
    pub name: &'a str,
    /// Threads.
    pub threads: u32,
    /// Tells recordings of a program apart.
    pub number: usize,
    /// The phase to record; everything if none.
    pub phase: Option<&'a str>,
}

impl Run<'_> {
    /// Runs the program with these options, recorded with the hooks; or takes up the recording of a run that was killed.
    pub fn recorded<'w>(
        &self,
        words: impl IntoIterator<Item = &'w str>,
        progress: &mut dyn Progress,
    ) -> Result<DatasetReader, Failure> {
        let (out, program) = (self.dataset(), self.folder.join(self.name));
        let words: Vec<String> = words.into_iter().map(str::to_owned).collect();
        let failed = |e: std::io::Error| Failure::work(format!("cannot keep {}: {e}", out.display()));
        let other = format!("{} threads, recording {}, phase {:?}", self.threads, self.number, self.phase);
        let card = Card::new(&out, &program, &words, &other).map_err(failed)?;
        match card.fits() {
            Ok(true) => return Ok(DatasetReader::open(Arc::new(DirStore::open(&out)?))?),
            Ok(false) => {}
            Err(line) => eprintln!("homenode: note: {line}"),
        }
        card.remove();
        let mut command: Vec<OsString> = vec![program.into()];
        command.extend(words.into_iter().map(OsString::from));
        command.extend(["-p".into(), self.threads.to_string().into()]);
        let options = RecordOptions {
            command,
            out: out.clone(),
            backend: "hooks".into(),
            roi: self.phase.map(str::to_owned),
            force: true,
            ..RecordOptions::default()
        };
        let done = homenode_capture::record(&options, &mut Recording(progress))?;
        if done.write_failed || done.exit_status != Some(0) {
            let status = done.exit_status.map_or_else(|| "unknown".to_owned(), |s| s.to_string());
            return Err(Failure::work(format!(
                "{} failed while it was recorded (status {status}) {}",
                self.name, done.ended
            )));
        }
        card.write().map_err(failed)?;
        Ok(DatasetReader::open(Arc::new(DirStore::open(&out)?))?)
    }

    /// Bytes on disk of what was recorded.
    pub fn bytes(&self) -> Result<u64, Failure> {
        let store = DirStore::open(&self.dataset())?;
        store.bytes().map_err(|e| Failure::work(format!("cannot read {}: {e}", self.folder.display())))
    }

    /// Results of what was recorded.
    ///
    /// # Errors
    /// They cannot be kept.
    pub fn results(&self) -> Result<Results, Failure> {
        let dataset = self.dataset();
        Results::of(&dataset).map_err(|e| Failure::work(format!("cannot keep results of {}: {e}", dataset.display())))
    }

    /// Folder of the recording.
    pub fn dataset(&self) -> PathBuf {
        self.folder.join(format!("{}.{}.{}.hnt", self.name, self.threads, self.number))
    }
}

/// Writes the source of a workload below `folder` and builds it; false without a compiler that can.
///
/// # Errors
/// The folder cannot be written.
pub fn built(folder: &Path, name: &str, source: &str, defines: &[&str]) -> std::io::Result<bool> {
    HEADERS.iter().try_for_each(|(file, text)| std::fs::write(folder.join(file), text))?;
    std::fs::write(folder.join(format!("{name}.c")), source)?;
    Ok(compiled(folder, name, defines))
}

fn compiled(folder: &Path, name: &str, defines: &[&str]) -> bool {
    let mut args: Vec<OsString> = ["-O2", "-g", "-std=gnu11", "-pthread", "-o"].map(OsString::from).to_vec();
    args.extend([folder.join(name).into(), folder.join(format!("{name}.c")).into(), "-lm".into()]);
    args.extend(defines.iter().map(OsString::from));
    let planned = install::install().and_then(|archive| compile::plan(Mode::Cc, &args, &archive));
    let Ok(plan) = planned else { return false };
    let run = plan.command().stdout(Stdio::null()).stderr(Stdio::null()).status();
    run.is_ok_and(|status| status.success())
}
