//! Progress on stderr: a bar where somebody looks, a line now and then where a file or a pipe does.
use homenode_command::Progress;
use indicatif::{HumanCount, HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use std::fmt::Write;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// Lines in a log come this far apart; work that takes less time says nothing.
const LINES: Duration = Duration::from_secs(10);
/// Steps of work that is told: who is told oftener would look at the clock all the time.
const STEPS: u64 = 4096;
/// How long the rest takes is said from this share of the work on: before, a slow start would make it weeks.
const SHARE_TOLD: f64 = 0.01;

/// A bar or spinner, or lines if stderr is not a terminal; silent if `--quiet` was given.
pub(crate) struct Bar {
    bar: ProgressBar,
    /// Only where there is no terminal.
    log: Option<Log>,
    /// What was done when it was last told.
    told: u64,
}

impl Bar {
    pub(crate) fn new(quiet: bool) -> Bar {
        let terminal = std::io::stderr().is_terminal();
        let shown = !quiet && terminal;
        let target = if shown { ProgressDrawTarget::stderr_with_hz(8) } else { ProgressDrawTarget::hidden() };
        let log = (!quiet && !terminal).then(|| Log::new(Instant::now()));
        Bar { bar: ProgressBar::with_draw_target(None, target), log, told: 0 }
    }
}

impl Progress for Bar {
    fn at(&mut self, stage: &str, done: u64, total: Option<u64>) {
        let step = total.map_or(0, |total| total / STEPS);
        if done > self.told && done - self.told < step {
            return;
        }
        self.told = done;
        if let Some(log) = &mut self.log {
            if let Some(line) = log.line(Instant::now(), stage, done, total) {
                eprintln!("{line}");
            }
            return;
        }
        if self.bar.length() != total || self.bar.message() != stage {
            let shape = match total {
                Some(_) => "{msg:<24} [{bar:30}] {percent:>3} %, {elapsed}{left}",
                None => "{msg:<24} {spinner} {human_pos}, {elapsed}",
            };
            let style = ProgressStyle::with_template(shape).unwrap_or_else(|_| ProgressStyle::default_bar());
            self.bar.set_style(style.with_key("left", write_left));
            self.bar.set_message(stage.to_owned());
            total.map_or_else(|| self.bar.unset_length(), |t| self.bar.set_length(t));
        }
        self.bar.set_position(done);
    }
    fn is_watched(&self) -> bool {
        !self.bar.is_hidden()
    }
    fn say(&mut self, sentence: &str) {
        self.bar.println(sentence);
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// The time left, if there is enough to tell.
fn write_left(state: &ProgressState, out: &mut dyn Write) {
    if state.fraction() >= SHARE_TOLD as f32 {
        // Nothing can be done about a terminal that takes nothing.
        let _ = write!(out, ", at most about {} left", HumanDuration(state.eta()));
    }
}

/// When to write the next line, and what it says.
struct Log {
    began: Instant,
    last: Instant,
}

impl Log {
    fn new(now: Instant) -> Log {
        Log { began: now, last: now }
    }

    fn line(&mut self, now: Instant, stage: &str, done: u64, total: Option<u64>) -> Option<String> {
        if now.duration_since(self.last) < LINES {
            return None;
        }
        self.last = now;
        let elapsed = now.duration_since(self.began);
        let so_far = HumanDuration(elapsed);
        let Some(total) = total.filter(|t| *t > 0) else {
            return Some(format!("homenode: {stage}: {}, {so_far}", HumanCount(done)));
        };
        let share = done.min(total) as f64 / total as f64;
        let left = if share >= SHARE_TOLD { elapsed.as_secs_f64() * (1.0 - share) / share } else { f64::INFINITY };
        let left = match Duration::try_from_secs_f64(left) {
            Ok(left) => format!(", at most about {} left", HumanDuration(left)),
            Err(_) => String::new(),
        };
        Some(format!("homenode: {stage}: {:.0} %, {so_far}{left}", share * 100.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_gets_a_line_every_ten_seconds_with_the_time_left() {
        let start = Instant::now();
        let mut log = Log::new(start);
        let mut at = |seconds, done, total| log.line(start + Duration::from_secs(seconds), "replaying", done, total);
        assert_eq!(at(9, 10, Some(100)), None);
        let said = at(10, 25, Some(100)).expect("ten seconds have passed");
        assert_eq!(said, "homenode: replaying: 25 %, 10 seconds, at most about 30 seconds left");
        assert_eq!(at(19, 50, Some(100)), None);
        assert_eq!(at(20, 1_234, None).expect("ten more"), "homenode: replaying: 1,234, 20 seconds");
        assert_eq!(at(60, 0, Some(7)).expect("more"), "homenode: replaying: 0 %, 60 seconds");
        assert_eq!(at(70, 4, Some(1000)).expect("more"), "homenode: replaying: 0 %, 70 seconds");
    }
}
