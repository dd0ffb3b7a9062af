//! `homenode report`: what is printed and written, and what a gate makes of it.
use super::{Done, model, order, print};
use crate::args::Report;
use crate::progress::Bar;
use homenode_command::{Failure, output};
use homenode_toolkit as toolkit;
use std::io::IsTerminal;

pub(super) fn report(a: &Report, quiet: bool) -> Done {
    let gate = toolkit::Gate::new(a.gate.fail_above, a.gate.baseline.as_deref())?;
    let request = request(a, gate.as_ref());
    if let Some(path) = &a.output {
        output::refuse_kind(path, &["html", "htm", "json"])?;
    }
    for path in a.output.iter().chain(&a.gate.sarif) {
        output::refuse_existing(path, a.force)?;
    }
    let some_pages = toolkit::has_some_pages(&request.dataset)?;
    if some_pages {
        refuse_of_some_pages(a)?;
    }
    let document = if a.quick || some_pages {
        // What a recording of some pages says is the whole report of it.
        let doc = toolkit::quick(&request, a.changes || !a.quick, &mut Bar::new(quiet))?;
        let (width, colour) = terminal();
        print(&if a.json { doc.to_json() } else { toolkit::quick_text(&doc, width, colour) })?;
        doc.to_json()
    } else {
        toolkit::first_answer(&request, &mut Bar::new(quiet));
        let doc = toolkit::report(&request, &mut Bar::new(quiet))?;
        show(a, &doc)?;
        doc.to_json()
    };
    gate.map_or(Ok(0), |gate| judged(&gate, &document, a.gate.github))
}

fn request(a: &Report, gate: Option<&toolkit::Gate>) -> toolkit::ReportRequest {
    toolkit::ReportRequest {
        dataset: a.dataset.clone(),
        compare: a.compare.clone(),
        machine: a.machine.clone(),
        blocks: a.block.clone(),
        policies: a.policy.clone(),
        map: a.map.clone(),
        order: order(a.order, 1),
        charge_spins: a.charge_spins,
        model: model(a.model),
        threshold_percent: gate.map_or(a.threshold, |g| a.threshold.min(g.threshold_percent())),
        verify: a.verify,
        capacity: a.capacity.clone(),
    }
}

/// What there is no answer to in a recording of some pages.
fn refuse_of_some_pages(a: &Report) -> Result<(), Failure> {
    let given = [
        ("--output", a.output.is_some()),
        ("--compare", a.compare.is_some()),
        ("--verify", a.verify),
        ("--charge-spins", a.charge_spins),
        ("--capacity", !a.capacity.is_empty()),
        ("--sarif", a.gate.sarif.is_some()),
        ("--github", a.gate.github),
    ];
    match given.into_iter().find(|(_, given)| *given) {
        Some((option, _)) => {
            let why = "this recording has some pages alone (record --sample), of which there are estimates on the terminal and as --json";
            Err(Failure::usage(format!("{option}: {why}")))
        }
        None => Ok(()),
    }
}

/// Writes and prints a whole report.
fn show(a: &Report, doc: &toolkit::ReportDoc) -> Result<(), Failure> {
    let annotated = a.gate.sarif.is_some() || a.gate.github;
    let annotated = annotated.then(|| toolkit::annotate(doc, a.gate.source_root.as_deref())).transpose()?;
    if let Some((path, annotated)) = a.gate.sarif.as_ref().zip(annotated.as_ref()) {
        output::write(path, annotated.sarif(doc).as_bytes())?;
        if annotated.without_place > 0 {
            let n = annotated.without_place;
            eprintln!(
                "homenode: warning: --sarif: {n} of the findings have no file and line, and are left out; compile with -g"
            );
        }
    }
    if a.json {
        return print(&doc.to_json()).map(|_| ());
    }
    if let Some(path) = &a.output {
        let json = path.extension().is_some_and(|e| e == "json");
        output::write(path, if json { doc.to_json() } else { toolkit::html(doc) }.as_bytes())?;
    }
    let (width, colour) = terminal();
    print(&toolkit::text(doc, width, colour))?;
    annotated.filter(|_| a.gate.github).map_or(Ok(()), |annotated| print(&annotated.github()).map(|_| ()))
}

/// Says what a gate says: doubts whatever is quiet, and what fails in one line.
fn judged(gate: &toolkit::Gate, document: &str, github: bool) -> Done {
    let judged = gate.judge(document)?;
    let asked = gate.asked();
    for doubt in &judged.doubts {
        let line = Failure::work(format!("{asked}: {doubt}"));
        eprintln!("homenode: warning: {line}");
        if github {
            print(&toolkit::github_message(toolkit::Level::Warning, &line.to_string()))?;
        }
    }
    if judged.failures.is_empty() {
        return Ok(0);
    }
    let line = Failure::work(format!("{asked}: {}", judged.failures.join("; ")));
    if github {
        print(&toolkit::github_message(toolkit::Level::Error, &line.to_string()))?;
    }
    Err(line)
}

/// Width of the terminal and whether to colour (<https://no-color.org>).
fn terminal() -> (usize, bool) {
    let shown = std::io::stdout().is_terminal();
    (output::columns(), shown && std::env::var_os("NO_COLOR").is_none())
}
