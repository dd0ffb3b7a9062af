//! Servers and the messages that queue for them, in order of arrival.
use super::path::Path;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A first-in first-out server.
#[derive(Clone, Copy, Debug, Default)]
struct Server {
    free_at: u64,
    waits: Waits,
}

/// How long messages stood in front of a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Waits {
    /// Messages served.
    pub served: u64,
    /// Cycles of service.
    pub busy: u64,
    /// Cycles of waiting.
    pub waited: u64,
}

/// What a message is to its thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// The request; what follows it goes out when it is through.
    First,
    /// One of those it waits for.
    Awaited,
    /// Nothing.
    Posted,
    /// None of a thread's: the memory system's, with its token.
    Call(u32),
}

#[derive(Clone, Copy, Debug)]
struct Message {
    path: Path,
    stage: u8,
    thread: u32,
    role: Role,
    order: u64,
    /// When all of it is through the stages that it began.
    tail: u64,
}

/// Where a message is after a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Moved {
    /// At its next stage at that time; its place among messages of one time.
    On(u64, u64),
    /// At its end now: whose it was, and what it was to it.
    Over(u32, Role),
}

/// All messages under way.
#[derive(Debug, Default)]
pub(super) struct Messages {
    servers: Vec<Server>,
    all: Vec<Message>,
    free: Vec<u32>,
    /// Messages that each thread has sent, and behind them the memory system.
    sent: Vec<u64>,
}

impl Messages {
    pub(super) fn new(servers: usize, threads: usize) -> Messages {
        Messages { servers: vec![Server::default(); servers], sent: vec![0; threads + 1], ..Messages::default() }
    }

    /// A message that begins its way; its number, and its place among messages of one time.
    pub(super) fn begin(&mut self, thread: u32, path: &Path, role: Role) -> (u32, u64) {
        let sent = &mut self.sent[thread as usize];
        *sent += 1;
        let order = u64::from(thread) << 40 | *sent & ((1 << 40) - 1);
        let message = Message { path: *path, stage: 0, thread, role, order, tail: 0 };
        match self.free.pop() {
            Some(number) => {
                self.all[number as usize] = message;
                (number, order)
            }
            None => {
                self.all.push(message);
                (self.all.len() as u32 - 1, order)
            }
        }
    }

    /// A message of the memory system.
    pub(super) fn call(&mut self, path: &Path, token: u32) -> (u32, u64) {
        self.begin(self.sent.len() as u32 - 1, path, Role::Call(token))
    }

    /// A message is at its next stage, or through.
    #[inline]
    pub(super) fn step(&mut self, number: u32, now: u64) -> Moved {
        let Messages { servers, all, free, .. } = self;
        let m = &mut all[number as usize];
        let (stages, mut time) = (m.path.stages(), now);
        while let Some(stage) = stages.get(usize::from(m.stage)) {
            let Some(server) = stage.server else {
                time += u64::from(stage.cycles);
                m.stage += 1;
                continue;
            };
            if time > now {
                return Moved::On(time, m.order);
            }
            let s = &mut servers[usize::from(server)];
            let begins = s.free_at.max(now);
            s.waits.served += 1;
            s.waits.waited += begins - now;
            s.waits.busy += u64::from(stage.cycles);
            s.free_at = begins + u64::from(stage.cycles);
            m.tail = m.tail.max(s.free_at);
            time = begins + u64::from(stage.head);
            m.stage += 1;
        }
        time = time.max(m.tail);
        // Nobody hears of the end of one that nobody waits for.
        if time > now && m.role != Role::Posted {
            return Moved::On(time, m.order);
        }
        free.push(number);
        Moved::Over(m.thread, m.role)
    }

    /// How each server was used.
    pub(super) fn waits(&self) -> Vec<Waits> {
        self.servers.iter().map(|s| s.waits).collect()
    }
}
