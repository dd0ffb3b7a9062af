//! Running an operation of the protocol to its end on the calling thread.
use std::pin::pin;
use std::task::{Context, Poll, Waker};

/// The result of an operation. Where it waits, it does so itself, in `until_rung`.
pub(crate) fn block_on<F: Future>(operation: F) -> F::Output {
    let mut operation = pin!(operation);
    let mut context = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(result) = operation.as_mut().poll(&mut context) {
            return result;
        }
        std::hint::spin_loop();
    }
}
