//! The C headers that are printed from Rust: the C runtime and the recorder, the agent and whoever plans for it, share one
//! definition.
use std::path::Path;

/// Committed header, the source of its text, and the text.
type Header = (&'static str, &'static str, fn() -> String);

const HEADERS: [Header; 2] = [
    ("crates/hooks/c/core/ring_layout.h", "crates/base/src/ring.rs", homenode_base::ring::c_header),
    ("crates/hooks/c/agent/plan_layout.h", "crates/base/src/agenttable.rs", homenode_base::agenttable::c_header),
];

/// Writes the headers, or with `check` compares the committed ones. Errors if one differs or cannot be read or written.
pub(crate) fn run(check: bool) -> anyhow::Result<()> {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    HEADERS.iter().try_for_each(|(header, source, text)| generate(&root.join(header), source, &text(), check))
}

fn generate(path: &Path, source: &str, text: &str, check: bool) -> anyhow::Result<()> {
    if !check {
        std::fs::write(path, text)?;
        return Ok(());
    }
    let committed = std::fs::read_to_string(path)?;
    anyhow::ensure!(committed == text, "{} differs from {source}: run `cargo xtask gen-header`", path.display());
    Ok(())
}
