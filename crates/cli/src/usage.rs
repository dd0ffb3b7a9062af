//! Mistakes in a command line, said in one line that ends with what to look at.
use crate::args::Cli;
use clap::CommandFactory;
use clap::error::ErrorKind;
use std::ffi::OsString;

/// The line for a mistake in these words; `None` if this is no mistake but help or the version.
pub(crate) fn mistake(e: &clap::Error, words: &[OsString]) -> Option<String> {
    use ErrorKind::{DisplayHelp, DisplayHelpOnMissingArgumentOrSubcommand, DisplayVersion};
    if matches!(e.kind(), DisplayHelp | DisplayVersion | DisplayHelpOnMissingArgumentOrSubcommand) {
        return None;
    }
    Some(line(&e.render().to_string(), &help(words.iter().skip(1).map(|w| w.to_string_lossy().into_owned()))))
}

/// The command that explains the one that was meant.
fn help(words: impl Iterator<Item = String>) -> String {
    let cli = Cli::command();
    let (mut command, mut named) = (&cli, "homenode".to_owned());
    for word in words {
        if !command.has_subcommands() {
            break;
        }
        if let Some(inner) = command.find_subcommand(&word) {
            named = format!("{named} {}", inner.get_name());
            command = inner;
        }
    }
    format!("{named} --help")
}

/// clap's paragraphs as one line: what is wrong, then its tips, without the usage.
fn line(text: &str, help: &str) -> String {
    let mut said: Vec<String> = Vec::new();
    for paragraph in text.split("\n\n") {
        let joined = paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
        if joined.starts_with("Usage:") {
            break;
        }
        if !joined.is_empty() && !joined.starts_with("For more information") {
            said.push(joined.strip_prefix("error: ").unwrap_or(&joined).to_owned());
        }
    }
    format!("{}; see '{help}'", said.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    fn said(words: &[&str]) -> String {
        let e = Cli::try_parse_from(std::iter::once(&"homenode").chain(words)).expect_err("a mistake");
        line(&e.render().to_string(), &help(words.iter().map(|w| (*w).to_owned())))
    }

    #[test]
    fn mistakes_are_one_line_that_names_the_help() {
        let missing = said(&["compact"]);
        assert_eq!(
            missing,
            "the following required arguments were not provided: <DATASET>; see 'homenode compact --help'"
        );
        let unknown = said(&["record", "--limit-ref", "5", "--", "./a"]);
        assert!(unknown.contains("--limit-refs") && unknown.ends_with("see 'homenode record --help'"), "{unknown}");
        let value = said(&["record", "--limit-refs", "0", "./a"]);
        assert!(value.contains("at least 1, such as 250000, 10M or 2G"), "{value}");
        assert!(said(&["sim", "memory", "--json", "--csv", "x.hnt"]).ends_with("see 'homenode sim memory --help'"));
        assert!(said(&["reprot"]).ends_with("see 'homenode --help'"));
        assert!([missing, unknown, value].iter().all(|l| !l.contains('\n')));
        let help = Cli::try_parse_from(["homenode", "record", "--help"]).expect_err("no command");
        assert_eq!(mistake(&help, &[]), None);
    }

    #[test]
    fn a_program_needs_no_dashes_before_it_and_keeps_its_own_options() {
        for words in [["record", "--json", "./a", "-n", "4"].as_slice(), &["run", "./a", "--", "-x", "--json"]] {
            Cli::try_parse_from(std::iter::once(&"homenode").chain(words)).expect("no dashes are needed");
        }
    }
}
