//! Conditions of lines, as nginx has them: `if=$loggable`.

use std::{error::Error, fmt};

use serow_message::Served;
use serow_variables::Scope;

use super::{date::Date, template::Template, variable::OtherNames};

/// A text with variables: a request is logged unless it comes to nothing or `0`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition(Template);

impl Condition {
    /// Reads a condition whose variables are those of a format: see [`Format::read`](crate::Format::read).
    ///
    /// # Errors
    ///
    /// An unknown name, with a suggestion; a text without a variable, which would be true or false for all requests.
    pub fn read(text: &str, scope: &Scope, others: OtherNames<'_>) -> Result<Self, ConditionError> {
        let template = Template::read(text, scope, others);
        let template = template.map_err(|problem| ConditionError(format!("{text:?}: {problem}")))?;
        match template.has_variables() {
            true => Ok(Self(template)),
            false => Err(ConditionError(format!("{text:?} has no variable: write one, as in \"$loggable\""))),
        }
    }

    /// Whether it needs the response's head.
    pub(super) fn reads_response(&self) -> bool {
        self.0.reads_response()
    }

    /// Whether it needs the attempts on upstream servers.
    pub fn reads_attempts(&self) -> bool {
        self.0.reads_attempts()
    }

    /// Whether a variable has a value in other places only.
    pub fn lacks_names(&self) -> bool {
        self.0.lacks_names()
    }

    /// Whether it needs what the path of the route matched.
    pub fn reads_captures(&self) -> bool {
        self.0.reads_captures()
    }

    /// Whether a request meets it.
    pub(super) fn holds(&self, served: &Served<'_>, date: &mut Date, room: &mut Vec<u8>) -> bool {
        self.0.is_true(served, date, room)
    }
}

/// Why a text is not a condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConditionError(String);

impl fmt::Display for ConditionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for ConditionError {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example::Example;

    fn read(text: &str) -> Result<Condition, String> {
        Condition::read(text, &Scope::default(), OtherNames::Only(&["id".to_owned()].into()))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn requests_meet_conditions_that_come_to_something_other_than_nothing_and_zero() {
        let mut example = Example::unix();
        example.header("X-Log", b"0");
        example.header("X-Other", b"00");
        for (text, expected) in [
            ("$http_x_log", false),
            ("$http_x_none", false),
            ("$http_x_none$http_x_none", false),
            ("$id", false),
            ("$http_x_other", true),
            ("$http_x_log$http_x_log", true),
            ("$status", true),
            ("$arg_debug", false),
        ] {
            let holds = read(text).unwrap().holds(&example.served(), &mut Date::new(), &mut Vec::new());
            assert_eq!(holds, expected, "{text}");
        }
    }

    #[test]
    fn mistakes_say_what_to_write() {
        for (text, expected) in [
            ("loggable", r#""loggable" has no variable: write one, as in "$loggable""#),
            ("", r#""" has no variable: write one, as in "$loggable""#),
            ("$statu", r#""$statu": there is no $statu; did you mean $status?"#),
        ] {
            assert_eq!(read(text), Err(expected.to_owned()));
        }
    }
}
