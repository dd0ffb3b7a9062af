//! `homenode sim cluster` as one page of HTML that needs no other file, and no scripts: everything that is drawn stands as a number beside it or in the
//! tables below.
mod bars;

use super::doc::{RowDoc, SimClusterDoc};
use super::tables::Titled;
use homenode_cluster::TIMES;
use homenode_judging::html::{framed, notes};
use homenode_table::esc;

const STYLE: &str = include_str!("../../../assets/cluster.css");

/// What the model has not, whatever the recording.
const LEFT_OUT: [&str; 6] = [
    "Times are a model's and not measured; instructions take a cycle each. docs/design/cluster.md says what is modelled, and what of it is a choice of ours.",
    "Queues of network interfaces have no end, and links have no contention but at the node that sends; servers have no priorities: first come, first served.",
    "Who is a page's home is known without asking; a page's first touch in virtual time makes its home.",
    "A diff has the words that were written, also where they were written with what they were.",
    "Reader-writer locks are mutexes, barriers are of all threads; by other synchronisation threads wait as recorded.",
    "What a change saves is the difference of two runs: threads come to locks and to first touches in another order, which by itself makes runs some percent \
     longer or shorter. What changes save alone does not add up to what they save together.",
];

impl SimClusterDoc {
    /// The page.
    pub fn to_html(&self) -> String {
        let mut out = format!("<p>{}</p>\n", esc(&self.introduction()));
        out.push_str(&self.figures());
        out.push_str(&notes(self.notes.iter().chain(&self.checked()).chain(&self.injected())));
        section(&mut out, "Where the time goes", &(bars::legend() + &bars::times(self)));
        said(&mut out, &self.said(|r| r.cause.as_ref()));
        folded(&mut out, &[self.times()]);
        if self.in_phases().next().is_some() {
            out.push_str(&format!("<h3>By phase of the program</h3>\n{}", bars::phases(self)));
            folded(&mut out, &[self.phases()]);
        }
        if self.rows.iter().any(|r| r.what_if.is_some()) {
            section(&mut out, "What a change would save", &bars::tornado(self));
            said(&mut out, &self.compared());
        }
        section(&mut out, "What is busy", &bars::servers(self));
        said(&mut out, &self.said(|r| r.limit.as_ref()));
        folded(&mut out, &[self.servers()]);
        section(&mut out, "What threads wait for", "");
        self.waited_for().iter().for_each(|t| titled(&mut out, t));
        section(&mut out, "What the program could do without", "");
        said(&mut out, &self.advised());
        section(&mut out, "What the protocol does", "");
        self.work().iter().for_each(|t| titled(&mut out, t));
        section(&mut out, "What the model leaves out", &notes(&LEFT_OUT.map(str::to_owned)));
        framed(&esc(&format!("{} on {}", self.name(), self.machine)), STYLE, &out)
    }

    /// The last part of the dataset's path.
    fn name(&self) -> &str {
        self.dataset.trim_end_matches('/').rsplit('/').next().unwrap_or(&self.dataset)
    }

    fn introduction(&self) -> String {
        let list = |of: fn(&RowDoc) -> String| {
            let mut all: Vec<String> = Vec::new();
            self.plain().map(of).for_each(|word| {
                if !all.contains(&word) {
                    all.push(word)
                }
            });
            all.join(", ")
        };
        let gaps = if self.gaps == 1.0 { String::new() } else { format!(", instructions taken {} times", self.gaps) };
        format!(
            "{}: shared virtual memory by {} on {} (nodes x processors) of {} MHz{gaps}, in virtual time.",
            self.subject(),
            list(|r| r.row.protocol.to_owned()),
            list(RowDoc::shape),
            self.mhz
        )
    }

    /// Of the fastest row of the machine as it is, what is asked first.
    fn figures(&self) -> String {
        let Some(r) = self.plain().max_by(|a, b| a.speedup.total_cmp(&b.speedup)) else { return String::new() };
        let (class, share) = TIMES
            .iter()
            .map(|(name, of)| (*name, r.share(of(&r.row))))
            .max_by(|a, b| a.1.total_cmp(&b.1))
            .unwrap_or_default();
        let server = r.row.servers.iter().max_by_key(|s| s.busiest);
        let of = format!("{} {}", r.shape(), r.row.protocol);
        let figures = [
            ("Speedup", format!("{:.2}", r.speedup), format!("best: {of}")),
            (
                "If only work took time",
                format!("{:.2}", r.ideal),
                "computing and local misses, evenly shared".to_owned(),
            ),
            ("Most time", format!("{share:.0} %"), class.to_owned()),
            (
                "Busiest server",
                server.map_or("–".to_owned(), |s| format!("{:.0} %", r.used(s))),
                server.map_or("", |s| s.name).to_owned(),
            ),
        ];
        let figure = |(name, value, note): &(&str, String, String)| {
            format!("<div><dt>{name}</dt><dd>{}<span>{}</span></dd></div>\n", esc(value), esc(note))
        };
        format!("<dl class=\"counts\">\n{}</dl>\n", figures.iter().map(figure).collect::<String>())
    }
}

fn section(out: &mut String, title: &str, inside: &str) {
    out.push_str(&format!("<h2>{title}</h2>\n{inside}"));
}

fn titled(out: &mut String, (title, table): &Titled) {
    if table.is_empty() {
        return out.push_str(&format!("<h3>{}: none</h3>\n", esc(title)));
    }
    out.push_str(&format!("<h3>{}</h3>\n{}", esc(title), table.html()));
}

fn folded(out: &mut String, tables: &[Titled]) {
    out.push_str("<details><summary>Numbers</summary>\n");
    tables.iter().for_each(|t| titled(out, t));
    out.push_str("</details>\n");
}

/// Sentences below what they are of.
fn said(out: &mut String, sentences: &[String]) {
    let items: String = sentences.iter().map(|s| format!("<li>{}.</li>\n", esc(s))).collect();
    if !items.is_empty() {
        out.push_str(&format!("<ul class=\"said\">\n{items}</ul>\n"));
    }
}
