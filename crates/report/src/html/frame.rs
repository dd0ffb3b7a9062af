//! What every section of the page is framed by.
use super::escape::{esc, prose};

/// A section with its title and what introduces it.
pub(super) fn section(out: &mut String, title: &str, intro: &str, inner: &str) {
    let intro = if intro.is_empty() { String::new() } else { format!("<p class=\"intro\">{}</p>\n", prose(intro)) };
    out.push_str(&format!("<section>\n<h2>{}</h2>\n{intro}{inner}</section>\n", esc(title)));
}

/// Sentences as a list; `none` if there are none.
pub(super) fn list(out: &mut String, sentences: &[String], none: &str) {
    if sentences.is_empty() {
        if !none.is_empty() {
            out.push_str(&format!("<p>{}</p>\n", esc(none)));
        }
        return;
    }
    let items: String = sentences.iter().map(|s| format!("<li>{}</li>\n", prose(s))).collect();
    out.push_str(&format!("<ul>\n{items}</ul>\n"));
}
