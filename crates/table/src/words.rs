//! The words of a column, each of which is kept once.
use arrow_array::types::UInt32Type;
use arrow_array::{ArrayRef, DictionaryArray, StringArray, UInt32Array};
use std::collections::HashMap;
use std::sync::Arc;

/// Entries of the memo, a power of two.
const MEMO: usize = 256;

/// Words by number, in the order in which they came.
#[derive(Debug)]
pub(crate) struct Words {
    words: Vec<Arc<str>>,
    numbers: HashMap<Arc<str>, u32>,
    /// Numbers of words that came lately, by where they lay; each is compared before it is believed.
    memo: Box<[u32; MEMO]>,
}

impl Default for Words {
    fn default() -> Words {
        Words { words: Vec::new(), numbers: HashMap::new(), memo: Box::new([0; MEMO]) }
    }
}

impl Words {
    /// The number of this word.
    #[inline]
    pub(crate) fn number(&mut self, word: &str) -> u32 {
        let at = (word.as_ptr().addr() >> 3 ^ word.len()) % MEMO;
        let lately = self.memo[at];
        if self.words.get(lately as usize).is_some_and(|w| **w == *word) {
            return lately;
        }
        let number = self.find(word);
        self.memo[at] = number;
        number
    }

    fn find(&mut self, word: &str) -> u32 {
        if let Some(&number) = self.numbers.get(word) {
            return number;
        }
        let number = self.words.len() as u32;
        let word: Arc<str> = word.into();
        self.words.push(word.clone());
        self.numbers.insert(word, number);
        number
    }

    /// The word of a number that was given out.
    pub(crate) fn get(&self, number: u32) -> &str {
        &self.words[number as usize]
    }

    /// Arrow's array of words with these numbers.
    pub(crate) fn array(&self, numbers: UInt32Array) -> ArrayRef {
        let words: StringArray = self.words.iter().map(|w| Some(&**w)).collect();
        let array = DictionaryArray::<UInt32Type>::try_new(numbers, Arc::new(words));
        Arc::new(array.expect("numbers are those of words"))
    }
}
