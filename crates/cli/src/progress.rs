//! Progress bars on stderr, only where somebody looks.
use homenode_toolkit::Progress;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;

/// A bar or spinner; silent if stderr is not a terminal or `--quiet` was given.
pub(crate) struct Bar(ProgressBar);

impl Bar {
    pub(crate) fn new(quiet: bool) -> Bar {
        let shown = !quiet && std::io::stderr().is_terminal();
        let target = if shown { ProgressDrawTarget::stderr_with_hz(8) } else { ProgressDrawTarget::hidden() };
        Bar(ProgressBar::with_draw_target(None, target))
    }
}

impl Progress for Bar {
    fn at(&mut self, stage: &str, done: u64, total: Option<u64>) {
        if self.0.length() != total || self.0.message() != stage {
            let shape = match total {
                Some(_) => "{msg:<24} [{bar:30}] {percent:>3} %  {human_pos} of {human_len}, {eta} left",
                None => "{msg:<24} {spinner} {human_pos}, {elapsed}",
            };
            self.0.set_style(ProgressStyle::with_template(shape).unwrap_or_else(|_| ProgressStyle::default_bar()));
            self.0.set_message(stage.to_owned());
            total.map_or_else(|| self.0.unset_length(), |t| self.0.set_length(t));
        }
        self.0.set_position(done);
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
