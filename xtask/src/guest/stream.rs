//! One stream of bytes out of the guest. A port of the guest never closes while the guest lives, so the guest writes an
//! agreed mark when it is done; the mark is random, so that no program's output contains it by accident.

/// Splits off the end mark.
pub(crate) struct Stream {
    mark: Vec<u8>,
    held: Vec<u8>,
    ended: bool,
}

impl Stream {
    /// A stream that ends with this mark.
    pub(crate) fn new(mark: &str) -> Stream {
        Stream { mark: mark.as_bytes().to_vec(), held: Vec::new(), ended: false }
    }

    /// Whether the mark has come.
    pub(crate) fn ended(&self) -> bool {
        self.ended
    }

    /// Takes what came and returns what surely precedes the mark; what might be its beginning is held back.
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Vec<u8> {
        if self.ended {
            return Vec::new();
        }
        self.held.extend_from_slice(bytes);
        if let Some(at) = self.held.windows(self.mark.len()).position(|w| w == self.mark) {
            self.ended = true;
            self.held.truncate(at);
            return std::mem::take(&mut self.held);
        }
        let possible = |n: &usize| self.held.ends_with(&self.mark[..*n]);
        let keep = (1..self.mark.len().min(self.held.len() + 1)).rev().find(possible).unwrap_or(0);
        let rest = self.held.split_off(self.held.len() - keep);
        std::mem::replace(&mut self.held, rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_cut_the_bytes_gives_the_same_stream() {
        let all = b"ab<<en<end<end>junk";
        for step in 1..=all.len() {
            let (mut stream, mut out) = (Stream::new("<end>"), Vec::new());
            for piece in all.chunks(step) {
                out.extend(stream.feed(piece));
            }
            assert!(stream.ended());
            assert_eq!(out, b"ab<<en<end", "pieces of {step}");
        }
    }

    #[test]
    fn without_a_mark_only_its_possible_beginning_is_held() {
        let mut stream = Stream::new("<end>");
        assert_eq!(stream.feed(b"text <en"), b"text ");
        assert_eq!(stream.feed(b"d of"), b"<end of");
        assert!(!stream.ended());
    }
}
