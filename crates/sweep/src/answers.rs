//! The answer of a unit as a part of the work. One of another study counts as not there, and its unit is computed again.
use crate::store::ResultStore;
use crate::task::Unit;
use homenode_base::TotalCost;
use homenode_coherence::{EFFECTS, Effects};
use homenode_command::Failure;
use homenode_placement::{Solved, Tally};
use homenode_study::{Answer, Charged, Done, Row, What};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    study: String,
    unit: Unit,
    seconds: f64,
    rows: Vec<RowFile>,
    refs: u64,
    accesses: u64,
    blocks_touched: Vec<u64>,
    charged: Vec<(u64, u64, TotalCost)>,
}

/// Machine, block size, what (family and member), cost, exact, parts, optimum, what a protocol did.
type RowFile = (u32, u64, (String, u32), TotalCost, bool, Option<Parts>, Option<Optimum>, Option<DoneFile>);
/// Local, remote, global, movement, moves, copies.
type Parts = (TotalCost, TotalCost, TotalCost, TotalCost, u64, u64);
/// Effects, references between processors.
type DoneFile = ([u64; EFFECTS], u64);
/// Movement, moves, copies.
type Optimum = (TotalCost, u64, u64);

fn name(unit: Unit) -> String {
    format!("answer-{}-{}-{}.json", unit.replay, unit.batch, unit.group)
}

/// Writes the answer; the file appears whole or not at all.
pub(crate) fn write(
    store: &ResultStore,
    study: &str,
    unit: Unit,
    seconds: f64,
    answer: &Answer,
) -> Result<(), Failure> {
    let charged = |c: &Charged| (c.accesses, c.transfers, c.transfer_cost);
    let file = File {
        study: study.to_owned(),
        unit,
        seconds,
        rows: answer.rows.iter().map(pack).collect(),
        refs: answer.refs,
        accesses: answer.accesses,
        blocks_touched: answer.blocks_touched.clone(),
        charged: answer.charged.iter().map(charged).collect(),
    };
    store.put(&name(unit), &file)
}

/// The answer of a unit and the seconds it took, if it is there.
pub(crate) fn read(store: &ResultStore, study: &str, unit: Unit) -> Option<(Answer, f64)> {
    let file: File = store.get(&name(unit)).filter(|f: &File| f.study == study && f.unit == unit)?;
    let charged = |(accesses, transfers, transfer_cost)| Charged { accesses, transfers, transfer_cost };
    let answer = Answer {
        rows: file.rows.into_iter().map(unpack).collect::<Option<_>>()?,
        refs: file.refs,
        accesses: file.accesses,
        blocks_touched: file.blocks_touched,
        charged: file.charged.into_iter().map(charged).collect(),
    };
    Some((answer, file.seconds))
}

fn pack(row: &Row) -> RowFile {
    let what = (row.what.family().name.to_owned(), row.what.member());
    let parts = row.parts.map(|p| (p.local, p.remote, p.global, p.movement, p.moves, p.copies));
    let optimum = row.optimum.map(|o| (o.movement, o.moves, o.copies));
    let done = row.done.map(|d| (d.effects.0, d.between));
    (row.machine, row.block_bytes, what, row.cost, row.exact, parts, optimum, done)
}

fn unpack((machine, block_bytes, what, cost, exact, parts, optimum, done): RowFile) -> Option<Row> {
    let what = What::of(&what.0, what.1)?;
    let tally =
        |(local, remote, global, movement, moves, copies)| Tally { local, remote, global, movement, moves, copies };
    let solved = |(movement, moves, copies)| Solved { cost, movement, moves, copies };
    let (parts, optimum) = (parts.map(tally), optimum.map(solved));
    let done = done.map(|(effects, between)| Done { effects: Effects(effects), between });
    Some(Row { machine, block_bytes, what, cost, parts, optimum, exact, done })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer() -> Answer {
        let tally =
            Tally { local: TotalCost(1), movement: TotalCost(1 << 100), moves: 7, copies: 9, ..Tally::default() };
        let row = |what, parts, optimum| Row {
            machine: 3,
            block_bytes: 64,
            what,
            cost: TotalCost(i128::from(u64::MAX) * 1000),
            parts,
            optimum,
            exact: optimum.is_none(),
            done: (what == What::protocol(3)).then_some(Done { effects: Effects([9; EFFECTS]), between: 4 }),
        };
        let cost = TotalCost(i128::from(u64::MAX) * 1000);
        let solved = Solved { cost, movement: TotalCost(5), moves: 2, copies: 3 };
        Answer {
            rows: vec![
                row(What::policy(0), Some(tally), None),
                row(What::BEST_STATIC, None, None),
                row(What::WITH_REPLICATION, None, Some(solved)),
                row(What::protocol(3), Some(tally), None),
                row(What::COHERENCE, None, None),
            ],
            refs: 5,
            accesses: 6,
            blocks_touched: vec![1, 2],
            charged: vec![Charged { accesses: 6, transfers: 1, transfer_cost: TotalCost(40) }],
        }
    }

    #[test]
    fn answers_come_back_and_damage_is_seen() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("work")).unwrap();
        let store = ResultStore::at(dir.path());
        let unit = Unit { replay: 1, group: 2, batch: 3 };
        write(&store, "digest", unit, 0.5, &answer()).unwrap();
        assert_eq!(read(&store, "digest", unit), Some((answer(), 0.5)));
        assert_eq!(read(&store, "another", unit), None);
        assert_eq!(read(&store, "digest", Unit { group: 1, ..unit }), None);
        let path = store.work(&name(unit));
        let whole = std::fs::read(&path).unwrap();
        for i in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[i] ^= 1;
            std::fs::write(&path, &damaged).unwrap();
            assert_eq!(read(&store, "digest", unit), None, "byte {i}");
            std::fs::write(&path, &whole[..i]).unwrap();
            assert_eq!(read(&store, "digest", unit), None, "{i} bytes");
        }
    }
}
