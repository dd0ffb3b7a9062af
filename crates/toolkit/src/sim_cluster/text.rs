//! `homenode sim cluster` for people.
use super::doc::SimClusterDoc;
use super::tables::Titled;
use homenode_table::Layout;

impl SimClusterDoc {
    /// For people.
    pub fn to_text(&self) -> String {
        let mut text = format!("{}\n", self.subject());
        self.notes.iter().for_each(|n| text.push_str(&format!("note: {n}\n")));
        self.checked().iter().for_each(|c| text.push_str(&format!("{c}\n")));
        self.injected().iter().for_each(|c| text.push_str(&format!("{c}\n")));
        if self.rows.iter().any(|r| r.what_if.is_some()) {
            titled(&mut text, &self.saved());
            lines(&mut text, self.compared());
        }
        titled(&mut text, &self.times());
        lines(&mut text, self.said(|r| r.cause.as_ref()));
        if self.in_phases().next().is_some() {
            titled(&mut text, &self.phases());
        }
        self.work().iter().for_each(|t| titled(&mut text, t));
        titled(&mut text, &self.servers());
        lines(&mut text, self.said(|r| r.limit.as_ref()));
        self.waited_for().iter().for_each(|t| titled(&mut text, t));
        lines(&mut text, self.advised());
        text
    }
}

fn titled(text: &mut String, (title, table): &Titled) {
    text.push_str(&format!("\n{title}\n"));
    text.push_str(&table.text(&Layout { indent: 2, absent: "-", ..Layout::default() }));
}

/// Sentences below a table.
fn lines(text: &mut String, lines: Vec<String>) {
    if !lines.is_empty() {
        text.push('\n');
    }
    lines.iter().for_each(|line| text.push_str(&format!("{line}\n")));
}
