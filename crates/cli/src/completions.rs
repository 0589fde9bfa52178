//! `serow completions`: the completion scripts of shells.
//!
//! A script contains no options: it calls `serow __complete` with the words of the line, and so offers what the
//! installed version knows. The crate `serow-manual` finds the words that can follow.

use std::io::{self, Write};

use clap::CommandFactory;

use crate::{
    arguments::{CompleteArguments, CompletionsArguments, Shell},
    command_error::CommandError,
    command_line::CommandLine,
};

/// Prints the script for a shell.
pub(crate) fn print_script(arguments: &CompletionsArguments) -> Result<(), CommandError> {
    let script = match arguments.shell {
        Shell::Bash => include_str!("completions/serow.bash"),
        Shell::Zsh => include_str!("completions/serow.zsh"),
        Shell::Fish => include_str!("completions/serow.fish"),
    };
    io::stdout().write_all(script.as_bytes()).map_err(CommandError::output)
}

/// Prints what the last word can be completed to, for a script.
pub(crate) fn complete(arguments: &CompleteArguments) -> Result<(), CommandError> {
    // A word that is not text is the name of a file, which is not looked at.
    let words: Vec<_> = arguments.words.iter().map(|word| word.to_string_lossy()).collect();
    let text = serow_manual::completions(CommandLine::command(), &words);
    io::stdout().write_all(text.as_bytes()).map_err(CommandError::output)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The words of the candidates, and the kind of names in the end.
    fn complete(words: &str) -> Vec<String> {
        let words: Vec<_> = words.split(' ').collect();
        let text = serow_manual::completions(CommandLine::command(), &words);
        text.lines().map(|line| line.split('\t').next().unwrap().to_owned()).collect()
    }

    #[test]
    fn the_first_word_is_a_command_or_a_folder() {
        let all = complete("");
        for expected in ["files", "proxy", "app", "run", "check", "completions", "help", ":folders"] {
            assert!(all.iter().any(|word| word == expected), "{expected}: {all:?}");
        }
        for hidden in ["__complete", "manual"] {
            assert!(!all.iter().any(|word| word == hidden), "{hidden}: {all:?}");
        }
        assert_eq!(complete("pr"), ["proxy", ":folders"]);
        assert_eq!(complete("./"), [":folders"]);
    }

    #[test]
    fn candidates_follow_from_the_words_before() {
        for (words, expected) in [
            ("--lis", &["--listing", "--listing-limit", "--listen"][..]),
            ("public --hid", &["--hidden"]),
            ("--hidden --hid", &[]),
            ("public --listen 80 --listen", &["--listen"]),
            ("--listen 80 ", &[":folders"]),
            ("files ", &[":folders"]),
            ("files public ", &[]),
            ("files -- --x", &[":folders"]),
            ("--listing ", &["on", "off", "html", "json"]),
            ("--listing=h", &["html"]),
            ("--tls=", &["self-signed", ":files"]),
            ("proxy --balance l", &["least-requests", "latency"]),
            ("proxy 127.0.0.1:9000 ", &[":hosts"]),
            ("run -c ", &[":files"]),
            ("run --config=", &[":files"]),
            ("check --config serow.toml --e", &["--explain"]),
            ("app ", &[":files"]),
            ("app config.ru --chdir ", &[":folders"]),
            ("app -- ", &[":programs"]),
            ("app -- node server.js --ho", &[":programs"]),
            ("supervise --port 80 ", &[":programs"]),
            ("supervise plackup --po", &[":programs"]),
            ("upstream w", &["weight"]),
            ("upstream drain --persist --pers", &[]),
            ("help che", &["check"]),
            ("help files ", &[]),
            ("completions ", &["bash", "zsh", "fish"]),
            ("nothing such ", &[]),
        ] {
            assert_eq!(complete(words), expected, "{words}");
        }
    }
    #[cfg(feature = "bench")]
    #[test]
    fn options_in_one_word_with_their_values_are_read() {
        for (words, expected) in [
            ("bench --lat", &["--latency"][..]),
            ("bench -t2 -d", &[]),
            ("bench --fi", &[]),
            ("bench -c10 -kd ", &[]),
            ("bench -c10 -d5 -k ", &[":hosts"]),
        ] {
            assert_eq!(complete(words), expected, "{words}");
        }
    }
}
