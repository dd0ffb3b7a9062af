//! E6: the constants of chapter 6, which must agree exactly.
use super::program::Program;
use super::{CLAIMS, Found, Gathered, Spec, Study};
use homenode_base::{Cost, NodeId};
use homenode_command::Failure;
use homenode_judging::doc::Table;
use homenode_judging::rules::Measures;
use homenode_machine::models::family::{MEMBERS, Parameters};
use homenode_machine::{AccessClass, Location, Machine};

pub(super) static SPEC: Spec = Spec { id: "E6", title: "constants of chapter 6", begin: Gathered::<Constants>::boxed };

struct Constants;

/// Table 6.3: machine, remote reference (none: infinite), move of a block of this many bytes.
const PRINTED: [(&str, Option<i64>, u64, i64); 5] = [
    ("cc", None, 64, 184),
    ("cc-plus", Some(102), 64, 184),
    ("numa", Some(102), 4096, 2323),
    ("dsm", None, 4096, 2323),
    ("dsm-plus", Some(250), 4096, 2323),
];

/// Coefficients of lambda, o_h and o_s.
type Formula = [i64; 3];
/// Table 6.2 without half the bytes of a block in R: machine, r (none: infinite), R. Table 6.1 follows: whether words are
/// reached without a move, and whether o_h or o_s is in a move.
const FORMULAS: [(&str, Option<Formula>, Formula); 5] = [
    ("cc", None, [3, 1, 0]),
    ("cc-plus", Some([2, 1, 0]), [3, 1, 0]),
    ("numa", Some([2, 1, 0]), [4, 0, 1]),
    ("dsm", None, [4, 0, 1]),
    ("dsm-plus", Some([2, 0, 2]), [4, 0, 1]),
];

/// r and R of a machine of the family, from what a unit more of each parameter adds.
fn formulas(name: &str) -> Result<(Option<Formula>, Formula), Failure> {
    let member = MEMBERS.iter().find(|m| m.name == name).expect("the family of the thesis");
    let priced = |more: [u32; 3]| -> Result<(Cost, i64), Failure> {
        let base = Parameters::default();
        let [lambda, o_h, o_s] = [base.lambda + more[0], base.o_h + more[1], base.o_s + more[2]];
        let m = member.build(&Parameters { lambda, o_h, o_s, ..base }).map_err(Failure::work)?;
        let [here, there] = [0, 1].map(|n| Location::Node(NodeId(n)));
        Ok((m.access(AccessClass::Read, NodeId(0), there), m.copy_cost(64, here, there).0))
    };
    let base = priced([0; 3])?;
    let (mut word, mut block) = ([0; 3], [0; 3]);
    for i in 0..3 {
        let more = priced(std::array::from_fn(|j| u32::from(i == j)))?;
        block[i] = more.1 - base.1;
        word[i] = if base.0 == Cost::INFINITE { 0 } else { more.0.0 - base.0.0 };
    }
    Ok(((base.0 != Cost::INFINITE).then_some(word), block))
}

/// Tables 6.1 and 6.2 from the machines, and how many rows are as printed.
fn table_6_2() -> Result<(Table, usize), Failure> {
    let written = |f: Formula| {
        let parts = f.iter().zip(["lambda", "o_h", "o_s"]).filter(|(c, _)| **c != 0);
        parts
            .map(|(c, name)| if *c == 1 { name.to_owned() } else { format!("{c} {name}") })
            .collect::<Vec<_>>()
            .join(" + ")
    };
    let (mut all, mut right) = (Vec::new(), 0);
    for (name, printed_r, printed_move) in FORMULAS {
        let (r, block) = formulas(name)?;
        right += usize::from((r, block) == (printed_r, printed_move));
        let remote = match r {
            None => "no",
            Some([_, 0, _]) => "by trap",
            Some(_) => "yes",
        };
        let coherence = if block[2] == 0 { "hardware" } else { "software" };
        let formulas = [r, printed_r].map(|f| f.map_or("infinite".into(), written));
        let moves = [block, printed_move].map(|f| written(f) + " + bytes / 2");
        all.push([vec![name.into(), remote.into(), coherence.into()], formulas.to_vec(), moves.to_vec()].concat());
    }
    let columns = ["machine", "remote words in hardware", "coherence", "r", "r printed", "R", "R printed"];
    let title = "tables 6.1 and 6.2 from what a unit more of each parameter adds".into();
    Ok((Table { title, columns: columns.map(str::to_owned).to_vec(), rows: all }, right))
}

impl Study for Constants {
    type Measured = ();
    const LOOKS: bool = false;
    fn measure(_: &Program) -> Result<(), Failure> {
        Ok(())
    }
    fn conclude(_: Vec<()>) -> Result<Found, Failure> {
        let machine = |name: &str| -> Result<Machine, Failure> {
            let member = MEMBERS.iter().find(|m| m.name == name).expect("the family of the thesis");
            member.build(&Parameters::default()).map_err(Failure::work)
        };
        let mut rows = Vec::new();
        let mut agree = true;
        for (name, r, bytes, copy) in PRINTED {
            let m = machine(name)?;
            let [here, there] = [0, 1].map(|n| Location::Node(NodeId(n)));
            let ours = (m.access(AccessClass::Read, NodeId(0), there), m.copy_cost(bytes, here, there));
            agree &= ours == (r.map_or(Cost::INFINITE, Cost), Cost(copy));
            let words = |r: Option<i64>| r.map_or("infinite".to_owned(), |r| r.to_string());
            let ours_r = (ours.0 != Cost::INFINITE).then_some(ours.0.0);
            rows.push(vec![name.into(), words(r), words(ours_r), copy.to_string(), ours.1.0.to_string()]);
        }
        let copy = |name: &str, bytes: u64| -> Result<i64, Failure> {
            Ok(machine(name)?.copy_cost(bytes, Location::Node(NodeId(0)), Location::Node(NodeId(1))).0)
        };
        let (page, lines) = (copy("numa", 4096)?, copy("cc", 64)? * (4096 / 64));
        let eight =
            if agree { "all eight numbers as printed" } else { "not all eight numbers as printed: see the table" };
        let (formulas, right) = table_6_2()?;
        let measured = Measures::of([("machines as printed", right as f64)]);
        let columns = ["machine", "r printed", "r", "R printed", "R"].map(str::to_owned).to_vec();
        let why = "computed from lambda 50, o_h 2, o_s 75 by the formulas of section 6.1";
        Ok(Found {
            tables: vec![formulas, Table { title: "table 6.3 from table 6.2".into(), columns, rows }],
            judged: vec![
                CLAIMS.ruled(
                    "table-6.1",
                    format!("{right} of 5 machines"),
                    &measured,
                    "remote words and coherence follow from r and R",
                ),
                CLAIMS.ruled(
                    "table-6.2",
                    format!("{right} of 5 machines"),
                    &measured,
                    "r and R of the machines that all studies use",
                ),
                CLAIMS.ruled("table-6.3", eight, &Measures::of([("rows as printed", f64::from(u8::from(agree)))]), why),
                CLAIMS.ruled("page-numa", page.to_string(), &Measures::of([("cost", page as f64)]), why),
                CLAIMS.ruled("page-cc", lines.to_string(), &Measures::of([("cost", lines as f64)]), "64 lines of 184"),
            ],
            ..Found::default()
        })
    }
}
