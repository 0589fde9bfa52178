//! A command line up to the cursor: which command it names, and what can follow.

use clap::{Arg, ArgAction, Command, Id};

use crate::candidates::Candidates;

/// The words of a command line before the one with the cursor.
pub(crate) struct Line<'a> {
    root: &'a Command,
    /// The command that the words choose; `serow files` until a word chooses one.
    command: &'a Command,
    /// Whether the next word can still choose a command or a subcommand.
    can_choose: bool,
    /// An option whose value comes next.
    awaited: Option<&'a Arg>,
    /// The options that were given.
    given: Vec<&'a Id>,
    /// How many positional arguments were given.
    positionals: usize,
    /// Whether `--`, or a positional argument that takes all the rest, ended the options.
    is_past_options: bool,
}

impl<'a> Line<'a> {
    /// Reads these words; `root` is `serow` itself.
    pub(crate) fn of<W: AsRef<str>>(root: &'a Command, words: &[W]) -> Self {
        let files = root.find_subcommand("files").unwrap_or(root);
        let mut line = Self {
            root,
            command: files,
            can_choose: true,
            awaited: None,
            given: Vec::new(),
            positionals: 0,
            is_past_options: false,
        };
        for word in words {
            line.read(word.as_ref());
        }
        line
    }

    fn read(&mut self, word: &str) {
        if self.awaited.take().is_some() {
            return;
        }
        match word {
            _ if self.is_past_options => self.positionals += 1,
            "--" => {
                self.is_past_options = true;
                // The words that follow are the last argument: the command of a program.
                self.positionals = self.command.get_positionals().count().saturating_sub(1);
            }
            _ if word.starts_with("--") => self.read_long(word),
            _ if word.len() > 1 && word.starts_with('-') => self.read_short(word),
            _ if self.can_choose => {
                self.read_name(word);
                return;
            }
            _ => self.read_positional(),
        }
        self.can_choose = false;
    }

    /// A word where a command can be named.
    fn read_name(&mut self, word: &str) {
        if self.command.get_name() == "help" {
            // One command, and nothing else.
            self.can_choose = false;
            return;
        }
        match self.parent().find_subcommand(word) {
            Some(command) => {
                self.command = command;
                self.can_choose = command.has_subcommands();
            }
            None => {
                self.can_choose = false;
                self.read_positional();
            }
        }
    }

    fn read_long(&mut self, word: &str) {
        let (name, value) = word[2..].split_once('=').map_or((&word[2..], None), |(name, value)| (name, Some(value)));
        if let Some(option) = self.command.get_arguments().find(|option| option.get_long() == Some(name)) {
            self.given.push(option.get_id());
            self.awaited = (value.is_none() && option.get_action().takes_values()).then_some(option);
        }
    }

    /// `-k`, `-c 10`, `-c10`, `-kc10`
    fn read_short(&mut self, word: &str) {
        for (place, letter) in word.char_indices().skip(1) {
            let Some(option) = self.command.get_arguments().find(|option| option.get_short() == Some(letter)) else {
                return;
            };
            self.given.push(option.get_id());
            if option.get_action().takes_values() {
                self.awaited = (place + letter.len_utf8() == word.len()).then_some(option);
                return;
            }
        }
    }

    fn read_positional(&mut self) {
        let takes_rest = self.positional().is_some_and(Arg::is_trailing_var_arg_set);
        self.is_past_options |= takes_rest;
        self.positionals += 1;
    }

    /// The command whose subcommands can be named.
    fn parent(&self) -> &'a Command {
        match self.command.has_subcommands() && self.command.get_name() != "help" {
            true => self.command,
            false => self.root,
        }
    }

    /// The positional argument that comes next.
    fn positional(&self) -> Option<&'a Arg> {
        let positionals: Vec<_> = self.command.get_positionals().collect();
        let repeated = positionals.last().filter(|last| repeats(last));
        let next = positionals.get(self.positionals).or(repeated).copied();
        // Only `--` leads to the last one of some commands.
        next.filter(|argument| self.is_past_options || !argument.is_last_set())
    }

    /// The candidates for the word with the cursor.
    pub(crate) fn candidates(&self, typed: &str) -> Candidates {
        let mut candidates = Candidates::default();
        if let Some(option) = self.awaited {
            candidates.push_values_of(option, typed);
        } else if let (false, Some((name, value))) = (self.is_past_options, option_with_value(typed)) {
            let option = self.command.get_arguments().find(|option| option.get_long() == Some(name));
            option.into_iter().for_each(|option| candidates.push_values_of(option, value));
        } else if !self.is_past_options && typed.starts_with('-') {
            self.push_options(&mut candidates, typed);
        } else {
            if self.can_choose {
                let commands = self.parent().get_subcommands().filter(|command| !command.is_hide_set());
                commands.for_each(|command| candidates.push(typed, command.get_name(), command.get_about()));
            }
            if let Some(argument) = self.positional().filter(|_| self.command.get_name() != "help") {
                candidates.push_values_of(argument, typed);
            }
        }
        candidates
    }

    fn push_options(&self, candidates: &mut Candidates, typed: &str) {
        let is_left = |option: &&Arg| repeats(option) || !self.given.contains(&option.get_id());
        let is_option = |option: &&Arg| !option.is_positional() && !option.is_hide_set();
        for option in self.command.get_arguments().filter(is_option).filter(is_left) {
            match (option.get_long(), option.get_short()) {
                (Some(long), _) => candidates.push(typed, &format!("--{long}"), option.get_help()),
                (None, Some(short)) => candidates.push(typed, &format!("-{short}"), option.get_help()),
                (None, None) => {}
            }
        }
    }
}

/// `--name=value`
fn option_with_value(word: &str) -> Option<(&str, &str)> {
    word.strip_prefix("--")?.split_once('=')
}

fn repeats(argument: &Arg) -> bool {
    matches!(argument.get_action(), ArgAction::Append | ArgAction::Count)
}
