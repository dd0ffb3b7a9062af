//! Builds the library that is preloaded, crate `capi`, with a cargo of its own: no dependency in Cargo.toml gives the file of a shared
//! library. It has a target folder of its own, because the outer cargo holds the lock of the other one.
use std::path::{Path, PathBuf};
use std::process::Command;

/// Crates that the library is made of.
const SOURCES: &[&str] = &["base", "sys", "hlrc", "svm", "capi"];
/// Variables of the outer cargo that say how this crate is built, and not how that library is.
const UNSET: &[&str] = &[
    "CARGO_TARGET_DIR",
    "CARGO_BUILD_TARGET_DIR",
    "CARGO_BUILD_TARGET",
    "CARGO_ENCODED_RUSTFLAGS",
    "RUSTFLAGS",
    "RUSTC_WRAPPER",
    "RUSTC_WORKSPACE_WRAPPER",
    "RUSTC",
    "RUSTDOC",
    "CARGO_MAKEFLAGS",
    "MAKEFLAGS",
];

fn main() {
    let out = PathBuf::from(variable("OUT_DIR"));
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for name in SOURCES {
        for part in ["Cargo.toml", "src"] {
            println!("cargo:rerun-if-changed={}", workspace.join("crates").join(name).join(part).display());
        }
    }
    for part in ["Cargo.toml", "Cargo.lock"] {
        println!("cargo:rerun-if-changed={}", workspace.join(part).display());
    }
    println!("cargo:rerun-if-env-changed=CARGO_NET_OFFLINE");
    let folder = out.join("capi");
    build(&workspace, &folder);
    let made = folder.join("release/libhomenode_svm_preload.so");
    let library = std::fs::read(&made).unwrap_or_else(|e| panic!("{} was not built: {e}", made.display()));
    let small = zstd::encode_all(&library[..], 19).expect("memory is written to");
    std::fs::write(out.join("libhomenode_svm.so.zst"), small).expect("the output folder can be written to");
}

fn build(workspace: &Path, folder: &Path) {
    let mut command = Command::new(variable("CARGO"));
    command.current_dir(workspace).args(["build", "--release", "--locked", "-p", "homenode-capi"]);
    command.arg("--target-dir").arg(folder);
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        // What cargo tells build scripts about their package would be told to those of other packages.
        let is_of_package = ["CARGO_PKG_", "CARGO_FEATURE_", "CARGO_CFG_", "CARGO_MANIFEST_", "DEP_"];
        if UNSET.contains(&&*text) || is_of_package.iter().any(|start| text.starts_with(start)) {
            command.env_remove(&name);
        }
    }
    // It is embedded in a program: names and lines of its own are nobody's to read.
    command.envs([("CARGO_PROFILE_RELEASE_STRIP", "symbols"), ("CARGO_PROFILE_RELEASE_DEBUG", "0")]);
    match command.status() {
        Ok(status) if status.success() => {}
        Ok(status) => panic!("building the library to preload failed ({status}): {command:?}"),
        Err(e) => panic!("cargo cannot be run to build the library to preload: {command:?}: {e}"),
    }
}

fn variable(name: &str) -> std::ffi::OsString {
    std::env::var_os(name).unwrap_or_else(|| panic!("cargo sets {name} for build scripts"))
}
