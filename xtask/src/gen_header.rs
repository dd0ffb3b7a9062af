//! `crates/hooks/c/ring_layout.h` from `homenode_base::ring`: the C runtime and the recorder share one definition.
use std::path::Path;

/// Where the header is committed.
const HEADER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/hooks/c/ring_layout.h");

/// Writes the header, or with `check` compares the committed one. Errors if it differs or cannot be read or written.
pub(crate) fn run(check: bool) -> anyhow::Result<()> {
    generate(Path::new(HEADER), check)
}

fn generate(path: &Path, check: bool) -> anyhow::Result<()> {
    let text = homenode_base::ring::c_header();
    if !check {
        std::fs::write(path, text)?;
        return Ok(());
    }
    let committed = std::fs::read_to_string(path)?;
    anyhow::ensure!(
        committed == text,
        "{} differs from crates/base/src/ring.rs: run `cargo xtask gen-header`",
        path.display()
    );
    Ok(())
}
