//! E6: the constants of chapter 6, which must agree exactly.
use super::program::Program;
use super::{CLAIMS, Found, Gathered, Spec, Study};
use crate::doc::Table;
use crate::judging::rules::Measures;
use homenode_base::{Cost, NodeId};
use homenode_command::Failure;
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
        let columns = ["machine", "r printed", "r", "R printed", "R"].map(str::to_owned).to_vec();
        let why = "computed from lambda 50, o_h 2, o_s 75 by the formulas of section 6.1";
        Ok(Found {
            tables: vec![Table { title: "table 6.3 from table 6.2".into(), columns, rows }],
            judged: vec![
                CLAIMS.ruled("table-6.3", eight, &Measures::of([("rows as printed", f64::from(u8::from(agree)))]), why),
                CLAIMS.ruled("page-numa", page.to_string(), &Measures::of([("cost", page as f64)]), why),
                CLAIMS.ruled("page-cc", lines.to_string(), &Measures::of([("cost", lines as f64)]), "64 lines of 184"),
            ],
            ..Found::default()
        })
    }
}
