//! Damaged snapshots: never a panic, never much memory, always a machine or one clear line.
use crate::snapshot::{NODES, Snapshot, rich};
use homenode_base::Rng;
use homenode_host::topology::read;
use std::path::{Path, PathBuf};

/// What damaged firmware, truncated copies and hostile files hold.
const BAD: [&str; 14] = [
    "0-4294967295",
    "0-3,7-x",
    "",
    "\0\0",
    "-1",
    "99999999999999999999",
    "4294967295",
    "ffffffff,ffffffff",
    "10 20",
    "65535 65535 65535",
    "0",
    "18446744073709551615",
    "0-1023",
    "65534-65535",
];

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in folder.read_dir().unwrap().map(|e| e.unwrap().path()) {
        if entry.is_dir() { files(&entry, found) } else { found.push(entry) }
    }
}

fn holds(s: &Snapshot, what: &str) {
    match read(s.root()) {
        Ok(t) => {
            assert!(t.nodes.len() <= 1024 && t.nodes.iter().map(|n| n.cpus.len()).sum::<usize>() <= 65_535, "{what}");
            assert!(t.distances.is_empty() || t.distances.len() == t.nodes.len(), "{what}");
            assert!(t.nodes.windows(2).all(|w| w[0].os_id < w[1].os_id), "{what}");
            if let Ok(this) = t.machine(None) {
                assert_eq!(this.machine.validate(), Ok(()), "{what}");
            }
        }
        Err(e) => assert!(!e.to_string().contains('\n'), "{what}"),
    }
}

#[test]
fn every_file_may_hold_anything() {
    let s = rich();
    let mut all = Vec::new();
    files(s.root(), &mut all);
    assert!(all.len() > 40);
    for file in &all {
        let good = std::fs::read(file).unwrap();
        for bad in BAD {
            std::fs::write(file, bad).unwrap();
            holds(&s, &format!("{} = {bad:?}", file.display()));
        }
        std::fs::remove_file(file).unwrap();
        holds(&s, &format!("no {}", file.display()));
        std::fs::write(file, good).unwrap();
    }
}

#[test]
fn random_damage_to_several_files_at_once() {
    let s = rich();
    let mut all = Vec::new();
    files(s.root(), &mut all);
    let good: Vec<Vec<u8>> = all.iter().map(|f| std::fs::read(f).unwrap()).collect();
    let mut rng = Rng::new(2008);
    for round in 0..300 {
        let mut touched = Vec::new();
        for _ in 0..1 + rng.below(6) {
            let i = rng.below(all.len() as u64) as usize;
            let mut bytes = good[i].clone();
            match rng.below(4) {
                0 => bytes = BAD[rng.below(BAD.len() as u64) as usize].into(),
                1 => bytes.truncate(rng.below(bytes.len() as u64 + 1) as usize),
                2 => bytes.extend_from_within(..),
                _ => (0..3).for_each(|_| {
                    let at = rng.below(bytes.len() as u64 + 1) as usize;
                    if let Some(b) = bytes.get_mut(at) {
                        *b = rng.next_u64() as u8
                    }
                }),
            }
            std::fs::write(&all[i], bytes).unwrap();
            touched.push(i);
        }
        holds(&s, &format!("round {round}"));
        touched.iter().for_each(|&i| std::fs::write(&all[i], &good[i]).unwrap());
    }
}

#[test]
fn endless_claims_are_cut_to_what_is_online() {
    let s = rich();
    s.write(&format!("{NODES}/node0/cpulist"), "0-4294967295");
    let t = read(s.root()).unwrap();
    assert_eq!(t.nodes[0].cpus, [0, 1, 2, 3], "cut to the processors that are online");
    s.remove("sys/devices/system/cpu/online");
    s.remove("proc/cpuinfo");
    let t = read(s.root()).unwrap();
    assert!(t.nodes[0].cpus.is_empty() && t.notes.iter().any(|n| n.contains("claims 4294967296 processors")));
}

#[test]
fn folders_fifos_and_loops_in_place_of_files_are_missing_files() {
    let s = rich();
    s.remove(&format!("{NODES}/node0/distance"));
    s.write(&format!("{NODES}/node0/distance/file"), "10");
    s.remove(&format!("{NODES}/online"));
    std::os::unix::fs::symlink("online", s.root().join(format!("{NODES}/online"))).unwrap();
    let fifo = s.root().join(format!("{NODES}/node1/meminfo"));
    std::fs::remove_file(&fifo).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let t = read(s.root()).unwrap();
    assert_eq!((t.nodes.len(), t.nodes[1].memory_bytes), (3, 0));
}
