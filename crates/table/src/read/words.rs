//! Words of a table, each once.
use super::ReadError;
use std::collections::HashMap;
use std::sync::Arc;

/// Most bytes of all different words.
const BYTES_MAX: usize = 256 << 20;
/// What a word takes beside its bytes.
const OVERHEAD: usize = 64;

/// Words by number.
#[derive(Debug, Default)]
pub(super) struct Words {
    words: Vec<Arc<str>>,
    numbers: HashMap<Arc<str>, u32>,
    bytes: usize,
}

impl Words {
    /// The number of a word.
    pub(super) fn number(&mut self, word: &str) -> Result<u32, ReadError> {
        if let Some(&number) = self.numbers.get(word) {
            return Ok(number);
        }
        self.bytes += word.len() + OVERHEAD;
        if self.bytes > BYTES_MAX {
            return Err(ReadError::new(format!("its different words take more than {BYTES_MAX} bytes")));
        }
        let number = self.words.len() as u32;
        let word: Arc<str> = word.into();
        self.words.push(word.clone());
        self.numbers.insert(word, number);
        Ok(number)
    }
    /// The word; empty if there is none with this number.
    pub(super) fn get(&self, number: u32) -> &str {
        self.words.get(number as usize).map_or("", |word| word)
    }
}

/// Different words that a column had last, most of which come again.
const RECENT: usize = 4;

/// The last words of a column.
#[derive(Clone, Debug, Default)]
pub(super) struct Recent {
    words: [(Vec<u8>, u32); RECENT],
    /// How many there are.
    filled: usize,
    /// The one that is forgotten next.
    next: usize,
    /// The one that came last.
    last: usize,
}

impl Recent {
    /// The number of a word, as [`Words::number`]; `None` if it is no UTF-8.
    #[inline]
    pub(super) fn number(&mut self, word: &[u8], all: &mut Words) -> Result<Option<u32>, ReadError> {
        let last = &self.words[self.last];
        if last.0 == word && self.filled > 0 {
            return Ok(Some(last.1));
        }
        match self.words[..self.filled].iter().position(|known| known.0 == word) {
            Some(known) => {
                self.last = known;
                Ok(Some(self.words[known].1))
            }
            None => self.look(word, all),
        }
    }

    #[cold]
    fn look(&mut self, word: &[u8], all: &mut Words) -> Result<Option<u32>, ReadError> {
        let Ok(text) = std::str::from_utf8(word) else { return Ok(None) };
        let number = all.number(text)?;
        let place = &mut self.words[self.next];
        place.0.clear();
        place.0.extend_from_slice(word);
        place.1 = number;
        self.filled = self.filled.max(self.next + 1);
        self.last = self.next;
        self.next = (self.next + 1) % RECENT;
        Ok(Some(number))
    }
}
