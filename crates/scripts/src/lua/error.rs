//! Errors in a script.

use std::fmt;

/// An error in a script: a line that begins with the file and the line number, where they are known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptError {
    message: String,
    traceback: Vec<String>,
}

impl ScriptError {
    /// Line breaks, as in texts that scripts make themselves, become spaces.
    pub(crate) fn new(message: impl fmt::Display) -> Self {
        let message = message.to_string();
        let lines: Vec<_> = message.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        Self { message: lines.join(" ").chars().take(MAX_MESSAGE).collect(), traceback: Vec::new() }
    }

    /// The functions that were running, the innermost first: `rules.lua:7: in function 'check'`.
    #[must_use]
    pub fn traceback(&self) -> &[String] {
        &self.traceback
    }

    /// An error that Lua raised because of this limit, or of its own.
    pub(crate) fn of_lua(error: &mlua::Error) -> Self {
        let (message, traceback) = parts(error);
        let places = traceback.lines().map(str::trim).filter(|line| is_place(line)).map(str::to_owned);
        let traceback: Vec<_> = places.take(MAX_TRACEBACK).collect();
        let found = Self::new(&message);
        // An error of the server's own functions has no place in it: the innermost function of the script has.
        let place = traceback.first().filter(|_| !begins_with_place(&found.message));
        let message = match place.and_then(|line| line.split_once(": in ")) {
            Some((place, _)) => format!("{place}: {}", found.message),
            None => found.message,
        };
        Self { message, traceback }
    }

    /// The same with the column of the word that Lua names, of a script with this text: an editor finds it at once.
    #[must_use]
    pub(crate) fn with_column(mut self, text: &[u8]) -> Self {
        if let Some(message) = with_column(&self.message, text) {
            self.message = message;
        }
        self
    }
}

impl fmt::Display for ScriptError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for ScriptError {}

impl From<mlua::Error> for ScriptError {
    fn from(error: mlua::Error) -> Self {
        Self::of_lua(&error)
    }
}

/// The message of the error, and the stack at that moment.
fn parts(error: &mlua::Error) -> (String, String) {
    match error {
        mlua::Error::CallbackError { traceback, cause } => {
            let (message, inner) = parts(cause);
            (message, if inner.is_empty() { traceback.clone() } else { inner })
        }
        mlua::Error::WithContext { cause, .. } | mlua::Error::BadArgument { cause, .. } => parts(cause),
        mlua::Error::SyntaxError { message, .. } => (message.clone(), String::new()),
        mlua::Error::MemoryError(_) => ("the script has reached its limit of memory".to_owned(), String::new()),
        mlua::Error::FromLuaConversionError { from, message: Some(expected), .. } => {
            (format!("{expected}, not {from}"), String::new())
        }
        mlua::Error::RuntimeError(message) => match message.split_once("\nstack traceback:") {
            Some((message, traceback)) => (message.to_owned(), traceback.to_owned()),
            None => (message.clone(), String::new()),
        },
        mlua::Error::ExternalError(error) => (error.to_string(), String::new()),
        other => (other.to_string(), String::new()),
    }
}

/// Whether a line of a traceback is of a script: `script.lua:3: in function 'request'`.
fn is_place(line: &str) -> bool {
    line.split_once(": in ").is_some_and(|(place, _)| {
        place.rsplit_once(':').is_some_and(|(file, line)| {
            is_number(line) && !file.starts_with('[') && file != PRELUDE && !file.starts_with(BINDING)
        })
    })
}

/// Whether a message begins with something like `script.lua:3: `.
fn begins_with_place(message: &str) -> bool {
    message
        .match_indices(": ")
        .any(|(end, _)| message[..end].rsplit_once(':').is_some_and(|(file, line)| !file.is_empty() && is_number(line)))
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// `rules.lua:3: '=' expected near 'then'` with the column of `then` in line 3, if it is there once.
fn with_column(message: &str, text: &[u8]) -> Option<String> {
    let (place, rest) = message.split_once(": ")?;
    let number: usize = place.rsplit_once(':')?.1.parse().ok()?;
    let word = rest.rsplit_once(" near '")?.1.strip_suffix('\'')?;
    let line = text.split(|byte| *byte == b'\n').nth(number.checked_sub(1)?)?;
    let line = String::from_utf8_lossy(line);
    let mut found = line.match_indices(word);
    match (found.next(), found.next()) {
        (Some((begin, _)), None) => Some(format!("{place}:{}: {rest}", line[..begin].chars().count() + 1)),
        _ => None,
    }
}

/// The name of the prelude in tracebacks: no file has this name.
pub(crate) const PRELUDE: &str = "serow";

/// How names of mlua's own chunks begin.
const BINDING: &str = "__mlua";

/// Characters of a message: a script may raise megabytes as an error, and the log is for people.
const MAX_MESSAGE: usize = 1000;

/// Lines of a traceback: enough to see the recursion.
const MAX_TRACEBACK: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_begin_with_the_place() {
        let traceback = "\nstack traceback:\n\t[C]: in function 'error'\n\tserow:7: in function 'pcall'\n\ta.lua:7: in function 'f'";
        for (message, expected) in
            [("a.lua:3: oh", "a.lua:3: oh"), ("oh", "a.lua:7: oh"), ("one\n\n two", "a.lua:7: one two")]
        {
            let error = ScriptError::of_lua(&mlua::Error::RuntimeError(format!("{message}{traceback}")));
            assert_eq!(error.to_string(), expected);
            assert_eq!(error.traceback(), ["a.lua:7: in function 'f'"]);
        }
        assert_eq!(ScriptError::of_lua(&mlua::Error::RuntimeError("oh".into())).to_string(), "oh");
    }

    #[test]
    fn the_column_is_that_of_the_word() {
        let text = b"local x = 1\n  if x then then\nlocal y = = 2\n";
        for (message, expected) in [
            ("a.lua:3: unexpected symbol near '2'", "a.lua:3:13: unexpected symbol near '2'"),
            ("a.lua:2: unexpected symbol near 'then'", "a.lua:2: unexpected symbol near 'then'"),
            ("a.lua:9: 'end' expected near '<eof>'", "a.lua:9: 'end' expected near '<eof>'"),
        ] {
            assert_eq!(ScriptError::new(message).with_column(text).to_string(), expected);
        }
    }
}
