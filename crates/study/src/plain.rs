//! The plain engine, asked once per machine and block size: what everything else must equal.
use crate::jobs::protocols;
use crate::{Answer, Charged, Question, Row, StudyError, Want, What};
use homenode_machine::Machine;
use homenode_placement::policies::Choice;
use homenode_placement::{Solved, Tally};
use homenode_sim::{Engine, Priced, Setup};
use homenode_trace::Merged;

/// The answer, slowly.
///
/// # Errors
/// The question cannot be answered.
pub fn answer(question: &Question, refs: &[Merged]) -> Result<Answer, StudyError> {
    question.check()?;
    if !question.protocols.is_empty() {
        return Ok(protocols::answer(question, refs));
    }
    let blocks_touched = vec![0; question.blocks.len()];
    let charged = vec![Charged::default(); question.machines.len()];
    let mut answer = Answer { blocks_touched, charged, ..Answer::default() };
    let mut known = vec![false; question.blocks.len()];
    for m in 0..question.machines.len() {
        for (b, block_bytes) in question.blocks.iter().copied().enumerate() {
            if !question.usable(m, block_bytes) {
                continue;
            }
            let (priced, asked) = price(question, m, block_bytes, refs)?;
            answer.rows.extend(rows(question, m, block_bytes, &priced, &asked));
            if !std::mem::replace(&mut known[b], true) {
                answer.blocks_touched[b] = priced.blocks.len() as u64;
            }
            answer.charged[m] = Charged {
                accesses: priced.totals.memory_accesses,
                transfers: priced.totals.transfers,
                transfer_cost: priced.totals.transfer_cost,
            };
        }
    }
    let known_thread = |r: &&Merged| (r.thread as usize) < question.bindings[0].len();
    answer.refs = refs.iter().filter(known_thread).map(|r| u64::from(r.weight)).sum();
    let first = question.machines.iter().position(|m| m.sections.caches.is_none());
    answer.accesses = first.map_or(0, |m| answer.charged[m].accesses);
    Ok(answer)
}

/// The policies that this machine can carry out at this block size, with their places in the question.
pub(crate) fn possible(question: &Question, machine: &Machine, block_bytes: u64) -> Vec<(u32, Choice)> {
    let able = |(_, c): &(u32, Choice)| c.engine(machine, block_bytes).is_ok();
    (0..).zip(question.policies.iter().cloned()).filter(able).collect()
}

fn price(
    question: &Question,
    machine: usize,
    block_bytes: u64,
    refs: &[Merged],
) -> Result<(Priced, Vec<u32>), StudyError> {
    let bindings = &question.bindings[machine];
    let setup =
        Setup { machine: &question.machines[machine], bindings, block_bytes, options: question.options, waits: &[] };
    let (asked, policies): (Vec<u32>, Vec<Choice>) = possible(question, setup.machine, block_bytes).into_iter().unzip();
    let bounds = question.without_replication != Want::None || question.with_replication != Want::None;
    let mut engine = Engine::new(setup, &policies, None)?;
    engine.refs(refs);
    let mut priced = engine.finish()?;
    if bounds {
        // By itself: policies that look at times keep accesses apart, and where a machine breaks the conditions of the
        // optimum (R > 2G) that may change it.
        let mut engine = Engine::new(setup, &[], Some(question.start))?;
        engine.refs(refs);
        priced.bounds = engine.finish()?.bounds;
    }
    Ok((priced, asked))
}

fn rows(question: &Question, machine: usize, block_bytes: u64, priced: &Priced, asked: &[u32]) -> Vec<Row> {
    let row = |what, cost, parts, optimum, exact| Row {
        machine: machine as u32,
        block_bytes,
        what,
        cost,
        parts,
        optimum,
        exact,
        done: None,
    };
    let tallied = |what, tally: &Tally, parts: bool| row(what, tally.total(), parts.then_some(*tally), None, true);
    let solved =
        |what, found: Solved, want, exact| row(what, found.cost, None, (want == Want::Parts).then_some(found), exact);
    let mut rows: Vec<Row> =
        asked.iter().zip(&priced.policies).map(|(p, tally)| tallied(What::policy(*p), tally, true)).collect();
    if question.best_static != Want::None {
        rows.push(tallied(What::BEST_STATIC, &priced.best_static, question.best_static == Want::Parts));
    }
    if let Some(bounds) = &priced.bounds {
        if question.without_replication != Want::None {
            let (found, want) = (bounds.without_replication, question.without_replication);
            rows.push(solved(What::WITHOUT_REPLICATION, found, want, true));
        }
        if question.with_replication != Want::None {
            let (found, want) = (bounds.with_replication, question.with_replication);
            rows.push(solved(What::WITH_REPLICATION, found, want, bounds.exact));
        }
    }
    rows
}
