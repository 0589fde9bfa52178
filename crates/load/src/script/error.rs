//! The error of a script, in one line.

use std::{fmt, sync::Arc};

/// The error of a script, in one line that begins with the file and the line number, where they are known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptError(Arc<str>);

impl ScriptError {
    /// Line breaks, as in texts that scripts make themselves, become spaces.
    pub(super) fn new(message: impl fmt::Display) -> Self {
        let message = message.to_string();
        let lines: Vec<_> = message.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        Self(lines.join(" ").into())
    }

    /// An error of Lua's. If neither the message nor the stack says where it happened, `otherwise` does.
    pub(super) fn located(error: &mlua::Error, otherwise: Option<&str>) -> Self {
        let (message, traceback) = parts(error);
        if begins_with_place(&message) {
            return Self::new(message);
        }
        match traceback.lines().find_map(place).or(otherwise) {
            Some(place) => Self::new(format_args!("{place}: {message}")),
            None => Self::new(message),
        }
    }

    /// The peer of a conversation between threads is no more.
    pub(super) fn thread_ended() -> Self {
        Self::new("the thread has ended")
    }
}

impl fmt::Display for ScriptError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for ScriptError {}

impl From<mlua::Error> for ScriptError {
    fn from(error: mlua::Error) -> Self {
        Self::located(&error, None)
    }
}

impl From<ScriptError> for mlua::Error {
    fn from(error: ScriptError) -> Self {
        Self::runtime(error)
    }
}

/// The message, and the stack at that moment.
fn parts(error: &mlua::Error) -> (String, String) {
    match error {
        mlua::Error::CallbackError { traceback, cause } => {
            let (message, inner) = parts(cause);
            (message, if inner.is_empty() { traceback.clone() } else { inner })
        }
        mlua::Error::SyntaxError { message, .. } => (message.clone(), String::new()),
        mlua::Error::RuntimeError(message) => match message.split_once("\nstack traceback:") {
            Some((message, traceback)) => (without_prelude(message).into(), traceback.into()),
            None => (without_prelude(message).into(), String::new()),
        },
        mlua::Error::BadArgument { cause, .. } => parts(cause),
        mlua::Error::FromLuaConversionError { from, message: Some(expected), .. } => {
            (format!("{expected}, not {from}"), String::new())
        }
        other => (other.to_string(), String::new()),
    }
}

/// A message without a place in the prelude, which means nothing to the author of a script.
fn without_prelude(message: &str) -> &str {
    let rest = message.strip_prefix(PRELUDE).and_then(|rest| rest.strip_prefix(':'));
    match rest.and_then(|rest| rest.split_once(": ")) {
        Some((line, message)) if is_number(line) => message,
        _ => message,
    }
}

/// `script.lua:3`, of a line of a traceback that is of a script: `script.lua:3: in function 'request'`.
fn place(line: &str) -> Option<&str> {
    let (place, _) = line.trim().split_once(": in ")?;
    let (file, number) = place.rsplit_once(':')?;
    (is_number(number) && file != PRELUDE && !file.starts_with(BINDING)).then_some(place)
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

/// The name of the prelude in tracebacks: no file has it.
pub(super) const PRELUDE: &str = "[serow]";

/// How names of mlua's own chunks begin.
const BINDING: &str = "__mlua";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_that_begins_with_the_place() {
        let traceback = "\nstack traceback:\n\t[C]: in ?\n\t[serow]:40: in function 'format'\n\t\
            __mlua_newindex:8: in metamethod '__newindex'\n\ta b.lua:7: in function 'request'\n\tz.lua:1: in main chunk";
        let cases = [
            ("a.lua:3: oh", "a.lua:3: oh"),
            ("C:/a.lua:3: oh", "C:/a.lua:3: oh"),
            ("oh", "a b.lua:7: oh"),
            ("oh: no", "a b.lua:7: oh: no"),
            ("[serow]:40: oh", "a b.lua:7: oh"),
            ("one\n\n  two\r\nthree\n", "a b.lua:7: one two three"),
        ];
        for (message, expected) in cases {
            let error = mlua::Error::RuntimeError(format!("{message}{traceback}"));
            assert_eq!(ScriptError::from(error).to_string(), expected);
        }
        let nowhere = mlua::Error::RuntimeError("oh".into());
        assert_eq!(ScriptError::from(nowhere.clone()).to_string(), "oh");
        assert_eq!(ScriptError::located(&nowhere, Some("a.lua:1")).to_string(), "a.lua:1: oh");
    }
}
