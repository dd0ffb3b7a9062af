//! Little-endian fields of bytes from outside; every read is checked.

/// Reads from the front of a slice.
#[derive(Clone, Copy, Debug)]
pub struct Cursor<'a>(pub &'a [u8]);

impl<'a> Cursor<'a> {
    /// The next `n` bytes.
    #[inline]
    pub fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.0.split_at_checked(n)?;
        self.0 = rest;
        Some(head)
    }
    /// As [`Cursor::take`] with a length from outside.
    #[inline]
    pub fn take64(&mut self, n: u64) -> Option<&'a [u8]> {
        self.take(usize::try_from(n).ok()?)
    }
    /// The next little-endian number; `None` at the end.
    #[inline]
    pub fn u64(&mut self) -> Option<u64> {
        let (head, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*head))
    }
    /// The next little-endian number; `None` at the end.
    #[inline]
    pub fn u32(&mut self) -> Option<u32> {
        let (head, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u32::from_le_bytes(*head))
    }
    /// The next little-endian number; `None` at the end.
    #[inline]
    pub fn u16(&mut self) -> Option<u16> {
        let (head, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u16::from_le_bytes(*head))
    }
    /// Two halves of a word, low one first.
    #[inline]
    pub fn pair(&mut self) -> Option<(u32, u32)> {
        Some((self.u32()?, self.u32()?))
    }
    /// Skips `count` words.
    #[inline]
    pub fn skip_words(&mut self, count: u64) -> Option<()> {
        self.take64(count.checked_mul(8)?).map(drop)
    }
    /// A string padded with zero bytes that fills the rest.
    pub fn text(&self) -> String {
        let end = self.0.iter().position(|&b| b == 0).unwrap_or(self.0.len());
        String::from_utf8_lossy(&self.0[..end]).into_owned()
    }
}
