//! Memory objects, modules and libraries.
mod support;

use homenode_base::ring::*;
use support::build::{COMPILERS, compile, program, source};
use support::slots::Item;
use support::{Recording, Ring};

#[test]
fn every_allocation_and_its_stack() {
    for compiler in COMPILERS {
        let r = Recording::new(MODE_RECORD);
        let allocs = program(r.dir.path(), compiler, "allocs.c", &["-D_GNU_SOURCE"]);
        let (output, rings) = r.run(&allocs, &[]);
        assert!(output.status.success(), "{compiler} {output:?}");
        let expected: Vec<String> = String::from_utf8_lossy(&output.stdout).trim().lines().map(String::from).collect();
        let found: Vec<String> = ["allocs", "maps"].iter().flat_map(|p| rings[0].phase(p)).collect();
        let found: Vec<&String> =
            found.iter().filter(|l| !l.starts_with(['r', 'w']) || l.starts_with("realloc")).collect();
        let missing: Vec<_> = expected.iter().filter(|l| !found.contains(l)).collect();
        assert!(missing.is_empty(), "{compiler}: {missing:?} not in {found:?}");
        check_stacks(&rings[0]);
    }
}

/// The last two allocations are made 4 and 101 calls below main.
fn check_stacks(ring: &Ring) {
    let stacks: Vec<Vec<u64>> = ring
        .events(EVENT_ALLOC)
        .into_iter()
        .filter_map(|e| match e {
            Item::Event { w1: 12345, payload, .. } => {
                let depth = payload[0][1] as usize;
                Some(payload[1..].iter().flatten().copied().take(depth).collect())
            }
            _ => None,
        })
        .collect();
    let executable = ring.events(EVENT_MODULE)[0];
    let inside = |pc: &u64| pc.wrapping_sub(executable.addr()) < executable.w1();
    assert_eq!(stacks.len(), 2);
    assert_eq!(stacks[1].len(), 28, "long stacks are cut at the outer end");
    // deep(3), deep(2), deep(1), deep(0) and main: the site, four calls, and main's caller in the C library.
    assert_eq!(stacks[0].len(), 6, "{:x?}", stacks[0]);
    assert!(stacks[0][..5].iter().all(inside) && stacks[1].iter().all(inside), "{stacks:x?}");
    assert_eq!(stacks[0][1], stacks[0][2], "the recursive calls are one site");
    assert_ne!(stacks[0][0], stacks[0][1]);
}

#[test]
fn libraries_record_through_the_program() {
    for compiler in COMPILERS {
        let r = Recording::new(MODE_RECORD);
        let deep = r.dir.path().join("directory-with-a-long-name-".repeat(5)).join("and-another-one-".repeat(12));
        std::fs::create_dir_all(&deep).unwrap();
        let library = deep.join("liblibrary.so");
        let library = library.to_str().unwrap();
        let source = source("library.c");
        let flags = ["-O2", "-fno-builtin", "-fPIC", "-shared", "-Wl,-z,defs", "-o", library, source.to_str().unwrap()];
        let built = compile(compiler, &flags);
        assert!(built.status.success(), "{built:?}");
        let (output, rings) = r.run(&program(r.dir.path(), compiler, "loads.c", &["-ldl"]), &[library]);
        assert!(output.status.success(), "{compiler} {output:?}");
        let lines = rings[0].phase("library");
        assert_eq!(lines.iter().filter(|l| l.starts_with("w 4 ")).count(), 8, "{compiler} {lines:?}");
        assert_eq!(lines.iter().filter(|l| l.starts_with("r 5 ")).count(), 1, "strlen, called from the library");
        assert_eq!(full_path(&rings[0], "liblibrary.so"), library, "long paths are whole");
    }
}

/// Path of the module whose path, put together, ends in `name`.
fn full_path(ring: &Ring, name: &str) -> String {
    let mut paths: Vec<String> = Vec::new();
    for item in &ring.items {
        if item.is_event(EVENT_MODULE) {
            paths.push(item.text());
        } else if item.is_event(EVENT_MORE) {
            paths.last_mut().unwrap().push_str(&item.text());
        }
    }
    assert!(paths[0].starts_with('/'), "the executable comes first, with its path: {paths:?}");
    paths.into_iter().find(|p| p.ends_with(name)).unwrap()
}
