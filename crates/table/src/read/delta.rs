//! Pages of words whose lengths are packed as differences, looked at before they are unpacked: the library of Parquet takes memory for as
//! many lengths as the page claims, however few values its header has.
use parquet::basic::Encoding;
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};

/// The pages of a column of words.
pub(super) struct Checked {
    pub(super) pages: Box<dyn PageReader>,
    /// Whether the column has levels, which stand before the values.
    pub(super) levels: bool,
}

impl Iterator for Checked {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Result<Page>> {
        self.get_next_page().transpose()
    }
}

impl PageReader for Checked {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        let page = self.pages.get_next_page()?;
        if page.as_ref().is_some_and(|page| self.claims_too_much(page)) {
            return Err(ParquetError::General("a page claims more lengths of words than it has values".to_owned()));
        }
        Ok(page)
    }
    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.pages.peek_next_page()
    }
    fn skip_next_page(&mut self) -> Result<()> {
        self.pages.skip_next_page()
    }
}

impl Checked {
    /// Whether a page has more lengths than values, or cannot be understood.
    fn claims_too_much(&self, page: &Page) -> bool {
        let lists = match page.encoding() {
            Encoding::DELTA_LENGTH_BYTE_ARRAY => 1,
            // Lengths of what is shared with the word before, then those of the rest.
            Encoding::DELTA_BYTE_ARRAY => 2,
            _ => return false,
        };
        let start = match page {
            Page::DataPage { buf, .. } if self.levels => {
                buf.first_chunk::<4>().map(|bytes| u64::from(u32::from_le_bytes(*bytes)) + 4)
            }
            Page::DataPageV2 { def_levels_byte_len, rep_levels_byte_len, .. } => {
                Some(u64::from(*def_levels_byte_len) + u64::from(*rep_levels_byte_len))
            }
            _ => Some(0),
        };
        let mut rest = start.and_then(|n| page.buffer().get(usize::try_from(n).ok()?..));
        for _ in 0..lists {
            rest = rest.and_then(|bytes| behind(bytes, page.num_values().into()));
        }
        rest.is_none()
    }
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut n = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        n |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(n);
        }
    }
    None
}

/// What stands behind a list of at most `most` numbers; `None` if it has more, or is cut off.
fn behind(mut bytes: &[u8], most: u64) -> Option<&[u8]> {
    let (block, parts) = (varint(&mut bytes)?, varint(&mut bytes)?);
    let (count, _first) = (varint(&mut bytes)?, varint(&mut bytes)?);
    let part = block.checked_div(parts).filter(|_| count <= most)?;
    let mut left = count.saturating_sub(1);
    while left > 0 {
        // The least difference, then for each part of the block how many bits its differences have, then these.
        varint(&mut bytes)?;
        let (bits, rest) = bytes.split_at_checked(usize::try_from(parts).ok()?)?;
        bytes = rest;
        for &bits in bits {
            if left == 0 {
                break;
            }
            let packed = part.checked_mul(bits.into())?.div_ceil(8);
            // The last part may end with the page.
            bytes = bytes.get(usize::try_from(packed).ok()?.min(bytes.len())..)?;
            left = left.saturating_sub(part.max(1));
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::behind;

    #[test]
    fn lists_of_lengths_are_passed_and_no_longer_than_they_may_be() {
        // 128 a block in four parts; five numbers, the first 3; least difference 0, two bits each in the first part.
        let list = [&[0x80, 1, 4, 5, 6, 0, 2, 0, 0, 0][..], &[0xe4; 8], b"rest"].concat();
        assert_eq!(behind(&list, 5), Some(&b"rest"[..]));
        assert_eq!(behind(&list, 4), None);
        assert_eq!(behind(&[0x80, 1, 4, 1, 6, 7], 1), Some(&[7][..]), "one number needs no block");
        assert_eq!(behind(&[0x80, 1, 0, 5, 6], 5), None, "blocks without parts");
        assert_eq!(behind(&[0x80, 1, 4, 5, 6, 0, 2], 5), None, "cut off");
        let many = [0x80, 1, 4, 0xff, 0xff, 0xff, 0xff, 0x7f, 0];
        assert_eq!(behind(&many, 1 << 20), None);
    }
}
