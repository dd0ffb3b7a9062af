//! A page of the book for each command, from the definition that `--help`, man pages and completions are made of:
//! `cargo run -p xtask -- gen-commands`. With `--check` nothing is written: pages that differ, and pages of no command, are
//! named. `docs/SUMMARY.md` has the list of the pages between two marks.
use anyhow::{Context, bail, ensure};
use clap::{Arg, Command, CommandFactory};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

#[path = "../src/args/mod.rs"]
#[allow(dead_code, unused_imports, reason = "the command line's own module, of which the definition alone is used")]
mod args;

/// Begin and end of the list in the summary.
const MARKS: (&str, &str) = ("<!-- commands: cargo run -p xtask -- gen-commands -->\n", "<!-- end of commands -->\n");

/// Commands that somebody types, with their subcommands, in the order of `--help`.
fn commands(of: &Command, found: &mut Vec<Command>) {
    for command in of.get_subcommands().filter(|c| c.get_name() != "help") {
        if command.has_subcommands() {
            commands(command, found);
        } else {
            found.push(command.clone());
        }
    }
}

/// Full name, such as `homenode sim memory`.
fn name(command: &Command) -> String {
    command.get_bin_name().unwrap_or(command.get_name()).to_owned()
}

/// File of a command's page.
fn file(command: &Command) -> String {
    let name = name(command);
    let words = name.strip_prefix("homenode ").unwrap_or(&name);
    format!("{}.md", words.replace(' ', "-").replace("c++", "cxx"))
}

/// Text of a page.
fn page(command: &Command) -> anyhow::Result<String> {
    let mut text = format!("# {}\n\n", name(command));
    let about = command.get_long_about().or(command.get_about()).context("a command says what it does")?;
    writeln!(text, "{}.\n", plain(&about.to_string()))?;
    let usage = command.clone().render_usage().to_string();
    writeln!(text, "```text\n{}\n```", usage.trim_start_matches("Usage: ").replace("\n       ", "\n"))?;
    let (positional, options): (Vec<&Arg>, Vec<&Arg>) =
        command.get_arguments().filter(|a| !a.is_hide_set()).partition(|a| a.is_positional());
    for (title, arguments) in [("Arguments", positional), ("Options", options)] {
        if !arguments.is_empty() {
            writeln!(text, "\n## {title}\n")?;
        }
        arguments.into_iter().try_for_each(|argument| item(&mut text, argument))?;
    }
    if let Some(more) = command.get_after_long_help().or(command.get_after_help()) {
        writeln!(text, "\n## More\n\n```text\n{}\n```", more.to_string().trim_end())?;
    }
    Ok(text)
}

/// An argument with what it means, its values and its default.
fn item(text: &mut String, argument: &Arg) -> anyhow::Result<()> {
    let help = argument.get_long_help().or(argument.get_help()).map(ToString::to_string).unwrap_or_default();
    write!(text, "* **`{}`**: {}", spelled(argument), plain(&help))?;
    let defaults: Vec<_> = argument.get_default_values().iter().map(|d| d.to_string_lossy()).collect();
    let takes = argument.get_action().takes_values();
    if takes && !defaults.is_empty() && !argument.is_hide_default_value_set() {
        write!(text, " \\[default: `{}`\\]", defaults.join(" "))?;
    }
    writeln!(text)?;
    let values = if takes { argument.get_possible_values() } else { Vec::new() };
    for value in values.iter().filter(|v| !v.is_hide_set()) {
        let means = value.get_help().map(|h| format!(": {}", plain(&h.to_string()))).unwrap_or_default();
        writeln!(text, "  * `{}`{means}", value.get_name())?;
    }
    Ok(())
}

/// An argument as it is typed, with its aliases.
fn spelled(argument: &Arg) -> String {
    if argument.is_positional() {
        return argument.to_string();
    }
    let aliases = argument.get_visible_aliases().unwrap_or_default();
    let aliases = aliases.into_iter().map(|alias| format!(", --{alias}")).collect::<String>();
    match argument.get_short() {
        Some(short) if argument.get_long().is_some() => format!("-{short}, {argument}{aliases}"),
        _ => format!("{argument}{aliases}"),
    }
}

/// Help as Markdown: what stands outside of back quotes means itself.
fn plain(help: &str) -> String {
    let parts = help.split_whitespace().collect::<Vec<_>>().join(" ");
    let escaped = |part: &str| {
        ["<", ">", "*", "[", "]", "_"].iter().fold(part.to_owned(), |t, c| t.replace(c, &format!("\\{c}")))
    };
    let quoted = parts.split('`').enumerate().map(|(n, part)| if n % 2 == 0 { escaped(part) } else { part.to_owned() });
    quoted.collect::<Vec<_>>().join("`")
}

/// Every page, by its path below `docs`, with its text, and the list for the summary.
fn pages() -> anyhow::Result<(BTreeMap<String, String>, String)> {
    let mut root = args::Cli::command();
    root.build();
    let (mut found, mut pages, mut list) = (Vec::new(), BTreeMap::new(), String::from("- [Commands](commands.md)\n"));
    commands(&root, &mut found);
    let mut index = String::from(
        "# Commands\n\nThe text of `homenode COMMAND --help`, from the same source. Man pages: `homenode man DIR`.\n\n",
    );
    for command in &found {
        let (name, file) = (name(command), file(command));
        let about = command.get_about().map(|a| plain(&a.to_string())).unwrap_or_default();
        writeln!(index, "* [`{name}`](commands/{file}): {about}.")?;
        writeln!(list, "  - [{}](commands/{file})", name.trim_start_matches("homenode "))?;
        pages.insert(format!("commands/{file}"), page(command)?);
    }
    pages.insert("commands.md".into(), index);
    Ok((pages, list))
}

/// The summary with this list in it.
fn summary(text: &str, list: &str) -> anyhow::Result<String> {
    let (before, rest) = text.split_once(MARKS.0).context("docs/SUMMARY.md: no mark where commands begin")?;
    let (_, after) = rest.split_once(MARKS.1).context("docs/SUMMARY.md: no mark where commands end")?;
    Ok(format!("{before}{}{list}{}{after}", MARKS.0, MARKS.1))
}

fn main() -> anyhow::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let check = match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => false,
        ["--check"] => true,
        _ => bail!("usage: gen_commands [--check]"),
    };
    let docs = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs"));
    let (mut wanted, list) = pages()?;
    let old = std::fs::read_to_string(docs.join("SUMMARY.md")).context("docs/SUMMARY.md")?;
    wanted.insert("SUMMARY.md".into(), summary(&old, &list)?);
    std::fs::create_dir_all(docs.join("commands")).context("docs/commands")?;
    let mut wrong = Vec::new();
    for (file, text) in &wanted {
        if std::fs::read_to_string(docs.join(file)).is_ok_and(|there| there == *text) {
            continue;
        }
        match check {
            true => wrong.push(file.clone()),
            false => std::fs::write(docs.join(file), text).with_context(|| format!("docs/{file}"))?,
        }
    }
    for entry in std::fs::read_dir(docs.join("commands")).context("docs/commands")? {
        let file = format!("commands/{}", entry?.file_name().to_string_lossy());
        wrong.extend((!wanted.contains_key(&file)).then_some(file));
    }
    ensure!(
        wrong.is_empty(),
        "docs is not what the command line says: {}; run `cargo run -p xtask -- gen-commands`, and remove pages of no command",
        wrong.join(", ")
    );
    Ok(())
}
