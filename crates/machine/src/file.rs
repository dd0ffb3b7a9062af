//! Machines as TOML; the format is documented in docs/machines.md.
use crate::measured::Measured;
use crate::model::{Caches, CopyCost, GlobalMemory, Machine, Matrix, Unit};
use crate::validate::{MachineError, NODES_MAX, reject};
use homenode_base::Cost;
use serde::{Deserialize, Serialize};

/// The file as it is written.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct MachineFile {
    name: String,
    #[serde(default)]
    title: String,
    #[serde(default)]
    sources: Vec<String>,
    unit: String,
    word_bytes: u32,
    page_bytes: u64,
    cores: Vec<u16>,
    #[serde(default = "yes")]
    remote_access: bool,
    read: Distances,
    #[serde(default)]
    write: Option<Distances>,
    #[serde(default)]
    write_back: Option<Distances>,
    copy: CopyCost,
    #[serde(default)]
    global: Option<GlobalMemory>,
    #[serde(default)]
    caches: Option<Caches>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    measured: Option<Measured>,
}

fn yes() -> bool {
    true
}

/// Either `near` and `far`, or a matrix.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Distances {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    near: Option<Cost>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    far: Option<Cost>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    matrix: Option<Vec<Vec<Cost>>>,
}

impl Distances {
    fn of(matrix: &Matrix) -> Distances {
        match matrix.as_uniform() {
            Some((near, far)) => Distances { near: Some(near), far: Some(far), matrix: None },
            None => Distances { near: None, far: None, matrix: Some(matrix.rows()) },
        }
    }

    fn matrix(self, key: &str, nodes: usize) -> Result<Matrix, MachineError> {
        match (self.near, self.far, self.matrix) {
            (Some(near), Some(far), None) => Ok(Matrix::uniform(nodes, near, far)),
            (None, None, Some(rows)) => Matrix::from_rows(&rows).ok_or_else(|| {
                let lengths: Vec<String> = rows.iter().map(|r| r.len().to_string()).collect();
                let value = format!("{} rows of {}", rows.len(), lengths.join(", "));
                reject(&format!("{key}.matrix"), value, format!("{nodes} rows of {nodes}, one per node"))
            }),
            _ => Err(reject(key, "a table with other keys", "near and far, or matrix alone")),
        }
    }
}

impl Machine {
    /// Reads and validates a machine file. An error names the key, the value and what is allowed.
    pub fn from_toml(text: &str) -> Result<Machine, MachineError> {
        Machine::from_toml_measured(text).map(|(machine, _)| machine)
    }

    /// Reads a machine file with the raw measurements in it, if there are some. Errors as [`Machine::from_toml`].
    pub fn from_toml_measured(text: &str) -> Result<(Machine, Option<Measured>), MachineError> {
        let file: MachineFile = toml::from_str(text).map_err(|e| {
            let line = e.span().map_or(0, |s| text[..s.start.min(text.len())].matches('\n').count() + 1);
            MachineError::Syntax { line, message: e.message().replace('\n', " ") }
        })?;
        let nodes = file.cores.len();
        if nodes == 0 || nodes > NODES_MAX {
            return Err(reject("cores", format!("{nodes} nodes"), format!("1 to {NODES_MAX} nodes")));
        }
        let read = file.read.matrix("read", nodes)?;
        let write = file.write.map_or_else(|| Ok(read.clone()), |d| d.matrix("write", nodes))?;
        let write_back = file.write_back.map_or_else(|| Ok(write.clone()), |d| d.matrix("write_back", nodes))?;
        file.measured.as_ref().map_or(Ok(()), Measured::validate)?;
        let machine = Machine {
            title: if file.title.is_empty() { file.name.clone() } else { file.title },
            name: file.name,
            sources: file.sources,
            unit: if file.unit == "ps" { Unit::Picoseconds } else { Unit::Quantum(file.unit) },
            cores: file.cores,
            word_bytes: file.word_bytes,
            page_bytes: file.page_bytes,
            read,
            write,
            write_back,
            remote_access: file.remote_access,
            copy: file.copy,
            global: file.global,
            caches: file.caches,
        };
        machine.validate()?;
        Ok((machine, file.measured))
    }

    /// The machine as a file that [`Machine::from_toml`] reads back to an equal one.
    pub fn to_toml(&self) -> String {
        self.to_toml_measured(None)
    }

    /// The same with raw measurements beside the costs.
    pub fn to_toml_measured(&self, measured: Option<&Measured>) -> String {
        let file = MachineFile {
            name: self.name.clone(),
            title: self.title.clone(),
            sources: self.sources.clone(),
            unit: self.unit.to_string(),
            word_bytes: self.word_bytes,
            page_bytes: self.page_bytes,
            cores: self.cores.clone(),
            remote_access: self.remote_access,
            read: Distances::of(&self.read),
            write: Some(Distances::of(&self.write)),
            write_back: Some(Distances::of(&self.write_back)),
            copy: self.copy,
            global: self.global,
            caches: self.caches.clone(),
            measured: measured.cloned(),
        };
        toml::to_string(&file).expect("strings, integers and tables are TOML")
    }
}
