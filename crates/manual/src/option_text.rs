//! An option or a positional argument, as the manual and the man pages show it.

use clap::Arg;

/// An option or a positional argument, as the manual and the man pages show it.
#[derive(PartialEq, Eq)]
pub(super) struct OptionText {
    /// `-c, --config FILE`
    pub(super) name: String,
    /// The help.
    pub(super) help: String,
    choices: Vec<String>,
    defaults: Vec<String>,
}

impl OptionText {
    pub(super) fn new(argument: &Arg) -> Self {
        let value = value_name(argument);
        let takes_values = argument.get_action().takes_values();
        let short = argument.get_short().map(|short| format!("-{short}, ")).unwrap_or_default();
        let name = match argument.get_long() {
            Some(long) if takes_values => format!("{short}--{long} {value}"),
            Some(long) => format!("{short}--{long}"),
            None => value,
        };
        let help = argument.get_long_help().or(argument.get_help()).map(ToString::to_string).unwrap_or_default();
        let shows_choices = takes_values && !argument.is_hide_possible_values_set();
        let choices = argument.get_possible_values();
        let choices = choices.iter().filter(|_| shows_choices).map(|choice| choice.get_name().to_owned());
        let defaults = argument.get_default_values().iter().filter(|_| takes_values);
        let defaults = defaults.map(|value| value.to_string_lossy().into_owned());
        Self { name, help, choices: choices.collect(), defaults: defaults.collect() }
    }

    /// The paragraphs that explain it, each on a line.
    pub(super) fn paragraphs(&self) -> Vec<String> {
        let help = self.help.split("\n\n").flat_map(|paragraph| {
            let paragraph = paragraphs(paragraph);
            paragraph
                .split("\n\n")
                .map(|lines| lines.split_whitespace().collect::<Vec<_>>().join(" "))
                .collect::<Vec<_>>()
        });
        // A full stop would look like a part of a value.
        let values = self.values().into_iter().map(|sentence| match sentence.strip_suffix("`.") {
            Some(text) => format!("{text}`"),
            None => sentence,
        });
        help.chain(values).collect()
    }

    /// Its possible values, and its default.
    pub(super) fn values(&self) -> Vec<String> {
        let choices: Vec<_> = self.choices.iter().map(|name| format!("`{name}`")).collect();
        let choices = (!choices.is_empty()).then(|| format!("One of {}.", choices.join(", ")));
        let default = (!self.defaults.is_empty()).then(|| format!("Default: `{}`.", self.defaults.join(" ")));
        choices.into_iter().chain(default).collect()
    }
}

/// Help as sentences: clap removes the full stop of short ones, and defaults without a value stand in brackets.
pub(super) fn paragraphs(help: &str) -> String {
    match help.strip_suffix(']').and_then(|help| help.rsplit_once(" [default: ")) {
        Some((help, default)) => format!("{}\n\nDefault: {default}.", paragraphs(help)),
        None => format!("{}.", help.trim_end_matches('.')),
    }
}

/// The placeholder of the value of an option.
pub(super) fn value_name(argument: &Arg) -> String {
    match argument.get_value_names() {
        Some(names) => names.join(" "),
        None => argument.get_id().as_str().to_uppercase(),
    }
}

/// Whether the manual explains it: every command has --help.
pub(super) fn is_shown(argument: &Arg) -> bool {
    !argument.is_hide_set() && !matches!(argument.get_id().as_str(), "help" | "version")
}

/// The heading that an option stands below.
pub(super) fn heading(argument: &Arg) -> &str {
    match argument.is_positional() {
        true => ARGUMENTS,
        false => argument.get_help_heading().unwrap_or(OPTIONS),
    }
}

/// The headings of positional arguments, and of options without a heading: a reader looks for them at the command itself.
pub(super) const ARGUMENTS: &str = "Arguments";
pub(super) const OPTIONS: &str = "Options";
