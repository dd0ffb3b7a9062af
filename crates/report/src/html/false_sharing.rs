//! A falsely shared line as a picture: its words coloured by thread, and the same words after the padding that
//! gives each thread a line of its own.
use super::escape::{esc, prose};
use super::tables::{code, num, table, threads};
use crate::text::sorted;
use crate::units::{CostUnit, count};
use homenode_sim::Evaluation;
use homenode_sim::evaluation::{FalseSharingRow, FalseWord};

/// Lines drawn; the table of objects counts the rest.
const DRAWN: usize = 6;
/// Lines drawn of the padded layout.
const AFTER: usize = 4;
/// Drawing units a byte.
const BYTE: u32 = 12;
/// Height of a line in drawing units.
const HEIGHT: u32 = 26;

/// The cards of all falsely shared lines that are drawn.
pub(super) fn cards(e: &Evaluation) -> String {
    let mut out: String = e.false_sharing.iter().take(DRAWN).map(|row| card(e, row)).collect();
    if e.false_sharing.len() > DRAWN {
        out.push_str(&format!(
            "<p class=\"note\">{DRAWN} of {} falsely shared lines are drawn; <code>--json</code> has all.</p>\n",
            e.false_sharing.len()
        ));
    }
    out
}

fn card(e: &Evaluation, row: &FalseSharingRow) -> String {
    let unit = CostUnit::of(&e.unit);
    let layout = Layout::of(row);
    let place = match row.offset {
        0 => "begins a line".to_owned(),
        n => format!("{} {} bytes, line", if n < 0 { "−" } else { "+" }, n.unsigned_abs()),
    };
    let mut out = format!(
        "<article class=\"card fs\">\n<h3><code>{}</code> <span class=\"muted\">{place} at {:#x}</span></h3>\n",
        esc(&row.object),
        row.addr
    );
    out.push_str(&format!(
        "<p>{} transfers between caches cost <strong>{}</strong>.</p>\n",
        count(row.transfers),
        esc(&unit.cost_in_words(row.cost))
    ));
    out.push_str("<div class=\"lines\">\n");
    out.push_str(&figure(
        "Now",
        &format!("One {}-byte line, words coloured by thread", layout.line),
        &[row.words.iter().collect()],
        layout.line,
    ));
    if layout.groups.len() > 1 {
        let padded: Vec<Vec<&FalseWord>> = layout.groups.iter().take(AFTER).map(|g| g.words.clone()).collect();
        let hidden = layout.groups.len().saturating_sub(AFTER);
        let more = match hidden {
            0 => String::new(),
            1 => "; one more line not drawn".to_owned(),
            n => format!("; {n} more lines not drawn"),
        };
        let title = format!("Each thread's words on a line of their own, padding hatched{more}");
        out.push_str(&figure("Padded", &title, &padded, layout.line));
    }
    out.push_str("</div>\n");
    out.push_str(&format!("<p class=\"advice\">{}</p>\n", prose(&layout.remedy(&row.object))));
    out.push_str(&words_table(row));
    out.push_str("</article>\n");
    out
}

fn words_table(row: &FalseSharingRow) -> String {
    let heads = [
        ("Byte", true),
        ("Size", true),
        ("Threads", false),
        ("Reads", true),
        ("Writes", true),
        ("Sites, dearest first", false),
    ];
    let cells = |w: &FalseWord| {
        vec![
            num(&w.offset.to_string()),
            num(&format!("{} B", w.bytes)),
            super::tables::text(&threads(&sorted(w.threads.iter().copied()))),
            num(&count(w.reads)),
            num(&count(w.writes)),
            code(&w.sites.join(", ")),
        ]
    };
    let inner = table(&format!("Words of the line at {:#x}", row.addr), &heads, row.words.iter().map(cells).collect());
    format!("<details><summary>Words, threads and sites</summary>\n{inner}</details>\n")
}

/// One row of the picture a line; a line whose words were moved apart starts each group at byte 0.
fn figure(label: &str, title: &str, lines: &[Vec<&FalseWord>], line_bytes: u32) -> String {
    let (width, padded) = (line_bytes * BYTE, label != "Now");
    let height = lines.len() as u32 * (HEIGHT + 4) + 14;
    let mut out = format!(
        "<figure><figcaption><strong>{}</strong> {}</figcaption>\n<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{1}\"><svg class=\"line\" viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{1}\">",
        esc(label),
        esc(title)
    );
    for (i, words) in lines.iter().enumerate() {
        let top = i as u32 * (HEIGHT + 4);
        let shift = if padded { words.iter().map(|w| w.offset).min().unwrap_or(0) } else { 0 };
        let class = if padded { "pad" } else { "empty" };
        out.push_str(&format!("<rect class=\"{class}\" x=\"0\" y=\"{top}\" width=\"{width}\" height=\"{HEIGHT}\"/>"));
        words.iter().for_each(|w| out.push_str(&word(w, w.offset.saturating_sub(shift), top, line_bytes)));
    }
    let foot = lines.len() as u32 * (HEIGHT + 4) + 9;
    for byte in (0..line_bytes).step_by(8) {
        out.push_str(&format!("<text class=\"tick\" x=\"{}\" y=\"{foot}\">{byte}</text>", byte * BYTE + 2));
    }
    out.push_str("</svg></div></figure>\n");
    out
}

fn word(w: &FalseWord, offset: u32, top: u32, line_bytes: u32) -> String {
    let first = offset.min(line_bytes);
    let bytes = w.bytes.min(line_bytes - first);
    let (x, width) = (first * BYTE, bytes * BYTE);
    let (class, label) = match w.threads.as_slice() {
        [t] => (format!("t{}", t % 8), format!("t{t}")),
        _ => ("many".to_owned(), "many".to_owned()),
    };
    let title = format!(
        "byte {}, {} B: {}, {} reads, {} writes; {}",
        w.offset,
        w.bytes,
        threads(&w.threads),
        count(w.reads),
        count(w.writes),
        w.sites.join(", ")
    );
    let mut out = format!(
        "<rect class=\"word {class}\" x=\"{}\" y=\"{top}\" width=\"{}\" height=\"{HEIGHT}\" rx=\"2\"><title>{}</title></rect>",
        x + 1,
        width.saturating_sub(2).max(1),
        esc(&title)
    );
    if width >= 8 * label.len() as u32 {
        out.push_str(&format!(
            "<text class=\"label on-{class}\" x=\"{}\" y=\"{}\">{label}</text>",
            x + width / 2,
            top + HEIGHT / 2 + 4
        ));
    }
    out
}

/// Words of one set of threads.
struct Group<'a> {
    threads: Vec<u32>,
    words: Vec<&'a FalseWord>,
}

impl Group<'_> {
    /// Bytes from the first to the end of the last word.
    fn span(&self) -> u32 {
        let first = self.words.iter().map(|w| w.offset).min().unwrap_or(0);
        self.words.iter().map(|w| w.offset.saturating_add(w.bytes)).max().unwrap_or(0) - first
    }
}

/// A line taken apart by who uses its words.
struct Layout<'a> {
    line: u32,
    groups: Vec<Group<'a>>,
}

impl<'a> Layout<'a> {
    fn of(row: &'a FalseSharingRow) -> Layout<'a> {
        let end = row.words.iter().map(|w| w.offset.saturating_add(w.bytes)).max().unwrap_or(0);
        let line = end.clamp(64, 1024).next_power_of_two();
        let mut groups: Vec<Group<'a>> = Vec::new();
        for word in &row.words {
            let threads = sorted(word.threads.iter().copied());
            match groups.iter_mut().find(|g| g.threads == threads) {
                Some(group) => group.words.push(word),
                None => groups.push(Group { threads, words: vec![word] }),
            }
        }
        Layout { line, groups }
    }

    /// The padding that removes the sharing, in a sentence or two.
    fn remedy(&self, object: &str) -> String {
        let line = self.line;
        let span = self.groups.first().map_or(0, Group::span);
        let pad = |bytes: u32| bytes.next_multiple_of(line) - bytes;
        if self.groups.len() < 2 || span == 0 {
            return format!("Align `{object}` to {line} bytes and give each thread's words a line of their own.");
        }
        let mut text = if self.groups.iter().all(|g| g.span() == span) {
            format!(
                "Each thread's part of `{object}` in this line is {span} B: add {} B of padding after each part and align the first to {line} B \
                 (C11: `_Alignas({line})` on the first member of the element, C++: `alignas({line})`).",
                pad(span)
            )
        } else {
            let parts: Vec<String> = self
                .groups
                .iter()
                .map(|g| format!("{} B of {} (add {} B)", g.span(), threads(&g.threads), pad(g.span())))
                .collect();
            format!(
                "Give each of these parts of `{object}` a line of its own, aligned to {line} B: {}.",
                parts.join(", ")
            )
        };
        if self.groups.iter().any(|g| g.threads.len() > 1) {
            text.push_str(" Words that several threads use still travel between them; apart from the others they no longer take those along.");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(offset: u32, bytes: u32, threads: &[u32]) -> FalseWord {
        FalseWord { offset, bytes, threads: threads.to_vec(), writes: 1, ..FalseWord::default() }
    }
    fn row(words: Vec<FalseWord>) -> FalseSharingRow {
        FalseSharingRow { object: "s".into(), words, ..FalseSharingRow::default() }
    }

    #[test]
    fn equal_parts_are_padded_to_a_line_each() {
        let r = row(vec![word(0, 8, &[0]), word(8, 8, &[0]), word(16, 8, &[1]), word(24, 8, &[1])]);
        let layout = Layout::of(&r);
        assert_eq!((layout.line, layout.groups.len()), (64, 2));
        assert!(layout.remedy("s").starts_with("Each thread's part of `s` in this line is 16 B: add 48 B of padding"));
    }

    #[test]
    fn unequal_and_shared_parts_are_named_one_by_one() {
        let r = row(vec![word(0, 4, &[0]), word(8, 16, &[1, 2])]);
        let text = Layout::of(&r).remedy("s");
        assert!(text.contains("4 B of thread 0 (add 60 B), 16 B of threads 1-2 (add 48 B)"), "{text}");
        assert!(text.contains("several threads"));
    }

    #[test]
    fn lying_offsets_draw_inside_the_line() {
        let r = row(vec![word(u32::MAX, 8, &[0]), word(60, u32::MAX, &[1]), word(3, 0, &[])]);
        let svg = cards(&Evaluation { false_sharing: vec![r], unit: "ps".into(), ..Evaluation::default() });
        assert!(svg.contains("<svg"), "{svg}");
    }
}
