//! Compiles the C core (`c/core`) twice: with `c/tsan` into an archive that the library embeds, and with `c/agent` into the
//! shared library that is preloaded; and `as`, which stands before the assembler. Neither of the first two must be linked into any Rust program of ours (they stand in front of malloc), so
//! `cc` prints no link instructions.
use std::path::PathBuf;
use std::process::Command;

const FLAGS: &[&str] = &[
    "-std=gnu11",
    "-ffreestanding",
    "-fno-builtin",
    "-fno-stack-protector",
    "-fno-sanitize=all",
    "-fvisibility=hidden",
    "-fomit-frame-pointer",
    "-fasynchronous-unwind-tables",
    "-U_FORTIFY_SOURCE",
];

/// Not every compiler has these. Loops of ours must not become calls of the memcpy and strlen that they implement.
const FLAGS_IF_KNOWN: &[&str] =
    &["-fno-tree-loop-distribute-patterns", "-fcf-protection=none", "-mcx16", "-mno-outline-atomics"];

fn main() {
    let [core, tsan, agent] = ["c/core", "c/tsan", "c/agent"].map(files);
    let archive = [&core[..], &tsan].concat();
    configured(&archive, "c/tsan", &["-fPIE", "-ftls-model=local-exec"]).compile("homenode_hooks");
    link(&[&core[..], &agent].concat());
    assembler();
    ["libhomenode_hooks.a", "libhomenode_agent.so", "as"].iter().for_each(|name| compress(name));
    for watched in ["c", "as", "link/agent.exports"] {
        println!("cargo:rerun-if-changed={watched}");
    }
}

/// Writes NAME.zst beside a product, which the library embeds in its place.
fn compress(name: &str) {
    let product = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets it for build scripts")).join(name);
    let bytes = std::fs::read(&product).unwrap_or_else(|e| panic!("{} was not built: {e}", product.display()));
    let small = zstd::encode_all(&bytes[..], 19).expect("memory is written to");
    std::fs::write(product.with_file_name(format!("{name}.zst")), small).expect("the output folder can be written to");
}

/// All C files of a folder, in the order of their names.
fn files(folder: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("the sources are part of the crate");
    let mut files: Vec<PathBuf> =
        entries.flatten().map(|e| e.path()).filter(|p| p.extension().is_some_and(|e| e == "c")).collect();
    files.sort();
    files
}

fn configured(sources: &[PathBuf], product: &str, more: &[&str]) -> cc::Build {
    let mut build = cc::Build::new();
    build
        .target(&recorded())
        .cargo_metadata(false)
        .pic(false)
        .opt_level(2)
        .debug(false)
        .warnings(true)
        .extra_warnings(true);
    build.define("_GNU_SOURCE", None).include("c/core").include(product);
    for flag in FLAGS.iter().chain(more) {
        build.flag(flag);
    }
    for flag in FLAGS_IF_KNOWN {
        build.flag_if_supported(flag);
    }
    build.files(sources);
    build
}

/// Target of what runs inside recorded programs, which are of the GNU C library also where the command is a static one of musl's.
fn recorded() -> String {
    std::env::var("TARGET").expect("cargo sets it for build scripts").replace("-musl", "-gnu")
}

/// The program that compilers execute in the assembler's place. It is a file of its own, which starts fast: every compilation executes it.
fn assembler() {
    let variable = |name: &str| std::env::var_os(name).expect("cargo sets it for build scripts");
    let mut command = Command::new(variable("RUSTC"));
    command.args(["--edition=2024", "--crate-name=homenode_as", "-Copt-level=2", "-Cpanic=abort", "-Cstrip=symbols"]);
    command.arg("--target").arg(variable("TARGET")).arg("-o").arg(PathBuf::from(variable("OUT_DIR")).join("as"));
    match command.arg("as/main.rs").status() {
        Ok(status) if status.success() => {}
        Ok(status) => panic!("compiling as/main.rs failed ({status}): {command:?}"),
        Err(e) => panic!("no Rust compiler for as/main.rs: {command:?}: {e}"),
    }
}

/// The unwinder is linked in, and nothing but the entry points is visible.
fn link(sources: &[PathBuf]) {
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets it for build scripts"));
    let mut build = configured(sources, "c/agent", &["-fPIC", "-ftls-model=initial-exec"]);
    build.out_dir(out.join("agent"));
    let objects = build.compile_intermediates();
    let mut command: Command = build.get_compiler().to_command();
    command.args(["-shared", "-static-libgcc", "-Wl,-z,defs", "-Wl,-z,now", "-Wl,-soname,libhomenode_agent.so"]);
    command.args(["-Wl,--version-script=link/agent.exports", "-Wl,--build-id", "-Wl,-s", "-o"]);
    command.arg(out.join("libhomenode_agent.so")).args(objects).args(["-lpthread", "-ldl"]);
    match command.status() {
        Ok(status) if status.success() => {}
        Ok(status) => panic!("linking libhomenode_agent.so failed ({status}): {command:?}"),
        Err(e) => panic!("no C compiler to link libhomenode_agent.so: {command:?}: {e}; install gcc or clang"),
    }
}
