//! The border between the program and this library: who is inside is not interrupted, serves what was asked for meanwhile when it
//! leaves, and its time is counted.
use crate::me;
use crate::node::Node;
use crate::shared::{Class, Doing, WANTED};
use crate::transports::Transport;
use homenode_hlrc::operation::Operation;
use std::sync::atomic::Ordering;
use std::time::Instant;

/// A stay of a thread inside this library; it ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Inside<'n> {
    node: &'n Node,
    class: Class,
    /// When it began; `None` if the thread was inside already.
    since: Option<Instant>,
}

impl Node {
    /// Enters the library with the calling thread, which is one of the cluster's.
    pub(crate) fn enter(&self, class: Class) -> Inside<'_> {
        let since = me::deeper().then(|| {
            self.thread_words().does(me::id(), Doing::Inside);
            me::slept(false);
            Instant::now()
        });
        Inside { node: self, class, since }
    }

    /// Serves what other nodes have asked for until now.
    pub(crate) fn serve_now(&self) {
        self.noted.store(self.shared().word(WANTED).load(Ordering::SeqCst), Ordering::SeqCst);
        self.does(Operation::Serve);
        self.wire().flush();
    }

    /// Whether somebody wants this node to serve and nobody here has taken note.
    pub(crate) fn is_wanted(&self) -> bool {
        self.shared().word(WANTED).load(Ordering::SeqCst) != self.noted.load(Ordering::SeqCst)
    }
}

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        let Some(since) = self.since else {
            me::back();
            return;
        };
        self.node.wire().flush();
        let words = self.node.thread_words();
        let elapsed = u64::try_from(since.elapsed().as_nanos()).unwrap_or(u64::MAX);
        words.time(self.class).fetch_add(elapsed, Ordering::Relaxed);
        loop {
            // First said, then looked: whoever asks looks in the other order, so one of the two sees the other.
            me::back();
            words.does(me::id(), Doing::Computing);
            if !self.node.is_wanted() {
                return;
            }
            me::deeper();
            words.does(me::id(), Doing::Inside);
            let since = Instant::now();
            self.node.serve_now();
            let elapsed = u64::try_from(since.elapsed().as_nanos()).unwrap_or(u64::MAX);
            words.time(Class::Serving).fetch_add(elapsed, Ordering::Relaxed);
        }
    }
}
