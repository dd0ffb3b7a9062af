//! What a recording lacks, so that nodes learn less of each other than the program meant.
use homenode_trace::order::Granted;
use homenode_trace::{DatasetReader, Event, EventKind};

/// Sentences; none for most recordings.
pub fn notes(data: &DatasetReader) -> Vec<String> {
    unseen(data).into_iter().chain(unordered(data)).collect()
}

fn acquires(e: &Event) -> bool {
    matches!(e.kind, EventKind::Acquire { .. } | EventKind::AcqRel { .. })
}

/// Whether nothing in a recording orders its threads.
fn unordered(data: &DatasetReader) -> Option<String> {
    let is_alone = !data.events().iter().any(|e| acquires(&e)) && data.threads() > 1;
    is_alone.then(|| {
        "the recording has no synchronisation: nodes never learn of each other's writes, so a page is fetched once at most".to_owned()
    })
}

/// Synchronisation by which nodes learn nothing of each other.
fn unseen(data: &DatasetReader) -> Option<String> {
    let granted = Granted::default();
    let is_unseen = |e: &Event| acquires(e) && granted.object(data.shared(), data.address_space(e.thread), e).is_none();
    let count = data.events().iter().filter(|e| is_unseen(e)).count();
    (count > 0).then(|| {
        format!(
            "{count} times threads follow each other by something else than mutexes, reader-writer locks and barriers, such as another thread's end: nodes learn nothing of each other's writes by that (homenode sim cluster --check says whether reads find them)"
        )
    })
}
