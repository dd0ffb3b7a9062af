//! What recording costs: `cargo run --release -p homenode-capture --example record_speed -- PROGRAM ARGS...` records a program
//! built with `homenode cc` and prints how many references the recorder took a second of its own processor time.
use homenode_capture::{RecordOptions, record};
use homenode_sys::clock::cpu_seconds;
use std::ffi::OsString;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let command: Vec<OsString> = std::env::args_os().skip(1).collect();
    let out = std::env::temp_dir().join(format!("record-speed-{}.hnt", std::process::id()));
    let options = RecordOptions {
        command,
        out: out.clone(),
        backend: "auto".into(),
        limit_refs: None,
        roi: None,
        force: false,
        count_only: false,
        ..Default::default()
    };
    let before = cpu_seconds();
    let done = record(&options, &mut ())?;
    let cpu = cpu_seconds() - before;
    std::fs::remove_dir_all(&out)?;
    let (refs, bytes) = (done.refs as f64, done.bytes as f64);
    println!(
        "{:.1} M references, {:.3} B each; {:.3} s run, {:.3} s to finish; recorder {cpu:.3} s of processor, {:.0} M/s",
        refs / 1e6,
        bytes / refs,
        done.run_seconds,
        done.finish_seconds,
        refs / cpu / 1e6
    );
    Ok(())
}
