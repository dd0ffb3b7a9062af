//! Writer of `newc` archives, the form in which the kernel takes its first root file system (Linux,
//! Documentation/driver-api/early-userspace/buffer-format.rst).
use std::collections::BTreeSet;
use std::io::{self, Write};

/// What an entry is.
pub(crate) enum Kind<'a> {
    /// A folder.
    Folder,
    /// A file and its content.
    File(&'a [u8]),
    /// A symbolic link and its target.
    Link(&'a str),
    /// A character device: major and minor number.
    Device(u32, u32),
}

/// An archive being written. Parent folders come by themselves; a name that exists already is left alone.
pub(crate) struct Archive<W: Write> {
    out: W,
    names: BTreeSet<String>,
    inodes: u32,
}

impl<W: Write> Archive<W> {
    /// An empty archive.
    pub(crate) fn new(out: W) -> Archive<W> {
        Archive { out, names: BTreeSet::new(), inodes: 0 }
    }

    /// Adds one entry; `permissions` are the lowest twelve bits of its mode.
    ///
    /// # Errors
    /// What the writer says; a file of 4 GiB or more does not fit the format.
    pub(crate) fn add(&mut self, path: &str, permissions: u32, kind: &Kind) -> io::Result<()> {
        let name = path.trim_matches('/');
        if self.names.contains(name) {
            return Ok(());
        }
        if let Some((parent, _)) = name.rsplit_once('/') {
            self.add(parent, 0o755, &Kind::Folder)?;
        }
        self.names.insert(name.to_owned());
        let (type_bits, data, device) = match *kind {
            Kind::Folder => (0o040_000, &[][..], (0, 0)),
            Kind::File(data) => (0o100_000, data, (0, 0)),
            Kind::Link(target) => (0o120_000, target.as_bytes(), (0, 0)),
            Kind::Device(major, minor) => (0o020_000, &[][..], (major, minor)),
        };
        self.entry(name, type_bits | permissions & 0o7777, data, device)
    }

    fn entry(&mut self, name: &str, mode: u32, data: &[u8], device: (u32, u32)) -> io::Result<()> {
        self.inodes += 1;
        let size = u32::try_from(data.len()).map_err(|_| io::Error::other(format!("{name}: 4 GiB or more")))?;
        let name_size = u32::try_from(name.len() + 1).map_err(|_| io::Error::other("a name of 4 GiB"))?;
        // inode, mode, uid, gid, links, time, size, two of the containing device, two of this device, name, checksum
        let fields = [self.inodes, mode, 0, 0, 1, 0, size, 0, 0, device.0, device.1, name_size, 0];
        let mut head = "070701".to_owned();
        fields.iter().for_each(|f| head.push_str(&format!("{f:08X}")));
        head.push_str(name);
        head.push('\0');
        self.padded(head.as_bytes())?;
        self.padded(data)
    }

    /// Headers and contents each begin at multiples of four.
    fn padded(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(bytes)?;
        self.out.write_all(&[0; 3][..bytes.len().wrapping_neg() % 4])
    }

    /// Writes the end mark and returns the writer.
    pub(crate) fn finish(mut self) -> io::Result<W> {
        self.entry("TRAILER!!!", 0, &[], (0, 0))?;
        self.out.flush()?;
        Ok(self.out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Entry = (String, u32, Vec<u8>, (u32, u32));

    /// A reader written from the format's description, sharing nothing with the writer: (name, mode, data, device).
    fn read(mut bytes: &[u8]) -> Vec<Entry> {
        let mut found = Vec::new();
        loop {
            assert_eq!(&bytes[..6], b"070701");
            let field = |i: usize| {
                let hex = std::str::from_utf8(&bytes[6 + 8 * i..14 + 8 * i]).unwrap();
                u32::from_str_radix(hex, 16).unwrap()
            };
            let (mode, size, device, name_size) =
                (field(1), field(6) as usize, (field(9), field(10)), field(11) as usize);
            let name = std::str::from_utf8(&bytes[110..110 + name_size - 1]).unwrap().to_owned();
            assert_eq!(bytes[110 + name_size - 1], 0);
            let data_at = (110 + name_size).div_ceil(4) * 4;
            let data = bytes[data_at..data_at + size].to_vec();
            bytes = &bytes[(data_at + size).div_ceil(4) * 4..];
            if name == "TRAILER!!!" {
                assert!(bytes.is_empty());
                return found;
            }
            found.push((name, mode, data, device));
        }
    }

    fn sample() -> Vec<u8> {
        let mut a = Archive::new(Vec::new());
        a.add("/bin/tool", 0o755, &Kind::File(b"12345")).unwrap();
        a.add("bin/tool", 0o644, &Kind::File(b"second of this name")).unwrap();
        a.add("bin/sh", 0o777, &Kind::Link("tool")).unwrap();
        a.add("dev/console", 0o600, &Kind::Device(5, 1)).unwrap();
        a.add("empty", 0o644, &Kind::File(b"")).unwrap();
        a.finish().unwrap()
    }

    #[test]
    fn what_is_written_can_be_read_back() {
        let entries = read(&sample());
        let names: Vec<&str> = entries.iter().map(|e| e.0.as_str()).collect();
        assert_eq!(names, ["bin", "bin/tool", "bin/sh", "dev", "dev/console", "empty"]);
        assert_eq!(entries[0].1, 0o040_755);
        assert_eq!((entries[1].1, entries[1].2.as_slice()), (0o100_755, &b"12345"[..]));
        assert_eq!((entries[2].1, entries[2].2.as_slice()), (0o120_777, &b"tool"[..]));
        assert_eq!((entries[4].1, entries[4].3), (0o020_600, (5, 1)));
    }

    #[test]
    fn a_known_archive_byte_by_byte() {
        let bytes = Archive::new(Vec::new()).finish().unwrap();
        let mut wanted = b"070701".to_vec();
        for f in ["00000001", "00000000", "00000000", "00000000", "00000001", "00000000", "00000000"] {
            wanted.extend(f.bytes());
        }
        for f in ["00000000", "00000000", "00000000", "00000000", "0000000B", "00000000"] {
            wanted.extend(f.bytes());
        }
        wanted.extend(b"TRAILER!!!\0\0\0\0");
        assert_eq!(bytes, wanted);
    }

    #[test]
    fn every_length_is_padded_to_four() {
        for n in 0..9 {
            let mut a = Archive::new(Vec::new());
            a.add(&"n".repeat(n + 1), 0o644, &Kind::File(&vec![7; n])).unwrap();
            let bytes = a.finish().unwrap();
            assert_eq!(bytes.len() % 4, 0);
            assert_eq!(read(&bytes)[0].2, vec![7; n]);
        }
    }
}
