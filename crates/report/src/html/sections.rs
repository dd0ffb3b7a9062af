//! The sections of the page, from the finding down to where the data comes from.
use super::escape::{esc, name, prose};
use super::frame::{list, section};
use super::{capacity, false_sharing, sampling, source, tables, view};
use crate::compare::{Comparison, first_touch, share};
use crate::doc::ReportDoc;
use crate::headline::{
    all_changes, best_placement, capitalised, comparison, decapitalised, headline, kind_name, named, placement_words,
};
use crate::layout;
use crate::memory_time::native_words;
use crate::provenance::Provenance;
use crate::sampling::share_with_interval;
use crate::source::Sources;
use crate::units::{CostUnit, bytes, count, factor, hits, integer, misses, percent, plural, ranges};
use homenode_sim::Evaluation;
use homenode_sim::Verified;
use homenode_sim::evaluation::Finding;
use homenode_sim::evidence::Doubt;

/// What was recorded, and the switch between light and dark.
pub(super) fn masthead(out: &mut String, doc: &ReportDoc) {
    out.push_str(&format!(
        "<header class=\"masthead\"><div class=\"wrap\">\n<p class=\"brand\">homenode</p>\n<p class=\"subject\"><code>{}</code></p>\n\
         <button type=\"button\" id=\"theme\" aria-pressed=\"false\" hidden>Dark</button>\n</div></header>\n",
        esc(&doc.provenance.command.join(" "))
    ));
}

/// Buttons that choose between evaluations, if there are several.
pub(super) fn switch(out: &mut String, doc: &ReportDoc) {
    if doc.evaluations.len() < 2 {
        return;
    }
    out.push_str("<nav class=\"switch\" aria-label=\"Machine and block size\">\n");
    for (i, e) in doc.evaluations.iter().enumerate() {
        let label = format!("{}, {} blocks", e.machine, bytes(e.block_bytes));
        let pressed = i == 0;
        out.push_str(&format!(
            "<button type=\"button\" data-show=\"{i}\" aria-pressed=\"{pressed}\">{}</button>\n",
            esc(&label)
        ));
    }
    out.push_str("</nav>\n");
}

/// Everything about one machine and block size.
pub(super) fn evaluation(out: &mut String, doc: &ReportDoc, e: &Evaluation, i: usize) {
    hero(out, doc, e);
    if let (0, Some(c)) = (i, &doc.compare) {
        before_and_after(out, c);
    }
    findings(out, (e, i), &doc.sources);
    if let Some(s) = &doc.sampling {
        sampling::section(out, s);
    }
    if let (0, Some(l)) = (i, &doc.layout) {
        section(out, "Layout of data for page coherence", &l.sentence, &tables::layout(l));
    }
    if let (0, Some(c)) = (i, &doc.capacity) {
        capacity::capacity(out, c);
    }
    section(out, "Policies against the optimum", &policies_intro(e), &policies(e, i));
    section(
        out,
        "Sharing patterns",
        match e.totals.sampled {
            Some(_) => "How pages are used as far as samples show it, and what they cost under first touch.",
            None => "How cache lines are used, by the bytes they cover and by what they cost under first touch.",
        },
        &format!("{}{}", patterns_chart(e, i), folded("Numbers", &tables::patterns(e))),
    );
    heat(out, e, i);
    if !e.objects.is_empty() {
        section(
            out,
            "Data objects",
            "Globals, allocations by call stack, stacks. Dearest first.",
            &tables::objects(e, i),
        );
    }
    if !e.lines.is_empty() {
        section(out, "Source lines", "", &tables::lines(e, i));
    }
    if !e.loops.is_empty() {
        let intro = "Loops and regions of OpenMP; a region's row is what it does outside of its loops.";
        section(out, "Parallel loops", intro, &tables::loops(e, i));
    }
    if !e.false_sharing.is_empty() {
        let intro =
            "Different threads write different words of one cache line, so the line travels between their caches.";
        section(out, "False sharing", intro, &false_sharing::cards(e));
    }
    section(out, "Thread binding", &binding_words(e), &folded("Threads", &tables::binding(e)));
}

fn folded(summary: &str, inner: &str) -> String {
    format!("<details><summary>{}</summary>\n{inner}</details>\n", esc(summary))
}

fn hero(out: &mut String, doc: &ReportDoc, e: &Evaluation) {
    let words = headline(e);
    let tone = if words.actionable { "act" } else { "fine" };
    out.push_str(&format!(
        "<section class=\"hero {tone}\">\n<h1>{}</h1>\n<p class=\"verdict\">{}</p>\n",
        prose(&words.cost),
        prose(&layout::beside(&words.verdict, doc.layout.as_ref()))
    ));
    out.push_str("<dl class=\"figures\">\n");
    for (name, value, note) in figures(e) {
        out.push_str(&format!(
            "<div><dt>{}</dt><dd>{}<span>{}</span></dd></div>\n",
            esc(&name),
            esc(&value),
            esc(&note)
        ));
    }
    out.push_str("</dl>\n");
    let first = doc.evaluations.first().is_some_and(|first| std::ptr::eq(first, e));
    if let Some(time) = doc.memory_time.as_ref().filter(|m| first && m.share.is_some()) {
        out.push_str(&format!("<p class=\"note\">{}.</p>\n", prose(&time.sentence)));
    }
    let warnings: Vec<&String> = doc.warnings.iter().chain(&words.trust).chain(&e.warnings).collect();
    if !warnings.is_empty() {
        out.push_str("<ul class=\"warnings\" aria-label=\"Warnings\">\n");
        warnings.iter().for_each(|w| out.push_str(&format!("<li>{}</li>\n", prose(w))));
        out.push_str("</ul>\n");
    }
    out.push_str("</section>\n");
}

/// Name, value and note of the key figures.
fn figures(e: &Evaluation) -> Vec<(String, String, String)> {
    let unit = CostUnit::of(&e.unit);
    let Some(base) = first_touch(e) else { return Vec::new() };
    let known = e.evidence.against(Doubt::Locality).is_none();
    let mut out = vec![
        ("Memory cost, first touch".to_owned(), unit.cost_in_words(base.total), format!("on {}", e.machine)),
        (
            "Spent on remote memory".to_owned(),
            if known { percent(share(base.remote + base.global, base.total)) } else { "not known".to_owned() },
            if known { unit.cost(base.remote + base.global) } else { "samples cannot tell".to_owned() },
        ),
    ];
    if let Some(best) = best_placement(e) {
        let note = format!("first touch costs {}", factor(base.total.ratio_to(best.total)));
        out.push((capitalised(&placement_words(best)), unit.cost_in_words(best.total), note));
    }
    let worth = match (all_changes(e, base), e.findings.first()) {
        (Some((n, saved)), _) => (format!("All {n} changes save"), percent(saved), "of the memory cost".to_owned()),
        (None, Some(f)) => ("The change saves".to_owned(), percent(f.saving_share), unit.cost_in_words(f.saving)),
        (None, None) => ("Worth changing".to_owned(), "–".to_owned(), "nothing found".to_owned()),
    };
    out.push(worth);
    out
}

fn before_and_after(out: &mut String, c: &Comparison) {
    let unit = CostUnit::of(&c.evaluation.unit);
    let rows = [("Before", c.before, "before"), ("Predicted", c.predicted, "predicted"), ("After", c.after, "after")];
    let largest = rows.iter().map(|r| r.1).max().unwrap_or(c.before);
    let mut inner = String::from("<dl class=\"steps\">\n");
    for (name, value, class) in rows {
        let width = (share(value, largest).clamp(0.0, 1.0) * 1000.0).round() / 10.0;
        inner.push_str(&format!(
            "<div class=\"{class}\"><dt>{name}</dt><dd><svg class=\"step\" aria-hidden=\"true\"><rect width=\"{width}%\" height=\"100%\"/></svg><span>{}</span></dd></div>\n",
            esc(&unit.cost_in_words(value))
        ));
    }
    inner.push_str("</dl>\n");
    let chip = match (c.predicts(), c.within_tenth) {
        (false, _) => "",
        (true, true) => "<span class=\"chip ok\">prediction within 10 %</span> ",
        (true, false) => "<span class=\"chip off\">prediction not within 10 %</span> ",
    };
    inner.push_str(&format!("<p>{chip}Second recording: <code>{}</code></p>\n", esc(&c.provenance.dataset)));
    if let Some(f) = c.evaluation.findings.first() {
        inner.push_str(&format!("<p class=\"note\">Still to do in the second recording: {}</p>\n", prose(&f.sentence)));
    }
    section(out, "Before and after", &comparison(c), &inner);
}

fn findings(out: &mut String, (e, i): (&Evaluation, usize), sources: &Sources) {
    if e.findings.is_empty() {
        return;
    }
    let inner: String = e.findings.iter().enumerate().map(|(k, f)| finding(e, (f, sources), (i, k))).collect();
    section(out, "What to change", "", &format!("<div class=\"cards\">\n{inner}</div>\n"));
}

/// Links to the rows of a finding's object: in the tables of objects, of lines and of the heat map.
fn rows_of(e: &Evaluation, f: &Finding, i: usize) -> String {
    let object = e.objects.iter().position(|o| o.name == f.object).and_then(|k| tables::row_id("object", i, k));
    let line = e.lines.iter().position(|l| f.places.contains(&l.place) && l.object == f.object);
    let line = line.or_else(|| e.lines.iter().position(|l| l.object == f.object));
    let line = line.and_then(|k| tables::row_id("line", i, k));
    let band = e.heat.rows.iter().position(|r| r.object == f.object).filter(|_| e.heat.columns > 0);
    let band = band.and_then(|k| tables::row_id("band", i, k));
    let targets = [("object", object), ("source line", line), ("heat map row", band)];
    let link = |(words, id): &(&str, Option<String>)| Some(format!("<a href=\"#{}\">{words}</a>", id.as_ref()?));
    let links: Vec<String> = targets.iter().filter_map(link).collect();
    if links.is_empty() {
        String::new()
    } else {
        format!("<p class=\"places\">In the tables: {}</p>\n", links.join(", "))
    }
}

/// The advice, unless a finding before it gave the same for another object.
fn advice_once(e: &Evaluation, f: &Finding, k: usize) -> String {
    match e.findings[..k].iter().find(|g| crate::headline::same_advice(g, f)) {
        Some(first) => format!("As for `{}`.", first.object),
        None => f.advice.clone(),
    }
}

fn finding(e: &Evaluation, (f, sources): (&Finding, &Sources), (i, k): (usize, usize)) -> String {
    let (unit, rows) = (CostUnit::of(&e.unit), rows_of(e, f, i));
    let places: Vec<String> = f.places.iter().map(|p| name(p)).collect();
    let places = if places.is_empty() {
        String::new()
    } else {
        format!("<p class=\"places\">Where: {}</p>\n", places.join(", "))
    };
    format!(
        "<article class=\"card finding\" id=\"finding-{i}-{k}\" tabindex=\"-1\">\n<p class=\"kind\">{}</p>\n<h3>{}</h3>\n<p>{}</p>\n<p class=\"advice\">{}</p>\n{places}{}{rows}\
         <p class=\"worth\"><strong>{}</strong> of memory cost <span class=\"muted\">saves {}, leaves {}</span></p>\n</article>\n",
        kind_name(f.kind),
        prose(&named(f, &e.objects)),
        prose(&f.sentence),
        prose(&advice_once(e, f, k)),
        source::excerpts(e, f, sources),
        esc(&share_with_interval(f.saving_share, f.saving_interval)),
        esc(&unit.cost_in_words(f.saving)),
        esc(&unit.cost(f.predicted_total)),
    )
}

fn policies_intro(e: &Evaluation) -> String {
    let by_class = misses(&e.totals).map(|m| {
        format!("Only what leaves the caches is charged, by whether a processor waits for it ({m}), and write-backs.")
    });
    let charged = if e.totals.sampled.is_some() {
        "Samples are charged with their weights; no caches are simulated."
    } else if let Some(by_class) = &by_class {
        by_class
    } else if e.caches {
        "Only what leaves the caches is charged: misses, write-backs and transfers."
    } else {
        "The machine has no caches: every reference is charged."
    };
    let unit = CostUnit::of(&e.unit);
    let charged = hits(&e.totals, &unit).map_or(charged.to_owned(), |h| format!("{charged} Not charged are {h}."));
    let charged = charged.replace("in no total above", "in no total below");
    let charged = unit.meaning().map_or(charged.to_owned(), |m| format!("{charged} One unit of cost is a {m}."));
    let Some(o) = e.optimum.first() else { return charged };
    let summary = o.summary.trim_end_matches('.');
    let bandwidth =
        crate::traffic::sentence(e).map_or(String::new(), |words| format!(" B{}.", words.trim_start_matches('b')));
    format!("{charged} Ratios and the dashed line are against the {}: {}.{bandwidth}", o.name, decapitalised(summary))
}

fn policies(e: &Evaluation, i: usize) -> String {
    let parts: Vec<&str> = view::parts(e).iter().map(|(_, label, _)| *label).collect();
    let label = format!(
        "Bars: cost of each policy, split into {}, with a line at the optimum. The table below has the numbers.",
        parts.join(", ").to_lowercase()
    );
    format!(
        "<figure class=\"chart\"><div class=\"canvas-box\"><canvas id=\"policies-{i}\" data-chart=\"policies\" role=\"img\" aria-label=\"{}\"></canvas></div></figure>\n{}",
        esc(&label),
        tables::policies(e)
    )
}

fn patterns_chart(e: &Evaluation, i: usize) -> String {
    let names: Vec<&str> = e.patterns.iter().map(|p| p.pattern.as_str()).collect();
    let label = format!(
        "Bars: share of bytes and share of cost of the patterns {}. The table below has the numbers.",
        names.join(", ")
    );
    format!(
        "<figure class=\"chart\"><div class=\"canvas-box\"><canvas id=\"patterns-{i}\" data-chart=\"patterns\" role=\"img\" aria-label=\"{}\"></canvas></div></figure>\n",
        esc(&label)
    )
}

fn heat(out: &mut String, e: &Evaluation, i: usize) {
    if e.heat.rows.is_empty() || e.heat.columns == 0 {
        return;
    }
    let label = "Heat map: address bands downwards, time to the right, colour is the node that references, strength how often. The table below has the numbers.";
    let legend: String = (0..view::nodes(e))
        .map(|n| format!("<li><svg class=\"swatch\" aria-hidden=\"true\"><rect class=\"n{}\" width=\"100%\" height=\"100%\"/></svg>node {n}</li>", n % 8))
        .collect();
    let intro = format!(
        "Who references what, when. One column is {} references; the strip on the left is the home under first touch, so colour that differs from it is remote.",
        count(e.heat.bin_refs)
    );
    let inner = format!(
        "<ul class=\"legend\">{legend}</ul>\n<figure class=\"chart\"><canvas class=\"heat\" id=\"heat-{i}\" data-chart=\"heat\" role=\"img\" aria-label=\"{label}\"></canvas>\
         <figcaption class=\"readout\" id=\"heat-{i}-readout\">Point at a cell for its numbers.</figcaption></figure>\n{}",
        folded("Numbers", &tables::heat(e, i))
    );
    section(out, "Address and time", &intro, &inner);
}

fn binding_words(e: &Evaluation) -> String {
    let nodes = e.threads.iter().map(|t| t.node).max().map_or(0, |n| n + 1);
    let of = |node: u16| -> Vec<u32> { e.threads.iter().filter(|t| t.node == node).map(|t| t.thread).collect() };
    let parts: Vec<String> = (0..nodes)
        .map(|n| (n, of(n)))
        .filter(|(_, ids)| !ids.is_empty())
        .map(|(n, ids)| {
            format!(
                "node {n} runs {}",
                if ids.len() == 1 { format!("thread {}", ids[0]) } else { format!("threads {}", ranges(&ids)) }
            )
        })
        .collect();
    let mut text = parts.join("; ");
    if text.is_empty() {
        return "No thread made a reference.".to_owned();
    }
    text.push('.');
    let how = e.binding.sentence();
    if how.is_empty() { capitalised(&text) } else { format!("{}. {}", capitalised(&how), capitalised(&text)) }
}

/// Where the data comes from and what it cannot show.
pub(super) fn provenance(out: &mut String, doc: &ReportDoc) {
    let mut inner = String::new();
    inner.push_str("<h3>What the recording could not see</h3>\n");
    list(&mut inner, &doc.blind, "Nothing was counted that was not recorded.");
    inner.push_str("<h3>Recording</h3>\n");
    facts(&mut inner, &doc.provenance);
    if let Some(c) = &doc.compare {
        inner.push_str("<h3>Second recording</h3>\n");
        facts(&mut inner, &c.provenance);
        list(&mut inner, &c.blind, "");
    }
    for e in distinct_machines(doc) {
        inner.push_str(&format!(
            "<h3>Machine <code>{}</code></h3>\n<p>{}</p>\n",
            esc(&e.machine),
            prose(&e.machine_title)
        ));
        list(&mut inner, &e.machine_sources, "");
    }
    let verified: Vec<String> =
        doc.evaluations.iter().filter_map(|e| e.verified.as_ref()).map(Verified::sentence).collect();
    if !verified.is_empty() {
        inner.push_str("<h3>Checked</h3>\n");
        list(&mut inner, &verified, "");
    }
    section(out, "Provenance", "", &inner);
}

fn distinct_machines(doc: &ReportDoc) -> Vec<&Evaluation> {
    let mut seen: Vec<&Evaluation> = Vec::new();
    for e in &doc.evaluations {
        if !seen.iter().any(|s| s.machine == e.machine) {
            seen.push(e);
        }
    }
    seen
}

fn facts(out: &mut String, p: &Provenance) {
    let status = match p.exit_status {
        None => "unknown".to_owned(),
        Some(n) if n < 0 => format!("killed by signal {}", n.unsigned_abs()),
        Some(n) => n.to_string(),
    };
    let complete = if p.complete { "ended in order" } else { "did not end in order" };
    let rows = [
        ("Dataset", p.dataset.clone()),
        ("Command", p.command.join(" ")),
        ("Exit status", format!("{status}; recording {complete}")),
        ("Recorded", p.recorded_at.clone().unwrap_or_else(|| "time not known".to_owned())),
        (
            "Without hooks",
            p.native.as_ref().map_or_else(|| "time not known: record --calibrate".to_owned(), native_words),
        ),
        ("Backend", format!("{}, clock {}, {} order", p.backend, p.clock, p.order)),
        ("Host", format!("{} ({} processors)", p.host, p.host_cpus)),
        (
            "Size",
            format!(
                "{} references ({} busy-wait), {} events, {}, {}",
                integer(p.refs),
                integer(p.spins),
                integer(p.events),
                plural(p.threads, "thread", "threads"),
                plural(p.processes, "process", "processes")
            ),
        ),
        ("Written by", format!("homenode {}", p.homenode)),
    ];
    let items: String = rows.iter().map(|(k, v)| format!("<dt>{k}</dt><dd>{}</dd>\n", esc(v))).collect();
    out.push_str(&format!("<dl class=\"facts\">\n{items}</dl>\n"));
}
