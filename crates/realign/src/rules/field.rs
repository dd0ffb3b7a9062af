//! By field: one layout for the whole run, as a programmer could give it to the program.
use super::{Opening, PAGE_BYTES, Param, Spec, Values};
use crate::fields::Relocated;
use crate::{PAGE_BYTES_MAX, RealignError, WORD_BYTES};
use homenode_trace::order::Source;

pub(crate) static SPEC: Spec = Spec {
    name: "field",
    summary: "One layout for the whole run: objects padded, fields moved to pages of the processor that uses them or grouped",
    note: "rows realigned by field: one layout for the whole run that a programmer could write, made with knowledge of the run \
           (homenode report on a machine with [coherence] says what it changes)",
    params: &PARAMS,
    check: |values| check(page_bytes(values).unwrap_or(PAGE_BYTES)),
    page_bytes,
    window: |_| 0,
    open: |values, what| {
        let page_bytes = page_bytes(values).unwrap_or(what.page_bytes);
        check(page_bytes)?;
        let Opening { source, objects, bindings, private, .. } = what;
        Ok(Box::new(Relocated::new(source, objects, bindings, page_bytes, private)) as Box<dyn Source>)
    },
};

static PARAMS: [Param; 1] =
    [Param::variant("page", "bytes of the pages that it is for; 0: of those simulated", 0, PAGE_BYTES_MAX as u32)];

fn page_bytes(values: &Values) -> Option<u64> {
    Some(u64::from(values[0])).filter(|n| *n != 0)
}

fn check(page_bytes: u64) -> Result<(), RealignError> {
    let possible = page_bytes.is_power_of_two() && (WORD_BYTES..=PAGE_BYTES_MAX).contains(&page_bytes);
    if possible { Ok(()) } else { Err(RealignError::Page(page_bytes)) }
}
