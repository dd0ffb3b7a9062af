//! `homenode doctor`: everything this machine can and cannot do, why, and what to do about it.
use homenode_capture::leftovers::rings_in_memory;
use homenode_hooks::Mode;
use homenode_hooks::toolchain::Toolchain;
use homenode_host::probe::{Check, State, ThisHost, checks};
use homenode_machine::Topology;
use homenode_sampling::leftovers::clean_up;
use homenode_table::{Column, Layout, Table};
use schemars::JsonSchema;
use serde::Serialize;
use std::path::Path;

/// Identifier of these documents, described by `docs/schema/doctor.json`.
const SCHEMA: &str = "https://github.com/homenode/homenode/schema/doctor-1";

/// What this machine can do. Described by `docs/schema/doctor.json`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct DoctorDoc {
    /// Identifier of this kind of document.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: &'static str,
    /// Checks in the order in which a user meets the things.
    pub checks: Vec<DoctorLine>,
}

/// One check.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct DoctorLine {
    /// What this is about.
    pub what: String,
    /// `yes`, `limited` or `no`.
    #[schemars(extend("enum" = [State::Yes, State::Limited, State::No].map(State::name)))]
    pub state: &'static str,
    /// What was found.
    pub why: String,
    /// What to do; empty if nothing needs doing or nothing can be done.
    pub todo: String,
}

/// Examines this machine. Nothing is changed by it, except that what a killed recording left behind in the kernel's settings
/// is put back; and nothing that is missing makes it fail: that is what it says.
pub fn doctor() -> DoctorDoc {
    let topology = homenode_command::machine::topology();
    let found = checks(&ThisHost::default(), topology.as_ref().unwrap_or(&Topology::default()));
    let mut lines: Vec<DoctorLine> = Vec::new();
    if let Err(e) = &topology {
        lines.push(DoctorLine {
            what: "sysfs and procfs".into(),
            state: State::No.name(),
            why: e.message.clone(),
            todo: "mount /sys and /proc".into(),
        });
    }
    lines.extend(found.into_iter().chain([clean_up(Path::new("/")), rings_in_memory()]).map(line));
    lines.extend([compiler(Mode::Cc), compiler(Mode::Cxx)]);
    DoctorDoc { schema: SCHEMA, checks: lines }
}

fn line(c: Check) -> DoctorLine {
    DoctorLine { what: c.what.to_owned(), state: c.state.name(), why: c.why, todo: c.todo }
}

/// The compiler behind `homenode cc` or `homenode c++`.
fn compiler(mode: Mode) -> DoctorLine {
    let what = if mode == Mode::Cc { "compiling C for --backend hooks" } else { "compiling C++ for --backend hooks" };
    let (state, why, todo) = match Toolchain::detect(mode, None) {
        Ok(t) => (State::Yes, format!("{} {}", t.program.to_string_lossy(), t.major), String::new()),
        Err(e) => (State::No, e.to_string(), "install gcc or clang".to_owned()),
    };
    DoctorLine { what: what.to_owned(), state: state.name(), why, todo }
}

impl DoctorDoc {
    /// The JSON document on one line.
    pub fn to_json(&self) -> String {
        homenode_command::json_line(self)
    }
    /// One check a line, what to do below it.
    pub fn to_text(&self) -> String {
        let columns = [Column::words("", 0), Column::words("", 0).wide(7), Column::words("", 0)];
        let mut table = Table::new(columns.into());
        for c in &self.checks {
            table.push_words([&c.what, c.state, &c.why]);
            if !c.todo.is_empty() {
                table.push_words(["", "", &format!("do: {}", c.todo)]);
            }
        }
        table.text(&Layout { head: false, ..Layout::default() })
    }
}
