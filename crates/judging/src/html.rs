//! Pages of HTML that need no other file and have no scripts: a reproduction, whose pictures stand inside it, with all files of it; and the frame
//! for others.
use crate::doc::{ReproduceDoc, Verdict};
use crate::page::{self, Picture, Section, sections, shown};
use homenode_command::{Failure, output};
use homenode_table::esc;
use std::fmt::Write;
use std::path::Path;

const WRITES: &str = "writing to a string cannot fail";
const STYLE: &str = include_str!("../assets/page.css");

/// The pages and the document.
///
/// # Errors
/// The folder cannot be written.
pub fn write(doc: &ReproduceDoc, out: &Path, pictures: &[Picture]) -> Result<(), Failure> {
    page::make(out)?;
    let named = |ending: &str| out.join(format!("{}.{ending}", doc.experiment));
    output::write(&named("md"), page::markdown(doc, pictures).as_bytes())?;
    output::write(&named("html"), html(doc, pictures).as_bytes())?;
    output::write(&named("json"), doc.to_json().as_bytes())
}

/// Page with this title and this inside, which are markup; `style` comes behind what pages have in common.
pub fn framed(title: &str, style: &str, inside: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta http-equiv=\"Content-Security-Policy\" \
         content=\"default-src 'none'; base-uri 'none'; form-action 'none'; style-src 'unsafe-inline'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{title}</title>\n\
         <style>{STYLE}{style}</style>\n</head>\n<body>\n<main>\n<h1>{title}</h1>\n{inside}</main>\n</body>\n</html>\n"
    )
}

/// Sentences as a list.
pub fn notes<'n>(notes: impl IntoIterator<Item = &'n String>) -> String {
    let items: String = notes.into_iter().map(|n| format!("<li>{}</li>\n", esc(n))).collect();
    format!("<ul class=\"notes\">\n{items}</ul>\n")
}

/// The page.
fn html(doc: &ReproduceDoc, pictures: &[Picture]) -> String {
    let mut out = format!("<p>{}</p>\n", esc(&doc.programs));
    counts(&mut out, doc);
    let all = sections(doc, pictures);
    out.push_str("<nav><a href=\"#claims\">Claims</a>");
    let named = all.iter().filter_map(|s| Some((s.number?, s)));
    named.for_each(|(n, _)| write!(out, "<a href=\"#e{n}\">E{n}</a>").expect(WRITES));
    out.push_str("</nav>\n");
    out.push_str(&notes(&doc.notes));
    claims(&mut out, doc);
    all.iter().for_each(|s| section(&mut out, s));
    framed(&format!("{} at size {}", esc(&doc.experiment), esc(&doc.size)), "", &out)
}

/// The class of a verdict: its first word.
fn class(verdict: Verdict) -> &'static str {
    verdict.words().split(' ').next().unwrap_or_default()
}

fn counts(out: &mut String, doc: &ReproduceDoc) {
    out.push_str("<dl class=\"counts\">\n");
    for verdict in Verdict::ALL {
        let n = doc.claims.iter().filter(|c| c.verdict == verdict).count();
        if n > 0 || verdict != Verdict::NotJudged {
            let (class, words) = (class(verdict), verdict.words());
            writeln!(out, "<div><dt>{words}</dt><dd class=\"{class}\">{n}</dd></div>").expect(WRITES);
        }
    }
    out.push_str("</dl>\n");
}

fn claims(out: &mut String, doc: &ReproduceDoc) {
    out.push_str("<h2 id=\"claims\">Claims</h2>\n<div class=\"scroll\"><table class=\"claims\">\n<tr>");
    for name in ["claim", "where", "published", "ours", "verdict", "why"] {
        write!(out, "<th>{name}</th>").expect(WRITES);
    }
    out.push_str("</tr>\n");
    for c in &doc.claims {
        let [what, place, theirs, ours, why] = [&c.what, &c.place, &c.theirs, &c.ours, &c.why].map(|t| esc(t));
        let (class, verdict) = (class(c.verdict), c.verdict.words());
        writeln!(
            out,
            "<tr><td>{what}</td><td>{place}</td><td>{theirs}</td><td>{ours}</td><td class=\"verdict {class}\">{verdict}</td>\
             <td>{why}</td></tr>"
        )
        .expect(WRITES);
    }
    out.push_str("</table></div>\n");
}

fn section(out: &mut String, section: &Section<'_>) {
    if let Some(n) = section.number {
        writeln!(out, "<h2 id=\"e{n}\">E{n}</h2>").expect(WRITES);
    }
    for table in &section.tables {
        write!(out, "<h3>{}</h3>\n{}", esc(&table.title), shown(table).html()).expect(WRITES);
    }
    if !section.pictures.is_empty() {
        out.push_str("<div class=\"pictures\">\n");
        for picture in &section.pictures {
            // From the element on: what stands before it belongs at the head of a file.
            let inside = picture.svg.find("<svg").map_or("", |at| &picture.svg[at + 4..]);
            let title = esc(&picture.title);
            writeln!(out, "<figure><svg role=\"img\" aria-label=\"{title}\"{}</figure>", inside.trim_end())
                .expect(WRITES);
        }
        out.push_str("</div>\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::tests::{document, picture};

    #[test]
    fn a_page_is_whole_and_nothing_from_outside_is_markup() {
        let mut doc = document();
        doc.claims[1].ours = "<script>alert('1')</script> & \"more\"\u{202e}".into();
        doc.tables[0].rows[0][0] = "</td><img src=x>".into();
        let page = html(&doc, &[picture("E10-x.svg"), picture("all.svg")]);
        assert!(page.contains("&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt; &amp; &quot;more&quot;\u{fffd}"));
        assert!(page.contains("&lt;/td&gt;&lt;img src=x&gt;") && !page.contains("<img"));
        let outside = ["<script", "<link", "src=", "http-equiv=\"refresh", "@import", "url("];
        let named = page.replace("&lt;img src=x&gt;", "").replace("http://www.w3.org/2000/svg", "");
        assert!(
            outside.iter().all(|o| !named.contains(o)) && !named.contains("http://") && !named.contains("https://")
        );
        assert_eq!(page.matches("<svg role=\"img\" aria-label=\"picture\"").count(), 2);
        for verdict in &doc.claims {
            assert!(page.contains(&format!("verdict {}\">{}", class(verdict.verdict), verdict.verdict.words())));
        }
        let places =
            ["<dl", "id=\"claims\"", "<h2 id=\"e2\"", "<h2 id=\"e10\"", "E10 ten", "F4 last"].map(|w| page.find(w));
        assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{places:?}");
        assert!(page.matches("<svg").count() == page.matches("</svg>").count() && page.ends_with("</html>\n"));
    }
}
