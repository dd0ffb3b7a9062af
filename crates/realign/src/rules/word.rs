//! By word: what one processor uses of a falsely shared page moves, window by window.
use super::{Opening, PAGE_BYTES, Param, Spec, Values};
use crate::{PAGE_BYTES_MAX, Realigned, Realignment, SHARE_WHOLE, WINDOW, WINDOW_MAX};
use homenode_trace::order::Source;

/// Parts of a whole in which a share is written.
const SHARE_PARTS: u32 = 1000;

pub(crate) static SPEC: Spec = Spec {
    name: "word",
    summary: "In each window, words of falsely shared pages that one processor uses move to pages of its own",
    note: "rows realigned by word: in each window, words of falsely shared pages that one processor uses lie in pages of its own; \
           moves cost nothing: a bound for a change of layout, not a policy",
    params: &PARAMS,
    check: |values| how(values, PAGE_BYTES).check(),
    page_bytes,
    window: |values| how(values, PAGE_BYTES).window,
    open: |values, what| {
        let Opening { source, objects, bindings, page_bytes, private } = what;
        let moved = Realigned::new(source, objects, bindings, how(values, page_bytes), private)?;
        Ok(Box::new(moved) as Box<dyn Source>)
    },
};

static PARAMS: [Param; 3] = [
    Param { min: 1, ..Param::variant("window", "references of a window", WINDOW as u32, WINDOW_MAX as u32) },
    Param::variant(
        "page",
        "bytes of the pages that candidates are marked by; 0: of those simulated",
        0,
        PAGE_BYTES_MAX as u32,
    ),
    Param::variant("share", "in a thousand: windows of as many shared references; 0: of all", 0, SHARE_PARTS),
];

fn page_bytes(values: &Values) -> Option<u64> {
    Some(u64::from(values[1])).filter(|n| *n != 0)
}

/// What is done to the references of simulated pages of this size.
fn how(values: &Values, simulated: u64) -> Realignment {
    let page_bytes = page_bytes(values).unwrap_or(simulated);
    let how = Realignment { window: values[0].into(), ..Realignment::by_pages_of(page_bytes) };
    match values[2] {
        0 => how,
        share => how.shared_alone(u64::from(share) * (SHARE_WHOLE / u64::from(SHARE_PARTS))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Counted;

    #[test]
    fn values_say_what_is_done() {
        let of = |values: Values| how(&values, 256);
        let plain = of([1_000_000, 0, 0]);
        assert_eq!((plain.page_bytes, plain.window, plain.counted), (256, 1_000_000, Counted::All));
        let shared = of([5, 0, 250]);
        assert_eq!((shared.page_bytes, shared.window, shared.counted), (256, 1, Counted::Shared));
        assert_eq!(of([1, 4096, 0]).page_bytes, 4096);
    }
}
