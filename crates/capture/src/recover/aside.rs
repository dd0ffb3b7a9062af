//! The folder into which `recover` puts what it does not understand.
use crate::control::RINGS;
use crate::store::{MANIFEST, THREADS};
use homenode_sys::dir::{self, Dir, Kind};
use homenode_trace::dataset::EVENTS_FILE;
use homenode_trace::symbols::Symbols;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Name of the folder for what `recover` does not understand.
pub(super) const DAMAGED: &str = ".damaged";
/// Bytes of one damaged stretch that are copied at most; holes are not counted.
const COPIED_MAX: u64 = 256 << 20;
const PIECE: usize = 1 << 20;

/// Copies a stretch of a file, holes left out, into a file named after both.
pub(super) fn copy(root: &Dir, name: &str, file: &File, from: u64, bytes: u64) -> io::Result<()> {
    folder(root)?;
    root.replace_with(&format!("{DAMAGED}/{}@{from}", name.replace('/', "-")), |out| {
        let (mut at, end, mut left, mut piece) = (from, from + bytes, COPIED_MAX, vec![0; PIECE]);
        while let Some(data) = dir::next_data(file, at)?.filter(|&d| d < end && left > 0) {
            let n = file.read_at(&mut piece[..(end - data).min(PIECE as u64) as usize], data)?;
            if n == 0 {
                break;
            }
            out.write_all_at(&piece[..n], data - from)?;
            (at, left) = (data + n as u64, left.saturating_sub(n as u64));
        }
        Ok(())
    })
}

fn folder(root: &Dir) -> io::Result<()> {
    match root.make(DAMAGED) {
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => root.sub(DAMAGED).map(drop),
        other => other.map(drop),
    }
}

/// Moves links, FIFOs, directories and whatever else stands where a file of the dataset should be; returns their names.
pub(super) fn odd_files(root: &Dir) -> io::Result<Vec<String>> {
    let mut names: Vec<String> = [MANIFEST, EVENTS_FILE, Symbols::FILE].map(str::to_owned).to_vec();
    let mut odd = Vec::new();
    match root.kind(THREADS)? {
        None => drop(root.make(THREADS)?),
        Some(Kind::Directory) => {
            let threads = root.sub(THREADS)?.names()?.into_iter().filter(|n| n.ends_with(".frames"));
            names.extend(threads.map(|n| format!("{THREADS}/{n}")));
        }
        Some(_) => {
            move_away(root, THREADS)?;
            drop(root.make(THREADS)?);
            odd.push(THREADS.to_owned());
        }
    }
    if !matches!(root.kind(RINGS)?, None | Some(Kind::Directory)) {
        move_away(root, RINGS)?;
        odd.push(RINGS.to_owned());
    }
    for name in names {
        if !matches!(root.kind(&name)?, None | Some(Kind::File(_))) {
            move_away(root, &name)?;
            odd.push(name);
        }
    }
    Ok(odd)
}

fn move_away(root: &Dir, name: &str) -> io::Result<()> {
    folder(root)?;
    let plain = name.replace('/', "-");
    let free = (0..1000).map(|n| format!("{DAMAGED}/{plain}#{n}")).find(|to| matches!(root.kind(to), Ok(None)));
    let to = free.ok_or_else(|| io::Error::other(format!("{DAMAGED} is full")))?;
    root.rename(name, &to)
}
