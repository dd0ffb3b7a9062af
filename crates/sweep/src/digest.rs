//! What identifies a dataset and a study: the same digest, the same answers.
use crate::spec::Study;
use homenode_capture::DirStore;
use homenode_command::Failure;
use homenode_command::instructions::Instructions;
use homenode_trace::DatasetReader;
use homenode_trace::store::Store;
use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::path::Path;

/// Raised whenever the same study would give another table.
const VERSION: u32 = 1;
const PIECE_BYTES: usize = 1 << 20;

/// Digest of all files of a dataset.
pub(crate) fn dataset(store: &DirStore, path: &Path) -> Result<String, Failure> {
    let failed = |e: std::io::Error| Failure::input(format!("cannot read {}: {e}", path.display()));
    let mut hash = Sha256::new();
    let mut piece = vec![0; PIECE_BYTES];
    for name in store.names().map_err(failed)? {
        let file = store.open(&name).map_err(failed)?;
        hash.update(name.as_bytes());
        hash.update([0]);
        hash.update(file.len().map_err(failed)?.to_le_bytes());
        let mut offset = 0;
        loop {
            let n = file.read_at(offset, &mut piece).map_err(failed)?;
            hash.update(&piece[..n]);
            offset += n as u64;
            if n < piece.len() {
                break;
            }
        }
    }
    Ok(hex(&hash.finalize()))
}

/// Digest of the files that estimates of instructions between a trace's references rest on.
pub(crate) fn programs(reader: &DatasetReader) -> Result<String, Failure> {
    let mut hash = Sha256::new();
    for path in Instructions::new(reader).files() {
        let content = std::fs::read(&path);
        let content = content.map_err(|e| Failure::input(format!("cannot read {}: {e}", path.display())))?;
        hash.update(path.as_os_str().as_encoded_bytes());
        hash.update([0]);
        hash.update(Sha256::digest(content));
    }
    Ok(hex(&hash.finalize()))
}

/// Digest of everything that the table depends on. `traces`: name and digest of each.
pub(crate) fn study(study: &Study, traces: &[(String, String)]) -> String {
    let mut text = format!("homenode sweep {VERSION}\n{traces:?}\n{:?}\n", study.blocks);
    for set in &study.machines {
        let base = match &set.base {
            crate::spec::Base::Machine(m) => m.to_toml(),
            crate::spec::Base::Family(f) => format!("{f:?}"),
        };
        let _ = writeln!(text, "{base}\n{:?}", set.axes);
    }
    let policies: Vec<String> = study.policies.iter().map(ToString::to_string).collect();
    let protocols: Vec<String> = study.protocols.iter().map(ToString::to_string).collect();
    if !protocols.is_empty() {
        let _ = writeln!(text, "protocols {protocols:?} {}", study.counters);
    }
    for set in &study.clusters {
        let machines: Vec<String> = set.machines.iter().map(homenode_machine::Machine::to_toml).collect();
        let steps: Vec<&str> = set.steps.iter().map(|s| s.name).collect();
        let words: Vec<String> = set.what_ifs.iter().map(ToString::to_string).collect();
        let axes: Vec<_> = set.axes.iter().map(|(p, values)| (p.name, values)).collect();
        let _ = writeln!(text, "cluster {machines:?} {:?} {steps:?} {words:?} {axes:?} {:?}", set.shapes, set.vary);
    }
    if !study.realign.is_empty() {
        let names: Vec<String> = study.realign.iter().map(ToString::to_string).collect();
        let _ = writeln!(text, "realign {names:?}");
    }
    let wants = [study.best_static, study.without_replication, study.with_replication];
    if !study.analyses.is_empty() {
        let names: Vec<&str> = study.analyses.iter().map(|s| s.name).collect();
        let _ = writeln!(text, "{names:?}");
    }
    let _ = write!(
        text,
        "{policies:?}\n{wants:?}\n{:?}\n{:?}\n{:?}\n{}\n{:?}",
        study.start, study.seeds, study.map, study.charge_spins, study.disturbances
    );
    hex(&Sha256::digest(text.as_bytes()))
}

/// Digest of some bytes.
pub(crate) fn bytes(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, b| {
        let _ = write!(text, "{b:02x}");
        text
    })
}
