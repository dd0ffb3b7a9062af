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
