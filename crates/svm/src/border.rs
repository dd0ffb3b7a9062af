//! What only the program's side of the border can do for this library: to call the program, and to end the process.
use std::io::Write;
use std::sync::OnceLock;

/// Functions that the library in front of the program gives.
#[derive(Clone, Copy, Debug)]
pub struct Border {
    /// Calls the function at an address with an argument.
    pub call: fn(u64, u64),
    /// Ends the process at once with status 1; also out of handlers of signals.
    pub end: fn() -> !,
}

static BORDER: OnceLock<(Border, fn())> = OnceLock::new();

/// Sets the functions, and what is to be noted when the process ends by [`die`]. False if they are set already.
pub(crate) fn set(border: Border, note: fn()) -> bool {
    BORDER.set((border, note)).is_ok()
}

/// Calls a function of the program.
pub(crate) fn call(start: u64, argument: u64) {
    if let Some((border, _)) = BORDER.get() {
        (border.call)(start, argument);
    }
}

/// Says something on stderr, a line at once: nodes may say something at the same time.
pub fn say(what: &str) {
    // Where nobody hears it, it is said in vain.
    let _ = std::io::stderr().write_all(format!("homenode: {what}\n").as_bytes());
}

/// Ends the process with a line on stderr. For what leaves nothing to go on with, wherever it happens.
pub(crate) fn die(what: &str) -> ! {
    say(&format!("shared memory: {what}"));
    match BORDER.get() {
        Some((border, note)) => {
            note();
            (border.end)()
        }
        None => std::process::abort(),
    }
}
