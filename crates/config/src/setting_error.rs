//! Settings that are well-formed but invalid.

use std::{error::Error, fmt};

use serow_document::{Place, Problem};

/// Settings that are invalid, alone or together. The text names them as `` `key` ``; on a command line they are
/// options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingError {
    /// The key to look at.
    pub key: &'static str,
    /// Which of its values, from 0, where it has several and that is known.
    pub element: Option<usize>,
    /// The message: the error, and what to do.
    pub text: String,
}

impl SettingError {
    /// An error of this key; the text names settings as `` `key` ``.
    pub fn new(key: &'static str, text: impl Into<String>) -> Self {
        Self { key, element: None, text: text.into() }
    }

    /// It is one of several values.
    pub fn of_element(self, element: usize) -> Self {
        Self { element: Some(element), ..self }
    }

    /// The problem of a table of the settings file whose keys mean nothing.
    pub fn problem(self, table: &Place) -> Problem {
        // The settings of this table have its name in front as options.
        let place = match self.key.strip_prefix("acme") {
            Some("") => table.key("acme").key("names"),
            Some(key) => table.key("acme").key(key.trim_start_matches('-')),
            None => table.key(self.key),
        };
        let text = self.text.replace("`acme`", "`acme.names`").replace("`acme-", "`acme.");
        let place = self.element.map(|element| place.element(element)).unwrap_or(place);
        Problem::of_table(place, text)
    }

    /// The text with options in the place of keys.
    pub fn in_options(&self) -> String {
        in_options(&self.text)
    }
}

/// A text that names settings as `` `key` ``, with options in their place.
pub fn in_options(text: &str) -> String {
    let (mut options, mut rest) = (String::with_capacity(text.len()), text);
    while let Some((before, behind)) = rest.split_once('`') {
        options.push_str(before);
        rest = match behind.split_once('`') {
            Some((key, behind)) if is_key(key) => {
                options.extend(["--", key]);
                behind
            }
            // Values that are quoted may hold anything.
            _ => {
                options.push('`');
                behind
            }
        };
    }
    options + rest
}

impl fmt::Display for SettingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Error for SettingError {}

fn is_key(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn on_a_command_line_keys_are_options() {
        let error = SettingError::new("hsts", "`hsts` needs `tls`: name a certificate");
        assert_eq!(error.in_options(), "--hsts needs --tls: name a certificate");
        let quoted = SettingError::new("spa", "`spa` \"A`B `\": `");
        assert_eq!(quoted.in_options(), "--spa \"A`B `\": `");
    }
}
