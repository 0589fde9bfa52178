//! The candidates for completing a word, in the format that the scripts read.

use std::fmt;

use clap::{Arg, ValueHint, builder::StyledStr};

/// The candidates for completing a word.
#[derive(Debug, Default)]
pub(crate) struct Candidates {
    /// Words, each with a description or none.
    words: Vec<(String, String)>,
    /// Names that only the shell knows.
    names: Option<Names>,
}

/// Names that the shell completes itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Names {
    /// Files, and folders on the way to them.
    Files,
    /// Folders.
    Folders,
    /// Programs.
    Programs,
    /// Hosts.
    Hosts,
}

impl Candidates {
    /// Adds a word, if the beginning that was typed fits it.
    pub(crate) fn push(&mut self, typed: &str, word: &str, help: Option<&StyledStr>) {
        if word.starts_with(typed) {
            self.words.push((word.to_owned(), help.map(summary).unwrap_or_default()));
        }
    }

    /// Adds the values of an argument.
    pub(crate) fn push_values_of(&mut self, argument: &Arg, typed: &str) {
        let choices = argument.get_possible_values();
        for choice in choices.iter().filter(|choice| !choice.is_hide_set()) {
            self.push(typed, choice.get_name(), choice.get_help());
        }
        let placeholders = argument.get_value_names().unwrap_or_default();
        if choices.is_empty() {
            let literals = placeholders.iter().flat_map(|name| name.split('|')).filter(|part| is_literal(part));
            literals.for_each(|literal| self.push(typed, literal, None));
        }
        self.names = names_of(argument);
    }
}

/// The lines that the scripts read: `word TAB description`, and at last `:` with the kind of names to add.
impl fmt::Display for Candidates {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (word, description) in &self.words {
            writeln!(formatter, "{word}\t{description}")?;
        }
        match self.names {
            None => Ok(()),
            Some(Names::Files) => formatter.write_str(":files\n"),
            Some(Names::Folders) => formatter.write_str(":folders\n"),
            Some(Names::Programs) => formatter.write_str(":programs\n"),
            Some(Names::Hosts) => formatter.write_str(":hosts\n"),
        }
    }
}

/// Whether a part of a placeholder such as `on|off|CODINGS` is written as it is.
fn is_literal(part: &str) -> bool {
    !part.is_empty() && part.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-'))
}

/// Which names the value of an argument can be; the placeholder says what its type does not.
fn names_of(argument: &Arg) -> Option<Names> {
    let placeholder = match argument.get_value_names() {
        Some([first, ..]) => first.as_str().to_owned(),
        _ => argument.get_id().as_str().to_uppercase(),
    };
    match placeholder.as_str() {
        "DIR" => Some(Names::Folders),
        "COMMAND" => Some(Names::Programs),
        "HOST" | "URL" | "UPSTREAM" => Some(Names::Hosts),
        "FILE" | "DESTINATION" => Some(Names::Files),
        name if name.starts_with("CERT[") => Some(Names::Files),
        _ if argument.get_value_hint() == ValueHint::AnyPath => Some(Names::Files),
        _ => None,
    }
}

/// The first sentence of a help text, on one line.
fn summary(help: &StyledStr) -> String {
    let help = help.to_string();
    let paragraph = help.split("\n\n").next().unwrap_or_default();
    let line = paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = line.rsplit_once(" [default: ").map_or(line.as_str(), |(line, _)| line);
    line.trim_end_matches('.').to_owned()
}
