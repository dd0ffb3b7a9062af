//! Lines of the source beside a finding, with what each costs.
use super::escape::esc;
use crate::compare::{first_touch, share};
use crate::source::{AROUND, Sources, places, rows_of};
use crate::units::percent;
use homenode_base::TotalCost;
use homenode_sim::Evaluation;
use homenode_sim::evaluation::Finding;
use std::collections::BTreeMap;

/// The lines, file by file; nothing if none could be read.
pub(super) fn excerpts(e: &Evaluation, f: &Finding, sources: &Sources) -> String {
    let mut of_file: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    for (file, line) in places(e, f) {
        of_file.entry(file).or_default().push(line);
    }
    of_file.iter().map(|(file, lines)| excerpt(e, sources, file, lines)).collect()
}

fn excerpt(e: &Evaluation, sources: &Sources, name: &str, marked: &[u32]) -> String {
    let Some(file) = sources.get(name).filter(|f| marked.iter().any(|l| f.lines.contains_key(l))) else {
        return String::new();
    };
    let near = |line: u32| marked.iter().any(|m| m.abs_diff(line) <= AROUND);
    let shown: Vec<(u32, &str)> =
        file.lines.iter().filter(|(line, _)| near(**line)).map(|(line, text)| (*line, text.as_str())).collect();
    let mut rows = String::new();
    for (i, (line, text)) in shown.iter().enumerate() {
        let gap = i > 0 && shown[i - 1].0 + 1 < *line;
        let mark = match (marked.contains(line), gap) {
            (true, true) => " class=\"at gap\"",
            (true, false) => " class=\"at\"",
            (false, true) => " class=\"gap\"",
            (false, false) => "",
        };
        rows.push_str(&format!(
            "<tr{mark}><td class=\"n\">{}</td><td class=\"n\">{line}</td><td><pre>{}</pre></td></tr>\n",
            cost(e, name, *line),
            esc(&text.replace('\t', "    "))
        ));
    }
    let changed =
        if file.changed { " – changed since it was compiled or recorded: lines may have moved" } else { "" };
    format!(
        "<figure class=\"source\"><figcaption><code>{}</code>{changed}</figcaption>\n<div class=\"code\" tabindex=\"0\" role=\"region\" aria-label=\"Source lines and their share of the memory cost\">\
         <table><tbody>\n{rows}</tbody></table></div></figure>\n",
        esc(name)
    )
}

/// The share of the line in the memory cost.
fn cost(e: &Evaluation, file: &str, line: u32) -> String {
    let mut rows = rows_of(e, file, line).peekable();
    if rows.peek().is_none() {
        return String::new();
    }
    let cost: TotalCost = rows.map(|l| l.cost).sum();
    first_touch(e).map_or(String::new(), |base| esc(&percent(share(cost, base.total))))
}
