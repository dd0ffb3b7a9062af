//! Options that take a name of a family: completions and man pages list the members, and whatever else the option takes (a file, an
//! expression such as `ace(2)`, a list) is taken as before.
use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::error::Error;
use clap::{Arg, Command};
use homenode_toolkit::families;
use std::ffi::OsStr;

/// A name that is in no list, with a line about it.
type Word = (&'static str, &'static str);

/// The names that an option may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Names {
    /// Family, as `homenode list` has it; empty for none.
    family: &'static str,
    /// Further names.
    more: &'static [Word],
}

/// The members of a family.
pub(crate) const fn family(family: &'static str) -> Names {
    Names { family, more: &[] }
}

/// Names that no family has.
pub(crate) const fn words(more: &'static [Word]) -> Names {
    Names { family: "", more }
}

impl Names {
    /// With further names.
    pub(crate) const fn and(self, more: &'static [Word]) -> Names {
        Names { more, ..self }
    }

    /// Every name with a line about it.
    fn all(self) -> Vec<(String, String)> {
        let members = match self.family {
            "" => Vec::new(),
            "families" => members(None),
            family => members(Some(family)),
        };
        // Parameters have defaults, and parentheses mean something to shells.
        let plain = |name: String| name.split('(').next().unwrap_or_default().to_owned();
        let members = members.into_iter().map(|m| (plain(m.name), m.summary));
        let more = self.more.iter().map(|(name, summary)| ((*name).to_owned(), (*summary).to_owned()));
        members.chain(more).collect()
    }
}

/// The members of a family, or the families. That there is one of each name, the test of the command line says.
fn members(family: Option<&str>) -> Vec<families::Member> {
    families::list(family).map(|l| l.members).unwrap_or_default()
}

/// The command with the values of all options in its help: on man pages there is room for them.
pub(crate) fn shown(command: Command) -> Command {
    command.mut_args(|a| a.hide_possible_values(false)).mut_subcommands(shown)
}

/// Lines for fish, whose completions know options alone: the names that the first argument of a command may be.
pub(crate) fn fish_arguments(command: &Command) -> String {
    let mut out = String::new();
    let quoted = |text: &str| text.replace('\\', "\\\\").replace('\'', "\\'");
    for inner in command.get_subcommands() {
        let hidden = inner.get_positionals().filter(|a| a.is_hide_possible_values_set());
        for value in hidden.flat_map(Arg::get_possible_values) {
            let about = value.get_help().map(ToString::to_string).unwrap_or_default();
            let (name, value, about) = (inner.get_name(), value.get_name(), quoted(&about));
            out += &format!(
                "complete -c homenode -n '__fish_homenode_using_subcommand {name}' -f -a '{value}' -d '{about}'\n"
            );
        }
    }
    out
}

impl TypedValueParser for Names {
    type Value = String;

    fn parse_ref(&self, cmd: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<String, Error> {
        StringValueParser::new().parse_ref(cmd, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.all().into_iter().map(|(name, summary)| PossibleValue::new(name).help(summary))))
    }
}

/// Machines by name.
pub(crate) const MACHINE: Names = family("machines").and(&[("this", "the machine that this runs on")]);
/// Rules that bind threads to processors.
pub(crate) const MAP: Names = words(&[
    ("sockets", "equal groups of consecutive threads, one a node"),
    ("compact", "fill the first node, then the second"),
    ("spread", "round robin over nodes"),
    ("recorded", "where the recorded affinity calls put them"),
]);
/// Steps of shared virtual memory.
pub(crate) const STEP: Names = family("svm-steps").and(&[("genima", "the whole ladder, as nil")]);
/// Protocols of page coherence.
pub(crate) const PROTOCOL: Names = family("protocols").and(&[("all", "all of these")]);
/// Capture backends.
pub(crate) const BACKEND: Names = family("backends").and(&[("auto", "the one that sees most of those that work here")]);
/// Regimes that `run` compares.
pub(crate) const REGIME: Names = words(&[
    ("first-touch", "as the kernel places pages, its balancing off"),
    ("interleave", "pages dealt round the nodes"),
    ("autonuma", "the kernel's balancing on"),
    ("homenode", "this plan, or the live loop"),
]);
/// The optimum of studies.
pub(crate) const OPTIMUM: Names =
    words(&[("cost", "its cost"), ("parts", "its moves and copies too"), ("none", "no optimum")]);
/// Homes of pages by a rule.
pub(crate) const HOMES: Names = words(&[
    ("first-touch", "with who touches them first"),
    ("round-robin", "page by page in turn"),
    ("block", "equal parts of each piece of memory"),
]);
/// Sizes of a paper's programs.
pub(crate) const SIZE: Names =
    words(&[("XS", "seconds"), ("S", "minutes"), ("M", "tens of minutes"), ("P", "that of the paper: hours")]);

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    /// Every option of a command and of those below it.
    fn options(command: &Command) -> Vec<(String, Arg)> {
        let own = command.get_arguments().map(|a| (command.get_name().to_owned(), a.clone()));
        own.chain(command.get_subcommands().flat_map(options)).collect()
    }

    #[test]
    fn options_that_take_names_have_some_and_help_stays_short() {
        let mut count = 0;
        for (command, option) in options(&crate::args::Cli::command()) {
            let values = option.get_possible_values();
            // Two words and more of a list in the program text are clap's affair.
            if option.is_hide_possible_values_set() {
                count += 1;
                assert!(values.len() >= 2, "{command} {}: {values:?}", option.get_id());
                assert!(
                    values.iter().all(|v| v.get_help().is_some() && !v.get_name().contains(['(', ' '])),
                    "{values:?}"
                );
            }
        }
        assert!(count >= 25, "{count}");
    }

    #[test]
    fn whatever_stands_there_is_taken() {
        let command = crate::args::Cli::command();
        for text in ["ace(2)", "./mine.toml", "interrupts=0", "", "no-such"] {
            assert_eq!(MACHINE.parse_ref(&command, None, OsStr::new(text)).unwrap(), text);
        }
    }
}
