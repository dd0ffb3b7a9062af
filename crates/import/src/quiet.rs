//! Panics that are caught and become errors, without the text that a panic writes to stderr beside them.
use std::cell::Cell;
use std::panic;
use std::sync::Once;

thread_local! {
    /// Whether whoever runs on this thread catches panics and says himself what is wrong.
    static CAUGHT: Cell<bool> = const { Cell::new(false) };
}

/// Calls something that catches the panics within it: these are not reported. Panics of other threads are, and those of this one before
/// and after the call: the hook that reports them is asked for all others.
pub(crate) fn quietly(call: &mut dyn FnMut()) {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let reports = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !CAUGHT.get() {
                reports(info);
            }
        }));
    });
    let _restored = Restored(CAUGHT.replace(true));
    call();
}

/// Puts back what was, also where a panic leaves the call after all.
struct Restored(bool);

impl Drop for Restored {
    fn drop(&mut self) {
        CAUGHT.set(self.0);
    }
}
