//! Wrapping and colour for a terminal.
use crate::units::is_quantity;
use homenode_table::{Layout, Table, cut_front};

/// Escape codes, or nothing if colour was not asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Paint(pub(crate) bool);

impl Paint {
    pub(crate) fn bold(self, text: &str) -> String {
        self.with("1", text)
    }
    pub(crate) fn dim(self, text: &str) -> String {
        self.with("2", text)
    }
    pub(crate) fn warn(self, text: &str) -> String {
        self.with("33", text)
    }
    pub(crate) fn good(self, text: &str) -> String {
        self.with("32", text)
    }
    fn with(self, code: &str, text: &str) -> String {
        if self.0 && !text.is_empty() { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
}

/// At most `width` characters, cut at the end.
pub(crate) fn cut_end(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    text.chars().take(width.saturating_sub(1)).chain(['…'].into_iter().take(width)).collect()
}

/// Breaks at spaces, but not between a number and its unit, into lines of at most `width` characters, the second and
/// later ones indented by `indent`. Longer words are cut.
pub(crate) fn wrap(text: &str, width: usize, indent: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    for word in tokens(text) {
        let word = cut_front(&word, width.saturating_sub(indent));
        let used = line.chars().count();
        if used > 0 && used + 1 + word.chars().count() > width {
            lines.push(std::mem::replace(&mut line, " ".repeat(indent)));
        } else if !line.trim().is_empty() {
            line.push(' ');
        }
        line.push_str(&word);
    }
    if !line.trim().is_empty() {
        lines.push(line);
    }
    lines
}

/// Words, with a number and its unit as one.
fn tokens(text: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match out.last_mut() {
            Some(last) if is_quantity(last, word) => *last = format!("{last} {word}"),
            _ => out.push(word.to_owned()),
        }
    }
    out
}

/// The heading line (bold) and the rows, each at most `width` characters.
pub(crate) fn render(table: &Table, width: usize, paint: Paint) -> Vec<String> {
    let mut lines = table.lines(&Layout { width: Some(width), ..Layout::default() });
    lines[0] = paint.bold(&lines[0]);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrapped_lines_fit_and_lose_no_word() {
        let text = "one two 38 % three four five six 38 ms seven eight nine";
        for width in 8..50 {
            let lines = wrap(text, width, 2);
            assert!(lines.iter().all(|l| l.chars().count() <= width), "{width}: {lines:?}");
            assert!(!lines.iter().any(|l| l.ends_with("38")), "{lines:?}");
            assert_eq!(lines.join(" ").split_whitespace().collect::<Vec<_>>().join(" "), text);
        }
    }
}
