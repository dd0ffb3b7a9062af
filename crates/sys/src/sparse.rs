//! Files with holes: what of them is data, and holes made again.
use rustix::fs::{FallocateFlags, SeekFrom, fallocate, seek};
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::ops::Range;

/// The first range of bytes from `from` on that is no hole; `None` if there is none. What lies outside is zero. Moves the file's own
/// place.
///
/// # Errors
/// What lseek(2) says: not every file system knows holes.
pub fn data(file: &File, from: u64) -> io::Result<Option<Range<u64>>> {
    let start = match seek(file, SeekFrom::Data(from)) {
        Ok(start) => start,
        Err(Errno::NXIO) => return Ok(None),
        Err(e) => return Err(e.into()),
    };
    Ok(Some(start..seek(file, SeekFrom::Hole(start))?))
}

/// Makes one hole of the whole file, which keeps its length: everybody who has it mapped reads zeros.
///
/// # Errors
/// What fallocate(2) says.
pub fn clear(file: &File) -> io::Result<()> {
    let bytes = file.metadata()?.len();
    if bytes > 0 {
        fallocate(file, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, 0, bytes)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::{Words, memory_file};
    use std::os::unix::fs::FileExt;
    use std::sync::atomic::Ordering;

    #[test]
    fn data_is_found_between_holes_and_gone_after_clearing() {
        let file = memory_file("sparse", 1 << 40).expect("a file");
        assert_eq!(data(&file, 0).expect("holes"), None);
        file.write_all_at(&[1], 5 << 30).expect("written");
        file.write_all_at(&[2; 5000], (7 << 30) + 100).expect("written");
        let first = data(&file, 0).expect("holes").expect("data");
        assert!(first.contains(&(5 << 30)) && first.end - first.start <= 1 << 21, "{first:?}");
        let second = data(&file, first.end).expect("holes").expect("data");
        assert!(second.contains(&((7 << 30) + 5099)), "{second:?}");
        assert_eq!(data(&file, second.end).expect("holes"), None);
        assert_eq!(data(&file, 1 << 40).expect("holes"), None);
        let words = Words::of_file(&file, 0, 1 << 37).expect("mapped");
        assert_eq!(words[5 << 27].load(Ordering::Relaxed), 1);
        clear(&file).expect("cleared");
        assert_eq!((words[5 << 27].load(Ordering::Relaxed), file.metadata().expect("known").len()), (0, 1 << 40));
        clear(&memory_file("empty", 0).expect("a file")).expect("nothing to do");
    }
}
