//! The folded engine: one pass over some regions of a partition.
use crate::group::{Group, groups};
use crate::{Answer, Charged, Partition, Question, StudyError};
use std::ops::Range;

/// The answer as far as these regions go. Answers of disjoint ranges that cover all regions add up to that of the whole.
///
/// # Errors
/// The question cannot be answered, the partition was not made for it, or records cannot be read.
pub fn answer(question: &Question, partition: &Partition, regions: Range<usize>) -> Result<Answer, StudyError> {
    if regions.start > regions.end || regions.end > partition.regions() {
        return Err(StudyError::Range(regions.start, regions.end, partition.regions()));
    }
    let first_part = regions.start == 0;
    run(question, partition, regions, first_part)
}

/// The answer for any regions, each at most once, in any order. References and transfers are with the part of region 0.
///
/// # Errors
/// As [`answer`].
pub fn answer_these(question: &Question, partition: &Partition, regions: Vec<usize>) -> Result<Answer, StudyError> {
    if let Some(beyond) = regions.iter().find(|r| **r >= partition.regions()) {
        return Err(StudyError::Range(*beyond, beyond + 1, partition.regions()));
    }
    let first_part = regions.contains(&0);
    run(question, partition, regions.into_iter(), first_part)
}

fn run(
    question: &Question,
    partition: &Partition,
    regions: impl Iterator<Item = usize>,
    first_part: bool,
) -> Result<Answer, StudyError> {
    question.check()?;
    check(question, partition)?;
    let mut groups = groups(question, partition)?;
    for region in regions {
        for group in &mut groups {
            group.region(partition, region)?;
        }
    }
    let mut answer = Answer {
        blocks_touched: vec![0; question.blocks.len()],
        charged: vec![Charged::default(); question.machines.len()],
        refs: if first_part { partition.head.refs } else { 0 },
        ..Answer::default()
    };
    for group in &groups {
        answer.rows.extend(group.rows(&question.blocks));
        charge(question, partition, group, first_part, &mut answer.charged);
    }
    for (level, touched) in answer.blocks_touched.iter_mut().enumerate() {
        let first = (0..question.machines.len()).find(|m| question.usable(*m, question.blocks[level]));
        let group = first.and_then(|m| groups.iter().find(|g| g.machines.contains(&m)));
        *touched = group.map_or(0, |g| g.touched(level));
    }
    let first = question.machines.iter().position(|m| m.sections.caches.is_none());
    answer.accesses = first.map_or(0, |m| answer.charged[m].accesses);
    answer.rows.sort_by_key(|r| (r.machine, r.block_bytes, r.what));
    Ok(answer)
}

/// What the machines of a group saw.
fn charge(question: &Question, partition: &Partition, group: &Group<'_>, first_part: bool, charged: &mut [Charged]) {
    let transfers = partition.head.streams[group.stream].transfers;
    for &m in &group.machines {
        charged[m].accesses = group.accesses();
        if let (true, Some(c)) = (first_part, &question.machines[m].sections.caches) {
            charged[m].transfers = transfers.near + transfers.far;
            let [near, far] = [c.transfer_near.times(transfers.near), c.transfer_far.times(transfers.far)];
            charged[m].transfer_cost = near + far;
        }
    }
}

/// Whether the partition holds what the question needs, as far as streams do not say it.
fn check(question: &Question, partition: &Partition) -> Result<(), StudyError> {
    if question.blocks.last().is_some_and(|b| *b > partition.region_bytes()) {
        return Err(StudyError::Region(partition.region_bytes()));
    }
    let timed = question.timed();
    let head = &partition.head;
    let unlike = |s: &crate::partition::Stream| {
        (timed && !s.format.timed) || s.format.weighted != question.options.sampled.is_some()
    };
    if head.spins != question.options.charge_spins || head.streams.iter().any(unlike) {
        return Err(StudyError::Missing("(options, or times for a policy)".into()));
    }
    Ok(())
}
