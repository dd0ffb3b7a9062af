//! `homenode info` for people.
use super::terminal::{Paint, render, wrap};
use crate::info::{CheckDoc, InfoDoc};
use crate::memory_time::native_words;
use crate::quick::PagesDoc;
use crate::sampling::source_words;
use crate::units::{bytes, count, integer, percent, plural};
use homenode_sim::evaluation::SourceRow;
use homenode_table::{Column, Layout, Table, clean};
use homenode_trace::{DataSource, SampleUnit};

/// Rows of the thread table; 1,000 threads must not scroll the facts away.
const THREADS: usize = 16;
const WIDTH: usize = 100;

impl InfoDoc {
    /// Facts of the dataset, as text for people.
    pub fn to_text(&self) -> String {
        info(self)
    }
}

impl CheckDoc {
    /// Result of the check, as text for people: one line, and one more for each problem.
    pub fn to_text(&self) -> String {
        let name = clean(&self.dataset);
        let refs = plural(self.refs, "reference", "references");
        let read = format!("{refs} in {}", plural(self.frames, "frame", "frames"));
        let partial = if self.complete { "" } else { ", of a recording that did not end in order" };
        if self.ok {
            return format!("{name}: sound, {read}{partial}\n");
        }
        let mut out = format!(
            "{name}: damaged, {} in {read}{partial}\n",
            plural(self.problems.len() as u64, "problem", "problems")
        );
        for problem in &self.problems {
            out.push_str(&format!("  {}\n", clean(problem)));
        }
        out
    }
}

/// All facts, threads beyond the sixteenth and phases beyond the twelfth summed up in a line.
fn info(doc: &InfoDoc) -> String {
    let mut lines = facts(doc);
    lines.push(String::new());
    lines.extend(threads(doc));
    if !doc.phases.is_empty() {
        lines.push(String::new());
        let mut table =
            Table::new(vec![Column::words("phase", 8), Column::number("entered"), Column::number("references")]);
        doc.phases
            .iter()
            .take(12)
            .for_each(|p| table.push_words(vec![p.name.clone(), integer(p.entered), integer(p.refs)]));
        lines.extend(render(&table, WIDTH, Paint(false)));
        more(&mut lines, doc.phases.len(), 12, "phases");
    }
    if !doc.synchronisation.is_empty() {
        lines.push(String::new());
        lines.extend(synchronisation(doc));
    }
    if let Some(counted) = &doc.imported {
        let counted: Vec<String> = counted.iter().map(|(what, n)| format!("{} {what}", integer(*n))).collect();
        let sentence = format!("Counted in what was imported: {}.", counted.join(", "));
        lines.extend(wrap(&clean(&sentence), WIDTH, 2));
    }
    if let Some(pages) = doc.pages {
        let (size, left_out) = (bytes(pages.page_bytes), integer(pages.left_out));
        let sentence = format!(
            "One page of {size} in {} was recorded; {left_out} references to others were left out.",
            pages.one_in
        );
        lines.extend(wrap(&(sentence + &certain(&pages)), WIDTH, 2));
    }
    for sentence in doc.sampling.iter().flat_map(|s| &s.known) {
        lines.extend(wrap(&clean(sentence), WIDTH, 2));
    }
    for sentence in doc.sampling.iter().flat_map(|s| &s.unseen).chain(&doc.blind) {
        lines.extend(wrap(&clean(&format!("Not seen: {sentence}")), WIDTH, 2));
    }
    lines.push(String::new());
    lines.join("\n")
}

/// A further sentence on pages that are used much; empty if none are.
fn certain(pages: &PagesDoc) -> String {
    match pages.certain {
        0 => String::new(),
        n => format!(" Recorded besides, as they are used much: {}.", plural(n as u64, "page", "pages")),
    }
}

fn facts(doc: &InfoDoc) -> Vec<String> {
    let p = &doc.provenance;
    let state = match (p.complete, p.exit_status) {
        (false, _) => "did not end in order".to_owned(),
        (true, Some(0)) => "complete".to_owned(),
        (true, Some(n)) if n < 0 => format!("complete; the program was killed by signal {}", n.unsigned_abs()),
        (true, Some(n)) => format!("complete; the program ended with status {n}"),
        (true, None) => "complete; exit status unknown".to_owned(),
    };
    let per_ref = doc.bytes_per_ref.map_or(String::new(), |b| format!(", {b:.3} B/ref"));
    let rows = [
        ("dataset", format!("{} ({state})", p.dataset)),
        ("command", p.command.join(" ")),
        ("backend", format!("{}, clock {}", p.backend, p.clock)),
        ("host", format!("{} ({} processors)", p.host, p.host_cpus)),
        ("recorded", p.recorded_at.clone().unwrap_or_else(|| "time not known".to_owned())),
        (
            "references",
            format!(
                "{} ({} read, {} write, {} atomic, {} spin)",
                integer(doc.ops.total()),
                count(doc.ops.read),
                count(doc.ops.write),
                count(doc.ops.atomic),
                count(doc.ops.spin)
            ),
        ),
        ("referenced", bytes(doc.bytes_referenced)),
        ("size", format!("{} in {} frames{per_ref}", bytes(doc.dataset_bytes), integer(doc.frames))),
        ("events", integer(p.events)),
        ("objects", format!("{}, used from {} code locations", integer(doc.objects), integer(doc.sites))),
    ];
    let mut table = Table::new(vec![Column::words("", 11).wide(11), Column::words("", 0)]);
    rows.iter()
        .chain(&instructions(doc))
        .chain(&doc.provenance.native.as_ref().map(|n| ("natively", native_words(n))))
        .chain(&sampled(doc))
        .for_each(|(name, value)| table.push_words([*name, value]));
    table.lines(&Layout { gap: 1, head: false, ..Layout::default() })
}

fn instructions(doc: &InfoDoc) -> Option<(&'static str, String)> {
    let i = doc.instructions.filter(|i| i.counted_refs + i.estimated_refs > 0)?;
    let all = (i.counted_refs + i.estimated_refs + i.unknown_refs).max(1) as f64;
    let part = |n: u64, refs: u64, how: &str| {
        (refs > 0).then(|| {
            format!("{} instructions {how} (before {} of the references)", count(n), percent(refs as f64 / all))
        })
    };
    let unknown = (i.unknown_refs > 0).then(|| format!("not known before {}", percent(i.unknown_refs as f64 / all)));
    let parts = [part(i.counted, i.counted_refs, "counted"), part(i.estimated, i.estimated_refs, "estimated"), unknown];
    Some(("executed", parts.into_iter().flatten().collect::<Vec<_>>().join(", ")))
}

fn sampled(doc: &InfoDoc) -> Vec<(&'static str, String)> {
    let Some(s) = &doc.sampling else { return Vec::new() };
    let unit = match s.unit {
        SampleUnit::Reference => "references",
        SampleUnit::Miss => "misses",
        SampleUnit::Window => "windows",
    };
    let period = if s.period > 0 { format!(", one in about {}", integer(s.period)) } else { String::new() };
    let losses = match (s.lost, s.unaddressed) {
        (0, 0) => String::new(),
        (lost, bare) => {
            format!("; {} lost ({}), {} without address", integer(lost), percent(s.lost_share), integer(bare))
        }
    };
    let mut rows = vec![
        ("sampled", format!("{}{period}", s.event)),
        ("samples", format!("{}, for {} {unit}{losses}", integer(s.samples), count(s.weight))),
    ];
    let source =
        |r: &SourceRow| format!("{} {}", source_words(r.source), percent(r.weight as f64 / s.weight.max(1) as f64));
    if s.sources.iter().any(|r| r.source != DataSource::Unknown) {
        rows.push(("served by", s.sources.iter().map(source).collect::<Vec<_>>().join(", ")));
    }
    rows
}

fn threads(doc: &InfoDoc) -> Vec<String> {
    let heads = ["thread", "process", "tid", "parent", "reads", "writes", "atomics", "spins", "events"];
    let mut table = Table::new(heads.map(Column::number).into());
    for t in doc.threads.iter().take(THREADS) {
        let parent = t.parent.map_or("–".to_owned(), |p| p.to_string());
        let mut row = vec![t.thread.to_string(), t.process.to_string(), t.tid.to_string(), parent];
        row.extend([t.ops.read, t.ops.write, t.ops.atomic, t.ops.spin, t.events].map(count));
        table.push_words(row);
    }
    let mut lines = render(&table, WIDTH, Paint(false));
    more(&mut lines, doc.threads.len(), THREADS, "threads");
    lines
}

fn synchronisation(doc: &InfoDoc) -> Vec<String> {
    let heads = ["objects", "acquires", "releases"].map(Column::number);
    let mut table = Table::new([Column::words("synchronisation", 15)].into_iter().chain(heads).collect());
    for s in &doc.synchronisation {
        let kind = s.parties.map_or(s.kind.clone(), |n| format!("{} of {n}", s.kind));
        table.push_words(vec![kind, integer(s.objects), integer(s.acquires), integer(s.releases)]);
    }
    render(&table, WIDTH, Paint(false))
}

fn more(lines: &mut Vec<String>, have: usize, shown: usize, what: &str) {
    if have > shown {
        lines.push(format!("… and {} more {what} (--json lists all)", have - shown));
    }
}
