//! Text in pages.

/// Text or a double-quoted attribute value: markup characters as entities, characters without a safe picture
/// (controls, direction overrides) as U+FFFD.
pub fn esc(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(' '),
            c if is_hostile(c) => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

fn is_hostile(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_is_inert() {
        assert_eq!(esc("</script><b a='\"'>&\u{202e}\n"), "&lt;/script&gt;&lt;b a=&#39;&quot;&#39;&gt;&amp;\u{fffd} ");
    }
}
