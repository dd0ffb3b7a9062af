//! Compiles the C runtime into an archive that the library embeds. It must not be linked into any Rust program of ours
//! (it stands in front of malloc), so `cc` prints no link instructions.
use std::path::PathBuf;

const SOURCES: &[&str] = &[
    "alloc", "annotate", "atomic", "barrier", "c11", "control", "entry", "event", "exit", "fork", "init", "io",
    "memstr", "module", "order", "phase", "real", "ring", "signal", "slow", "spin", "sync", "thread",
];

fn main() {
    let mut build = cc::Build::new();
    build.cargo_metadata(false).pic(false).opt_level(2).debug(false).warnings(true).extra_warnings(true);
    build.define("_GNU_SOURCE", None);
    for flag in [
        "-std=gnu11",
        "-fPIE",
        "-ffreestanding",
        "-fno-builtin",
        "-fno-stack-protector",
        "-fno-sanitize=all",
        "-fvisibility=hidden",
        "-ftls-model=local-exec",
        "-fomit-frame-pointer",
        "-fasynchronous-unwind-tables",
        "-U_FORTIFY_SOURCE",
    ] {
        build.flag(flag);
    }
    // Loops of ours must not become calls of the memcpy and strlen that they implement.
    for flag in ["-fno-tree-loop-distribute-patterns", "-fcf-protection=none", "-mcx16", "-mno-outline-atomics"] {
        build.flag_if_supported(flag);
    }
    for source in SOURCES {
        let path = PathBuf::from("c").join(source).with_extension("c");
        println!("cargo:rerun-if-changed={}", path.display());
        build.file(path);
    }
    for header in ["c/os.h", "c/real.h", "c/ring_layout.h", "c/runtime.h"] {
        println!("cargo:rerun-if-changed={header}");
    }
    build.compile("homenode_hooks");
}
