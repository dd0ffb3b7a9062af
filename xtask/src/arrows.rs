//! A crate depends only on crates below it.
use anyhow::Context;
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

/// Crate and what it may depend on. A new crate needs a line here, which is the moment to think about its place.
const ARROWS: &[(&str, &[&str])] = &[
    ("base", &[]),
    ("table", &[]),
    ("trace", &["base"]),
    ("thin", &["base", "trace"]),
    ("synthetic", &["base", "trace"]),
    ("objects", &["base", "trace"]),
    ("openmp", &["trace"]),
    ("machine", &["base"]),
    ("threads", &["base", "trace", "machine"]),
    ("placement", &["base", "trace", "machine"]),
    ("coherence", &["base", "machine", "placement"]),
    ("analysis", &["base", "trace", "openmp", "machine"]),
    ("sim", &["base", "trace", "threads", "objects", "openmp", "machine", "placement", "analysis"]),
    ("realign", &["base", "trace", "threads", "analysis", "sim"]),
    ("timed", &["base", "trace", "machine", "placement", "sim"]),
    ("study", &["base", "table", "trace", "synthetic", "machine", "placement", "coherence", "analysis", "sim"]),
    ("report", &["base", "table", "trace", "machine", "placement", "analysis", "sim"]),
    ("sys", &["base"]),
    ("hlrc", &["base"]),
    ("cluster", &["base", "trace", "machine", "threads", "timed", "hlrc"]),
    ("svm", &["base", "hlrc", "sys"]),
    ("capi", &["svm"]),
    // Alone, so that whoever uses it needs nothing else of the workspace.
    ("parallel", &[]),
    ("hooks", &["base", "sys"]),
    ("host", &["base", "machine", "sys"]),
    ("sampling", &["base", "trace", "sys", "host"]),
    ("symbols", &["trace", "openmp", "sys"]),
    ("capture", &["base", "trace", "sys", "hooks", "host", "sampling", "symbols"]),
    ("import", &["base", "table", "trace", "sys", "sampling", "symbols", "capture"]),
    ("migrate", &["base", "machine", "placement", "sys"]),
    ("command", &["base", "trace", "machine", "timed", "sys", "hooks", "host", "sampling", "symbols", "capture"]),
    ("svmrun", &["base", "table", "placement", "sys", "hlrc", "svm", "hooks", "host", "symbols", "command"]),
    ("judging", &["table", "study", "sys", "command"]),
    ("export", &["base", "table", "trace", "machine", "analysis", "sim", "realign", "sys", "command"]),
    ("timeline", &["base", "trace", "machine", "analysis", "sim", "report", "sys", "command"]),
    (
        "sweep",
        &[
            "base",
            "table",
            "trace",
            "machine",
            "placement",
            "coherence",
            "timed",
            "hlrc",
            "cluster",
            "sim",
            "realign",
            "study",
            "sys",
            "capture",
            "command",
        ],
    ),
    ("reproducing", &["table", "trace", "hooks", "capture", "command", "judging"]),
    (
        "thesis",
        &[
            "base",
            "table",
            "trace",
            "synthetic",
            "machine",
            "placement",
            "sim",
            "study",
            "sweep",
            "command",
            "judging",
            "reproducing",
        ],
    ),
    (
        "papers",
        &[
            "base",
            "table",
            "trace",
            "thin",
            "synthetic",
            "machine",
            "placement",
            "coherence",
            "sim",
            "realign",
            "timed",
            "hlrc",
            "cluster",
            "study",
            "command",
            "judging",
            "reproducing",
            "thesis",
        ],
    ),
    ("planner", &["base", "trace", "objects", "openmp", "machine", "placement", "analysis", "sim", "report"]),
    ("place", &["base", "trace", "machine", "placement", "planner", "report", "symbols", "command"]),
    (
        "live",
        &[
            "base",
            "table",
            "trace",
            "machine",
            "placement",
            "report",
            "sys",
            "hooks",
            "host",
            "sampling",
            "symbols",
            "capture",
            "migrate",
            "command",
            "place",
        ],
    ),
    (
        "toolkit",
        &[
            "base",
            "table",
            "trace",
            "openmp",
            "machine",
            "placement",
            "coherence",
            "sim",
            "realign",
            "timed",
            "cluster",
            "study",
            "report",
            "sys",
            "host",
            "sampling",
            "symbols",
            "capture",
            "import",
            "hooks",
            "command",
            "judging",
            "papers",
            "hlrc",
            "svm",
            "svmrun",
        ],
    ),
    ("cli", &["trace", "command", "export", "timeline", "papers", "sweep", "place", "live", "svmrun", "toolkit"]),
    (
        "python",
        &[
            "base",
            "table",
            "trace",
            "machine",
            "placement",
            "report",
            "command",
            "export",
            "place",
            "papers",
            "sweep",
            "toolkit",
            "cli",
        ],
    ),
];

pub(crate) fn check() -> anyhow::Result<Vec<String>> {
    Ok(shipped()?.iter().flat_map(|(name, uses)| problems(name, uses)).collect())
}

/// The crates that ship and what each depends on; tests may look down from anywhere.
pub(crate) fn shipped() -> anyhow::Result<BTreeMap<String, BTreeSet<String>>> {
    let out = Command::new(env!("CARGO"))
        .current_dir(crate::tree::root())
        .args(["metadata", "--no-deps", "--format-version", "1", "--offline"])
        .output()
        .context("cargo metadata")?;
    let meta: serde_json::Value = serde_json::from_slice(&out.stdout).context("cargo metadata")?;
    let packages = meta["packages"].as_array().context("cargo metadata names no packages")?;
    let ours = |name: &serde_json::Value| Some(name.as_str()?.strip_prefix("homenode-")?.to_owned());
    let uses = |package: &serde_json::Value| {
        let all = package["dependencies"].as_array().cloned().unwrap_or_default();
        all.iter().filter(|d| d["kind"].as_str() != Some("dev")).filter_map(|d| ours(&d["name"])).collect()
    };
    Ok(packages.iter().filter_map(|package| Some((ours(&package["name"])?, uses(package)))).collect())
}

fn problems(name: &str, uses: &BTreeSet<String>) -> Vec<String> {
    let Some((_, allowed)) = ARROWS.iter().find(|(n, _)| *n == name) else {
        return vec![format!("crate {name} has no line in xtask/src/arrows.rs")];
    };
    let forbidden = uses.iter().filter(|used| !allowed.contains(&used.as_str()));
    forbidden.map(|used| format!("arrow: {name} must not depend on {used}")).collect()
}
