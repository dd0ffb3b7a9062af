//! Calls of a thread that markers speak of: which function, with which arguments, what it returned.
use super::entry::marker;
use super::functions::{Does, Functions};

/// Arguments that are looked at.
const ARGUMENTS: usize = 3;
/// Most calls within calls. Those that order threads hold one or two others of them; more have lost their returns.
const DEPTH_MAX: usize = 4;

/// A call of a function that orders threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Call {
    number: u64,
    pub(super) arguments: [u64; ARGUMENTS],
    /// Arguments that were seen.
    seen: usize,
}

/// What has happened to a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Happened {
    /// The call begins, and says later when it returns, or it never will.
    Begun { does: Does, call: Call, returns: bool },
    /// The call has returned this.
    Returned { does: Does, call: Call, result: u64 },
}

/// Calls that a thread is in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Calls {
    /// The function that markers speak of.
    function: Option<u64>,
    /// The call whose arguments come.
    begins: Option<Call>,
    /// Calls that have not returned, the outermost first.
    open: Vec<Call>,
}

impl Calls {
    /// Markers speak of this function from here on; none that is known.
    pub(super) fn speak(&mut self, function: Option<u64>) {
        (self.function, self.begins) = (function, None);
    }

    /// What a marker says; `None` where that is not the begin or the end of a call that counts. A call within another one is part of
    /// how that is done.
    pub(super) fn marker(&mut self, what: u16, value: u64, functions: &mut Functions) -> Option<Happened> {
        let number = self.function?;
        match what {
            marker::RETURN_ADDRESS => {
                functions.called(number);
                self.begins = Some(Call { number, ..Call::default() });
                None
            }
            marker::ARGUMENT => {
                let mut call = self.begins.take()?;
                let function = functions.get(number)?;
                let does = function.does?;
                call.arguments[call.seen] = value;
                call.seen += 1;
                if call.seen < does.needs() {
                    self.begins = Some(call);
                    return None;
                }
                let outer = self.open.is_empty();
                if function.returns {
                    if self.open.len() == DEPTH_MAX {
                        self.open.clear();
                    }
                    self.open.push(call);
                }
                outer.then_some(Happened::Begun { does, call, returns: function.returns })
            }
            marker::RESULT => {
                self.begins = None;
                // Calls within it that have not returned never will.
                let at = self.open.iter().rposition(|call| call.number == number)?;
                let call = self.open[at];
                self.open.truncate(at);
                let does = functions.get(number)?.does?;
                self.open.is_empty().then_some(Happened::Returned { does, call, result: value })
            }
            _ => None,
        }
    }
}
