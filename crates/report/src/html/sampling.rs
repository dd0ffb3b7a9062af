//! The section on how a recording was sampled.
use super::escape::esc;
use super::frame::{list, section as titled};
use super::tables::{bar, num, table, text};
use crate::sampling::{SamplingDoc, source_words};
use crate::units::{integer, percent};

/// What was sampled, what is known and what is not.
pub(super) fn section(out: &mut String, s: &SamplingDoc) {
    let mut inner = String::from("<dl class=\"figures\">\n");
    for (name, value, note) in figures(s) {
        inner.push_str(&format!(
            "<div><dt>{}</dt><dd>{}<span>{}</span></dd></div>\n",
            esc(name),
            esc(&value),
            esc(&note)
        ));
    }
    inner.push_str("</dl>\n<h3>What is known</h3>\n");
    list(&mut inner, &s.known, "");
    inner.push_str("<h3>What sampling cannot see</h3>\n");
    list(&mut inner, &s.unseen, "");
    if !s.sources.is_empty() {
        inner.push_str(&sources(s));
    }
    titled(out, "Sampling", &s.headline(), &inner);
}

fn figures(s: &SamplingDoc) -> Vec<(&'static str, String, String)> {
    let mut out = vec![
        ("Samples", integer(s.samples), format!("standing for {}", integer(s.weight))),
        (
            "Lost",
            percent(s.lost_share),
            format!("{} samples, {} more without address", integer(s.lost), integer(s.unaddressed)),
        ),
    ];
    if let Some(spread) = &s.spread {
        let note = format!("independent samples, design effect {:.1}", spread.design_effect);
        out.push(("Worth", integer(spread.effective.round() as u64), note));
    }
    let stores = if s.sees_writes { "loads and stores" } else { "loads only" };
    out.push(("Seen", stores.to_owned(), s.event.clone()));
    out
}

fn sources(s: &SamplingDoc) -> String {
    let heads = [("Data came from", false), ("Samples", true), ("Share", true), ("Charged", false)];
    let rows = s.sources.iter().map(|r| {
        let share = r.weight as f64 / s.weight.max(1) as f64;
        let charged = if r.charged { "yes" } else { "no: placement does not matter" };
        vec![text(source_words(r.source)), num(&integer(r.samples)), bar(share), text(charged)]
    });
    table("Samples by where their data came from", &heads, rows.collect())
}
