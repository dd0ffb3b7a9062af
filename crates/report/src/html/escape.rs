//! Everything from outside goes through one of these on its way into the page.
use crate::units::{is_quantity, place_in};
use homenode_table::cut_front;
pub(crate) use homenode_table::esc;
use serde::Serialize;

/// As [`esc`], with what stands between back-quotes set as code and numbers kept on one line with their units.
pub(crate) fn prose(text: &str) -> String {
    let pieces: Vec<&str> = text.split('`').collect();
    if pieces.len().is_multiple_of(2) {
        return quantities(text);
    }
    let mark = |(i, piece): (usize, &&str)| match i % 2 {
        0 => quantities(piece),
        _ => name(piece),
    };
    pieces.iter().enumerate().map(mark).collect()
}

/// Characters of a place on the screen; what is cut, in front, shows when it is pointed at.
const PLACE: usize = 40;

/// A name as code, whose `file:line`s stay whole.
pub(crate) fn name(text: &str) -> String {
    let words: Vec<String> = text.split(' ').map(unbroken).collect();
    format!("<code>{}</code>", words.join(" "))
}

/// A word; if it is a place, one that no line break cuts.
fn unbroken(word: &str) -> String {
    let Some((before, place, after)) = place_in(word) else { return esc(word) };
    let short = cut_front(place, PLACE);
    let title = if short == place { String::new() } else { format!(" title=\"{}\"", esc(place)) };
    let span = format!("{}<span class=\"place\"{title}><bdi>{}</bdi></span>{}", esc(before), esc(&short), esc(after));
    // A line may break before and after a place, but not between it and the brackets around it.
    if before.is_empty() && after.is_empty() { span } else { format!("<span class=\"q\">{span}</span>") }
}

/// `worth 38 % of` must not break before the per cent sign.
fn quantities(text: &str) -> String {
    let words: Vec<&str> = text.split(' ').collect();
    let mut out = String::with_capacity(text.len());
    let mut i = 0;
    while i < words.len() {
        let glued = words.get(i + 1).is_some_and(|next| is_quantity(words[i], next));
        if i > 0 {
            out.push(' ');
        }
        if glued {
            out.push_str(&format!("<span class=\"q\">{} {}</span>", esc(words[i]), esc(words[i + 1])));
        } else {
            out.push_str(&unbroken(words[i]));
        }
        i += if glued { 2 } else { 1 };
    }
    out
}

/// JSON for a `<script type="application/json">` element: no character can end the element or begin a comment in it.
pub(crate) fn script_json<T: Serialize>(value: &T) -> String {
    let json = serde_json::to_string(value).expect("plain structs with string keys always serialise");
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out
}

/// Base64 with padding (RFC 4648, section 4), for hashes in the content security policy.
pub(crate) fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let word = chunk.iter().enumerate().fold(0u32, |w, (i, b)| w | u32::from(*b) << (16 - 8 * i));
        for i in 0..4 {
            let symbol = ALPHABET[(word >> (18 - 6 * i)) as usize & 63] as char;
            out.push(if i <= chunk.len() { symbol } else { '=' });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_is_inert() {
        assert_eq!(prose("use `a<b>` now"), "use <code>a&lt;b&gt;</code> now");
        assert_eq!(prose("a lone ` stays"), "a lone ` stays");
        assert_eq!(prose("worth 38 %, <b> 3 x"), "worth <span class=\"q\">38 %,</span> &lt;b&gt; 3 x");
        let json = script_json(&["</script><!--", "&\u{2028}"]);
        assert_eq!(json, r#"["\u003c/script\u003e\u003c!--","\u0026\u2028"]"#);
        assert_eq!(serde_json::from_str::<Vec<String>>(&json).unwrap(), ["</script><!--", "&\u{2028}"]);
    }

    #[test]
    fn base64_is_that_of_the_standard() {
        let encoded: Vec<String> =
            ["", "f", "fo", "foo", "foob", "fooba", "foobar"].iter().map(|s| base64(s.as_bytes())).collect();
        assert_eq!(encoded, ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"]);
    }
}
