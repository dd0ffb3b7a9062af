//! What samples say about a point, and what they cannot say.
use homenode_command::Failure;
use homenode_study::analyses::{Bootstrap, Judged, judge};
use homenode_study::{Answer, Question};

/// Fixed, so that a sweep that was interrupted gives the same table.
const BOOTSTRAP: Bootstrap = Bootstrap { seed: 1, resamples: 400 };

/// 95 % interval of the mean cost per access, and what to keep in mind.
pub(crate) type Estimate = (Option<(f64, f64)>, Option<&'static str>);

/// One estimate a row of the sum of the parts, which have no block in common.
pub(crate) fn estimates(question: &Question, parts: &[Answer]) -> Result<Vec<Estimate>, Failure> {
    let judged = judge(question, parts, BOOTSTRAP).map_err(Failure::work)?;
    let estimate = |(_, judged)| match judged {
        Judged::Known(e, note) => (Some((e.interval.low, e.interval.high)), (!note.is_empty()).then_some(note)),
        Judged::Unknown(why) => (None, Some(why)),
    };
    Ok(judged.into_iter().map(estimate).collect())
}
