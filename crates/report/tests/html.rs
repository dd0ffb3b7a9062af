//! The page: self-contained, inert whatever its names are, complete.
mod support;

use homenode_report::html::render;
use homenode_report::{Provenance, ReportDoc};
use support::HOSTILE;

/// The document without what stands in `<script>` and `<style>`, and the contents of these, in order.
fn split(html: &str) -> (String, Vec<String>) {
    let (mut markup, mut raw, mut rest) = (String::new(), Vec::new(), html);
    while let Some(start) = ["<script", "<style"].iter().filter_map(|t| rest.find(t)).min() {
        let open = start + rest[start..].find('>').expect("an open tag ends") + 1;
        let end_tag = if rest[start..].starts_with("<script") { "</script" } else { "</style" };
        let end = open + rest[open..].find(end_tag).expect("an element ends");
        markup.push_str(&rest[..open]);
        raw.push(rest[open..end].to_owned());
        rest = &rest[end..];
    }
    markup.push_str(rest);
    (markup, raw)
}

#[test]
fn names_from_outside_cannot_leave_their_place() {
    let (plain_markup, plain_raw) = split(&render(&support::rich()));
    let (markup, raw) = split(&render(&support::hostile()));
    assert_eq!(raw.len(), plain_raw.len(), "a name opened or closed a script or style element");
    assert_eq!(raw[0], plain_raw[0], "the style sheet is the same whatever the data");
    assert_eq!(raw[3..], plain_raw[3..], "and so are the scripts");
    for hostile in HOSTILE.iter().filter(|h| h.contains('<')) {
        assert!(!markup.contains(hostile), "{hostile} stands unescaped");
    }
    for tag in ["<img", "<!--", "onerror=\"", "onclick", "javascript:"] {
        assert_eq!(markup.matches(tag).count(), plain_markup.matches(tag).count(), "{tag}");
    }
    assert!(!markup.contains('\u{202e}') && !markup.contains('\x1b'));
    for json in &raw[1..3] {
        assert!(!json.contains(['<', '>', '&']), "JSON in a script element has markup characters");
    }
}

#[test]
fn the_embedded_document_is_the_json_document() {
    for doc in [support::rich(), support::hostile()] {
        let (_, raw) = split(&render(&doc));
        let embedded: serde_json::Value = serde_json::from_str(&raw[1]).unwrap();
        assert_eq!(embedded, serde_json::from_str::<serde_json::Value>(&doc.to_json()).unwrap());
    }
}

#[test]
fn nothing_is_fetched_and_no_style_or_handler_is_inline() {
    let html = render(&support::rich());
    let (markup, _) = split(&html);
    for forbidden in [" src=", "@import", "<link", "http://", "https://", " style=", "onload", "<iframe"] {
        assert!(!markup.contains(forbidden), "{forbidden} stands in the page");
    }
    assert!(markup.contains("default-src 'none'") && !markup.contains("unsafe-"));
    assert_eq!(markup.matches("'sha256-").count(), 3, "one hash for the style sheet and one for each script");
    assert!(!html.contains("sourceMappingURL"), "a source map would be fetched");
}

#[test]
fn every_section_and_the_finding_is_there_without_scripts() {
    let mut doc = support::rich();
    let small = homenode_sim::evaluation::ObjectRow { name: "flag".into(), ..Default::default() };
    doc.evaluations[0].objects.extend([small.clone(), small]);
    let (markup, _) = split(&render(&doc));
    let mut text = String::new();
    let mut inside = false;
    for c in markup.chars() {
        inside = c == '<' || inside && c != '>';
        if !inside && c != '>' {
            text.push(c);
        }
    }
    for part in [
        "Before and after",
        "prediction within 10 %",
        "What to change",
        "Policies against the optimum",
        "Sharing patterns",
        "Address and time",
        "Data objects",
        "Source lines",
        "False sharing",
        "Thread binding",
        "Provenance",
        "What the recording could not see",
        "allocated at stencil.c:41, first touched by thread 0, used by threads 0-7",
        "56 B of padding",
        "As for a.",
        "stencil.c – changed since it was compiled or recorded",
        "double *a = malloc(n * sizeof *a);",
        "change worth 24 %",
        "2 more rows, together 0 %",
        "In the tables: object, source line, heat map row",
        "Load-to-use latencies",
    ] {
        assert!(text.contains(part), "{part} is missing");
    }
}

#[test]
fn canvases_are_labelled_and_ids_are_unique() {
    let (markup, _) = split(&render(&support::rich()));
    let canvases: Vec<&str> = markup.split("<canvas").skip(1).collect();
    assert_eq!(canvases.len(), 6, "three charts in each of two evaluations");
    for canvas in canvases {
        let tag = &canvas[..canvas.find('>').unwrap()];
        assert!(tag.contains("role=\"img\"") && tag.contains("aria-label=\""), "{tag}");
    }
    let mut ids: Vec<&str> = markup.split(" id=\"").skip(1).map(|s| &s[..s.find('"').unwrap()]).collect();
    let all = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), all, "an id occurs twice");
}

#[test]
fn empty_and_absurd_documents_make_a_page() {
    let empty = ReportDoc::new(&Default::default(), Provenance::default(), Vec::new());
    assert!(render(&empty).contains("Nothing was evaluated."));
    let blank = ReportDoc::new(&support::manifest(8), Provenance::default(), vec![Default::default()]);
    assert!(render(&blank).contains("No policy was evaluated"));
    let mut doc = support::rich();
    let e = &mut doc.evaluations[0];
    e.policies[0].total = homenode_base::TotalCost(i128::MAX);
    e.policies[1].ratio = f64::NAN;
    e.heat.rows[0].cells[0] = vec![u64::MAX; 70];
    e.objects[0].users = (0..100_000).collect();
    e.threads[0].node = u16::MAX - 1;
    assert!(render(&doc).len() > 100_000);
}
