//! Machines as TOML; the format is documented in docs/machines.md.
use crate::costs::{CopyCost, Costs, Distances, GlobalMemory};
use crate::limits::{MachineError, NODES_MAX, reject};
use crate::model::{Machine, Unit};
use crate::sections::{Sections, sections};
use crate::shape::Shape;

use serde::{Deserialize, Serialize};

macro_rules! declare {
    ($($(#[$attribute:meta])* $key:ident: $section:ty,)+) => {
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
            $(#[serde(default)] $key: Option<$section>,)+
        }

        impl MachineFile {
            fn sections(&mut self) -> Sections {
                Sections { $($key: self.$key.take(),)+ }
            }

            fn of(machine: &Machine) -> MachineFile {
                let Machine { name, title, sources, unit, shape, cost, sections } = machine.clone();
                MachineFile {
                    name,
                    title,
                    sources,
                    unit: unit.to_string(),
                    word_bytes: shape.word_bytes,
                    page_bytes: shape.page_bytes,
                    cores: shape.cores,
                    remote_access: cost.remote_access,
                    read: Distances::of(&cost.read),
                    write: Some(Distances::of(&cost.write)),
                    write_back: Some(Distances::of(&cost.write_back)),
                    copy: cost.copy,
                    global: cost.global,
                    $($key: sections.$key,)+
                }
            }
        }
    };
}
sections!(declare);

fn yes() -> bool {
    true
}

impl Machine {
    /// Reads and validates a machine file. An error names the key, the value and what is allowed.
    pub fn from_toml(text: &str) -> Result<Machine, MachineError> {
        let mut file: MachineFile = toml::from_str(text).map_err(|e| {
            let line = e.span().map_or(0, |s| text[..s.start.min(text.len())].matches('\n').count() + 1);
            MachineError::Syntax { line, message: e.message().replace('\n', " ") }
        })?;
        let nodes = file.cores.len();
        if nodes == 0 || nodes > NODES_MAX {
            return Err(reject("cores", format!("{nodes} nodes"), format!("1 to {NODES_MAX} nodes")));
        }
        let sections = file.sections();
        let read = file.read.matrix("read", nodes)?;
        let write = file.write.map_or_else(|| Ok(read.clone()), |d| d.matrix("write", nodes))?;
        let write_back = file.write_back.map_or_else(|| Ok(write.clone()), |d| d.matrix("write_back", nodes))?;
        let (remote_access, copy, global) = (file.remote_access, file.copy, file.global);
        let machine = Machine {
            title: if file.title.is_empty() { file.name.clone() } else { file.title },
            name: file.name,
            sources: file.sources,
            unit: if file.unit == "ps" { Unit::Picoseconds } else { Unit::Quantum(file.unit) },
            shape: Shape { cores: file.cores, word_bytes: file.word_bytes, page_bytes: file.page_bytes },
            cost: Costs { read, write, write_back, remote_access, copy, global },
            sections,
        };
        machine.validate()?;
        machine.validate_misses()?;
        Ok(machine)
    }

    /// The machine as a file that [`Machine::from_toml`] reads back to an equal one.
    pub fn to_toml(&self) -> String {
        toml::to_string(&MachineFile::of(self)).expect("strings, integers and tables are TOML")
    }
}
