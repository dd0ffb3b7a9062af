//! A node's memory as frames: what of a file is not zero.
use super::frame::{Frame, Of, SOME};
use homenode_sys::sparse;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Gives the frames of a file that are not all zero.
pub(super) fn frames<M>(
    file: &File,
    node: u16,
    of: Of,
    mut give: impl FnMut(Frame<M>) -> io::Result<()>,
) -> io::Result<()> {
    let mut at = 0;
    while let Some(data) = sparse::data(file, at)? {
        for start in data.clone().step_by(SOME) {
            let mut bytes = vec![0; SOME.min((data.end - start) as usize)];
            file.read_exact_at(&mut bytes, start)?;
            if bytes.iter().any(|byte| *byte != 0) {
                give(Frame::Data(node, of, start, bytes))?;
            }
        }
        at = data.end;
    }
    Ok(())
}

/// Puts a frame's bytes where they belong.
///
/// # Errors
/// [`io::ErrorKind::InvalidData`] for bytes that lie outside of the file.
pub(super) fn put(file: &File, offset: u64, bytes: &[u8]) -> io::Result<()> {
    let end = offset.checked_add(bytes.len() as u64);
    if end.is_none_or(|end| file.metadata().is_ok_and(|m| end > m.len())) {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "data outside of a node's memory"));
    }
    file.write_all_at(bytes, offset)
}

#[cfg(test)]
mod tests {
    use super::*;
    use homenode_sys::words::memory_file;

    #[test]
    fn a_file_is_the_same_on_the_other_side() {
        let bytes = 1 << 32;
        let [from, to] = ["from", "to"].map(|name| memory_file(name, bytes).expect("a file"));
        let written = [(5u64, vec![1; 3]), (1 << 20, vec![2; SOME + 4097]), (bytes - 1, vec![3])];
        written.iter().for_each(|(at, bytes)| from.write_all_at(bytes, *at).expect("written"));
        // What was written and is zero again is not sent.
        from.write_all_at(&[0; 100], 1 << 30).expect("written");
        let mut count = 0;
        let give = |frame: Frame<()>| {
            let Frame::Data(7, Of::Heap, offset, data) = frame else { panic!("data") };
            count += 1;
            put(&to, offset, &data)
        };
        frames(&from, 7, Of::Heap, give).expect("sent");
        assert!((4..=6).contains(&count), "{count}");
        for (at, bytes) in written {
            let mut there = vec![0; bytes.len()];
            to.read_exact_at(&mut there, at).expect("read");
            assert_eq!(there, bytes);
        }
        assert_eq!(sparse::data(&to, 1 << 30).expect("holes").map(|d| d.end), Some(bytes));
        for offset in [bytes, u64::MAX] {
            assert_eq!(put(&to, offset, &[1]).expect_err("outside").kind(), io::ErrorKind::InvalidData);
        }
    }
}
