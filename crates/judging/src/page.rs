//! A reproduction as text and as a page in Markdown.
use crate::doc::{self, ReproduceDoc, Verdict};
use homenode_command::{Failure, output};
use homenode_table::{Column, Layout, Table};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

const WRITES: &str = "writing to a string cannot fail";

impl ReproduceDoc {
    /// Tables and verdicts for a terminal.
    pub fn to_text(&self) -> String {
        text(self)
    }
}

fn text(doc: &ReproduceDoc) -> String {
    let mut out = format!("{} at size {}: {}\n", doc.experiment, doc.size, doc.programs);
    for table in &doc.tables {
        writeln!(out, "\n{}", table.title).expect(WRITES);
        out.push_str(&shown(table).text(&Layout { indent: 2, ..Layout::default() }));
    }
    out.push_str("\nClaims\n");
    for c in &doc.claims {
        let ours = if c.ours.is_empty() { String::new() } else { format!(" ours: {};", c.ours) };
        writeln!(out, "  {}: {} ({}): {}\n     {ours} {}", c.verdict.words(), c.what, c.place, c.theirs, c.why)
            .expect(WRITES);
    }
    doc.notes.iter().for_each(|n| writeln!(out, "note: {n}").expect(WRITES));
    out
}

/// Makes a folder if it is missing.
pub fn make(folder: &Path) -> Result<(), Failure> {
    std::fs::create_dir_all(folder).map_err(|e| Failure::work(format!("cannot create {}: {e}", folder.display())))
}

/// A picture of a page.
pub struct Picture {
    /// Title.
    pub title: String,
    /// Name of its file.
    pub file: String,
    /// What is in that.
    pub svg: String,
}

impl Picture {
    /// Writes a picture as `NAME.svg` with its data as `NAME.csv` into a folder, which is made if missing.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn written(folder: &Path, name: &str, title: &str, svg: String, csv: &str) -> Result<Picture, Failure> {
        make(folder)?;
        let file = format!("{name}.svg");
        output::write(&folder.join(format!("{name}.csv")), csv.as_bytes())?;
        output::write(&folder.join(&file), svg.as_bytes())?;
        Ok(Picture { title: title.to_owned(), file, svg })
    }
}

/// What a page shows together.
pub struct Section<'a> {
    /// The 8 of `E8`; none where nothing is numbered.
    pub number: Option<u32>,
    /// Tables.
    pub tables: Vec<&'a doc::Table>,
    /// Pictures.
    pub pictures: Vec<&'a Picture>,
}

/// Tables and pictures, experiment by experiment where they are numbered: the picture `E8-gauss.svg` goes with the table
/// `E8 block size`. What has no number comes last.
pub fn sections<'a>(doc: &'a ReproduceDoc, pictures: &'a [Picture]) -> Vec<Section<'a>> {
    let of_tables = doc.tables.iter().filter_map(|t| number(&t.title));
    let numbers: BTreeSet<u32> = of_tables.chain(pictures.iter().filter_map(|p| number(&p.file))).collect();
    let of = |n: Option<u32>| Section {
        number: n,
        tables: doc.tables.iter().filter(|t| number(&t.title) == n).collect(),
        pictures: pictures.iter().filter(|p| number(&p.file) == n).collect(),
    };
    numbers.into_iter().map(Some).chain([None]).map(of).collect()
}

/// The page: first what a reader wants to know, then tables and pictures.
pub fn markdown(doc: &ReproduceDoc, pictures: &[Picture]) -> String {
    let mut out = format!("# {} at size {}\n\n{}\n\n{}\n", doc.experiment, doc.size, doc.programs, verdicts(doc));
    let show = |out: &mut String, pictures: &[&Picture]| {
        pictures.iter().for_each(|p| write!(out, "\n![{}]({})\n", p.title, p.file).expect(WRITES));
    };
    let all = sections(doc, pictures);
    let (numbered, rest) = all.split_at(all.len() - 1);
    rest.iter().for_each(|s| show(&mut out, &s.pictures));
    out.push('\n');
    doc.notes.iter().for_each(|n| writeln!(out, "* {n}").expect(WRITES));
    claims(&mut out, doc);
    for section in numbered {
        if let (Some(n), true) = (section.number, section.tables.is_empty()) {
            write!(out, "\n## E{n}\n").expect(WRITES);
        }
        section.tables.iter().for_each(|t| table(&mut out, t));
        show(&mut out, &section.pictures);
    }
    rest.iter().flat_map(|s| &s.tables).for_each(|t| table(&mut out, t));
    out
}

/// The 8 of `E8-gauss.svg` and of `E8 block size`.
fn number(text: &str) -> Option<u32> {
    text.strip_prefix('E')?.split([' ', '-', '.']).next()?.parse().ok()
}

fn table(out: &mut String, table: &doc::Table) {
    write!(out, "\n## {}\n\n{}", table.title, shown(table).markdown()).expect(WRITES);
}

/// The first column to the left, the others to the right.
pub(crate) fn shown(table: &doc::Table) -> Table {
    let first = table.columns.iter().take(1).map(|name| Column::words(name, 0));
    let mut shown = Table::new(first.chain(table.columns.iter().skip(1).map(Column::number)).collect());
    table.rows.iter().for_each(|row| shown.push_words(row));
    shown
}

fn verdicts(doc: &ReproduceDoc) -> String {
    let count = |v: Verdict| doc.claims.iter().filter(|c| c.verdict == v).count();
    let [agree, differ, unsettled, identity, unknown, open] = Verdict::ALL.map(count);
    let open = if open == 0 { String::new() } else { format!(", {open} are not judged with these programs") };
    format!(
        "Of {} published claims {agree} agree, {differ} differ, {unsettled} are unsettled, {identity} hold for any programs, \
         {unknown} cannot be known{open}.",
        doc.claims.len()
    )
}

fn claims(out: &mut String, doc: &ReproduceDoc) {
    let mut table = Table::new(["claim", "where", "published", "ours", "verdict", "why"].map(Column::named).into());
    for c in &doc.claims {
        table.push_words([&c.what, &c.place, &c.theirs, &c.ours, c.verdict.words(), &c.why]);
    }
    write!(out, "\n## Claims\n\n{}", table.markdown()).expect(WRITES);
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::doc::Claim;

    /// Tables out of order, and three claims.
    pub(crate) fn document() -> ReproduceDoc {
        let table =
            |title: &str| doc::Table { title: title.into(), columns: vec!["a|b".into()], rows: vec![vec!["1".into()]] };
        let claim = |verdict| Claim {
            what: "E2: it is so".into(),
            place: "section 1".into(),
            theirs: "3".into(),
            ours: "4".into(),
            verdict,
            why: "because".into(),
        };
        ReproduceDoc {
            schema: "",
            experiment: "thesis".into(),
            size: "S".into(),
            programs: "two".into(),
            tables: vec![table("F4 last"), table("E2 one"), table("E2 two"), table("E10 ten")],
            claims: vec![claim(Verdict::Agrees), claim(Verdict::Differs), claim(Verdict::Agrees)],
            notes: vec!["a note".into()],
        }
    }

    pub(crate) fn picture(file: &str) -> Picture {
        Picture { title: "picture".into(), file: file.into(), svg: "<?xml?>\n<svg width=\"1\"></svg>\n".into() }
    }

    #[test]
    fn a_page_says_first_what_came_out_and_keeps_pictures_with_their_tables() {
        let mut doc = document();
        let page = markdown(&doc, &["E10-x.svg", "E2-x.svg", "E3-x.svg", "all.svg"].map(picture));
        let order = [
            "Of 3 published claims 2 agree, 1 differ, 0 are unsettled, 0 hold for any programs, 0 cannot be known.",
            "](all.svg)",
            "* a note",
            "## Claims",
            "## E2 one",
            "## E2 two",
            "](E2-x.svg)",
            "## E3\n",
            "](E3-x.svg)",
            "## E10 ten",
            "](E10-x.svg)",
            "## F4 last",
        ];
        let places: Vec<usize> =
            order.iter().map(|what| page.find(what).unwrap_or_else(|| panic!("{what}: {page}"))).collect();
        assert!(places.is_sorted(), "{places:?}: {page}");
        assert!(page.contains("| a\\|b |"));
        doc.claims[0].verdict = Verdict::NotJudged;
        assert!(markdown(&doc, &[]).contains("0 cannot be known, 1 are not judged with these programs."));
    }
}
