//! The manual: every command with all its options, in Markdown, from the same source as the help.

use std::io::{self, Write};

use clap::{Arg, ArgAction, Command, CommandFactory};
use serow_config::markdown::escaped;

use crate::{command_error::CommandError, command_line::CommandLine};

/// Prints the manual.
pub(crate) fn print() -> Result<(), CommandError> {
    io::stdout().write_all(text().as_bytes()).map_err(CommandError::output)
}

fn text() -> String {
    let mut command = CommandLine::command();
    command.build();
    let mut text = "# The command line\n\n".to_owned();
    text.push_str("<!-- Made by `serow manual > docs/manual.md`; do not edit. -->\n\n");
    text.push_str(&description(&command));
    for command in command.get_subcommands().filter(|command| !command.is_hide_set() && command.get_name() != "help") {
        text.push_str(&section("serow", command));
        for below in command.get_subcommands() {
            text.push_str(&section(&format!("serow {}", command.get_name()), below));
        }
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

/// A command and its options; `before` is what stands before its name.
fn section(before: &str, command: &Command) -> String {
    let name = command.get_name();
    let positionals = command.get_positionals().map(|positional| match positional.get_action() {
        ArgAction::Append => format!(" [{}...]", value_name(positional)),
        _ => format!(" [{}]", value_name(positional)),
    });
    let mut text =
        format!("## {before} {name}{} [OPTIONS]\n\n{}", positionals.collect::<String>(), description(command));
    let mut heading = None;
    let is_told =
        |argument: &&Arg| !argument.is_hide_set() && !matches!(argument.get_id().as_str(), "help" | "version");
    for argument in command.get_arguments().filter(is_told) {
        if argument.get_help_heading() != heading {
            heading = argument.get_help_heading();
            text.push_str(&format!("### {}\n\n", heading.unwrap_or("Other")));
        }
        text.push_str(&entry(argument));
    }
    let behind = match command.get_after_long_help() {
        Some(explanation) => Some(("At length", explanation)),
        None => command.get_after_help().map(|examples| ("In short", examples)),
    };
    if let Some((heading, behind)) = behind {
        text.push_str(&format!("### {heading}\n\n```text\n{behind}\n```\n\n"));
    }
    text
}

/// What a command does, and of it what the long help says.
fn description(command: &Command) -> String {
    let about = command.get_long_about().or(command.get_about()).map(ToString::to_string).unwrap_or_default();
    format!("{about}\n\n")
}

/// One option.
fn entry(argument: &Arg) -> String {
    let value = value_name(argument);
    let short = argument.get_short().map(|short| format!("-{short}, ")).unwrap_or_default();
    let name = match argument.get_long() {
        Some(long) if argument.get_action().takes_values() => format!("{short}--{long} {value}"),
        Some(long) => format!("{short}--{long}"),
        None => value,
    };
    let help = argument.get_long_help().or(argument.get_help()).map(ToString::to_string).unwrap_or_default();
    let mut text = format!("**`{name}`**\n\n{}\n\n", escaped(&paragraphs(&help)));
    let defaults: Vec<_> = argument.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
    let choices: Vec<_> = argument.get_possible_values().iter().map(|choice| choice.get_name().to_owned()).collect();
    if argument.get_action().takes_values() && !choices.is_empty() && !argument.is_hide_possible_values_set() {
        text.push_str(&format!(
            "One of {}.\n\n",
            choices.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
        ));
    }
    if argument.get_action().takes_values() && !defaults.is_empty() {
        text.push_str(&format!("Default: `{}`.\n\n", defaults.join(" ")));
    }
    text
}

/// Help as sentences: clap takes the full stop off short ones, and defaults that are no value stand in brackets.
fn paragraphs(help: &str) -> String {
    match help.strip_suffix(']').and_then(|help| help.rsplit_once(" [default: ")) {
        Some((help, default)) => format!("{}\n\nDefault: {default}.", paragraphs(help)),
        None => format!("{}.", help.trim_end_matches('.')),
    }
}

fn value_name(argument: &Arg) -> String {
    match argument.get_value_names() {
        Some(names) => names.join(" "),
        None => argument.get_id().as_str().to_uppercase(),
    }
}
