//! One self-contained HTML file: no network, no inline handlers, a content security policy that names its own scripts.
//!
//! Tables and words are written here and need no script; scripts only draw the charts above them from the JSON inside.
mod capacity;
mod escape;
mod false_sharing;
mod frame;
mod sampling;
mod sections;
mod source;
mod tables;
mod view;

use crate::doc::ReportDoc;
use escape::{base64, esc, script_json};
use sha2::{Digest, Sha256};

const STYLE: &str = include_str!("../../assets/page/report.css");
const CHART_JS: &str = include_str!("../../assets/vendor/chart.js/chart.umd.min.js");
const PAGE_JS: [&str; 4] = [
    include_str!("../../assets/page/charts.js"),
    include_str!("../../assets/page/heat.js"),
    include_str!("../../assets/page/page.js"),
    include_str!("../../assets/page/tables.js"),
];

/// The fill of padding bytes.
const HATCH: &str = "<svg class=\"defs\" aria-hidden=\"true\"><defs><pattern id=\"hatch\" width=\"7\" height=\"7\" \
    patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\"><rect width=\"7\" height=\"7\"/><path d=\"M0 0V7\"/>\
    </pattern></defs></svg>\n";

/// The page.
pub fn render(doc: &ReportDoc) -> String {
    let scripts = [library().to_owned(), PAGE_JS.join("\n")];
    let mut out = String::with_capacity(400 << 10);
    out.push_str("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    let styles: Vec<&str> = [STYLE].into_iter().chain(doc.capacity.as_ref().map(|_| capacity::STYLE)).collect();
    out.push_str(&format!("<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n", policy(&styles, &scripts)));
    out.push_str("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    out.push_str("<meta name=\"color-scheme\" content=\"light dark\">\n");
    out.push_str(&format!("<title>{}</title>\n", esc(&title(doc))));
    styles.iter().for_each(|style| out.push_str(&format!("<style>{style}</style>\n")));
    out.push_str("</head>\n<body>\n");
    body(&mut out, doc);
    data(&mut out, doc);
    for script in &scripts {
        out.push_str(&format!("<script>{script}</script>\n"));
    }
    out.push_str("</body>\n</html>\n");
    out
}

/// The library without its pointer to a source map, which is not in the file.
fn library() -> &'static str {
    CHART_JS.rfind("//# sourceMappingURL").map_or(CHART_JS, |end| &CHART_JS[..end])
}

fn policy(styles: &[&str], scripts: &[String]) -> String {
    let hash = |text: &str| format!("'sha256-{}'", base64(&Sha256::digest(text.as_bytes())));
    let all = |texts: &mut dyn Iterator<Item = &str>| texts.map(hash).collect::<Vec<String>>().join(" ");
    format!(
        "default-src 'none'; base-uri 'none'; form-action 'none'; img-src data:; style-src {}; script-src {}",
        all(&mut styles.iter().copied()),
        all(&mut scripts.iter().map(String::as_str))
    )
}

fn title(doc: &ReportDoc) -> String {
    let name = doc.provenance.command.first().map_or(doc.provenance.dataset.as_str(), String::as_str);
    format!("{} – memory placement report", name.rsplit('/').next().unwrap_or(name))
}

fn body(out: &mut String, doc: &ReportDoc) {
    out.push_str("<a class=\"skip\" href=\"#content\">Skip to the finding</a>\n");
    out.push_str(HATCH);
    sections::masthead(out, doc);
    out.push_str("<main id=\"content\">\n");
    sections::switch(out, doc);
    for (i, e) in doc.evaluations.iter().enumerate() {
        let hidden = if i == 0 { "" } else { " hidden" };
        out.push_str(&format!("<div class=\"evaluation\" id=\"evaluation-{i}\" data-index=\"{i}\"{hidden}>\n"));
        sections::evaluation(out, doc, e, i);
        out.push_str("</div>\n");
    }
    if doc.evaluations.is_empty() {
        out.push_str("<h1>Nothing was evaluated.</h1>\n");
    }
    sections::provenance(out, doc);
    out.push_str("</main>\n");
}

fn data(out: &mut String, doc: &ReportDoc) {
    let views: Vec<view::View> = doc.evaluations.iter().map(view::View::of).collect();
    out.push_str(&format!("<script type=\"application/json\" id=\"homenode-report\">{}</script>\n", script_json(doc)));
    out.push_str(&format!(
        "<script type=\"application/json\" id=\"homenode-views\">{}</script>\n",
        script_json(&views)
    ));
}
