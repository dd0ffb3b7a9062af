//! Kill -9 of the program or the recorder at random moments.
use crate::actor::MARK;
use std::process::Command;

/// The cases of this file.
pub(crate) const ALL: &[crate::Case] = &[];

/// This test as another process that acts.
pub(crate) fn actor(words: &[&str]) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.arg(MARK).args(words);
    command
}
