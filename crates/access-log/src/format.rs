//! How a line is written.

use std::{error::Error, fmt, str::FromStr};

use serow_message::Served;
use serow_variables::{Scope, near};

use super::{
    combined,
    date::Date,
    json,
    template::Template,
    terminal::{self, Colour},
    variable::OtherNames,
};

/// How a line is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Format {
    /// As nginx and Apache do.
    Combined,
    /// As a json object.
    Json,
    /// As the user says.
    Template(Template),
    /// Short, for people who watch a terminal. It has no name, since programs cannot rely on it.
    Terminal(Colour),
}

impl Format {
    /// Whether it needs the response's head.
    pub(super) fn reads_response(&self) -> bool {
        match self {
            Self::Combined | Self::Terminal(_) => false,
            Self::Json => true,
            Self::Template(template) => template.reads_response(),
        }
    }

    /// Reads a format whose variables are those of a scope, and perhaps names of other places with the same format.
    ///
    /// # Errors
    ///
    /// An unknown name, with a suggestion.
    pub fn read(text: &str, scope: &Scope, others: OtherNames<'_>) -> Result<Self, FormatError> {
        match text {
            COMBINED => return Ok(Self::Combined),
            JSON => return Ok(Self::Json),
            _ => {}
        }
        let invalid = |problem| FormatError { text: text.to_owned(), problem };
        if !text.contains('$') {
            return Err(invalid(match near(text, [COMBINED, JSON].into_iter()) {
                Some(name) => format!("unknown format; did you mean {name}?"),
                None => "unknown format: write combined, json, or variables as in '$remote_addr $status'".to_owned(),
            }));
        }
        Template::read(text, scope, others).map(Self::Template).map_err(invalid)
    }

    /// Whether a variable has a value in other places only.
    pub fn lacks_names(&self) -> bool {
        matches!(self, Self::Template(template) if template.lacks_names())
    }

    /// Whether it needs what the path of the route matched.
    pub fn reads_captures(&self) -> bool {
        match self {
            Self::Combined | Self::Json | Self::Terminal(_) => false,
            Self::Template(template) => template.reads_captures(),
        }
    }

    /// Whether it needs the attempts on upstream servers.
    pub fn reads_attempts(&self) -> bool {
        match self {
            Self::Combined | Self::Terminal(_) => false,
            Self::Json => true,
            Self::Template(template) => template.reads_attempts(),
        }
    }

    /// Appends the line of a request.
    #[inline]
    pub(super) fn write(&self, served: &Served<'_>, date: &mut Date, line: &mut Vec<u8>) {
        match self {
            Self::Combined => combined::write(served, date, line),
            Self::Json => json::write(served, date, line),
            Self::Template(template) => template.write(served, date, line),
            Self::Terminal(colour) => terminal::write(served, *colour, line),
        }
    }
}

impl FromStr for Format {
    type Err = FormatError;

    /// Reads a format without variables of a settings file.
    fn from_str(text: &str) -> Result<Self, FormatError> {
        Self::read(text, &Scope::default(), OtherNames::Nothing)
    }
}

/// As it was written.
impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Combined => COMBINED,
            Self::Json => JSON,
            Self::Template(template) => template.text(),
            Self::Terminal(_) => "terminal",
        })
    }
}

/// Why a text is not a format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormatError {
    text: String,
    problem: String,
}

impl fmt::Display for FormatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // As in Debug, so that whatever was typed stays on one line.
        write!(f, "{:?}: {}", self.text, self.problem)
    }
}

impl Error for FormatError {}

const COMBINED: &str = "combined";
const JSON: &str = "json";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_parsed_and_errors_suggest_a_name() {
        for text in ["combined", "json", "$remote_addr ${status}0 $$"] {
            assert_eq!(text.parse::<Format>().unwrap().to_string(), text);
        }
        for (text, expected) in [
            ("combind", r#""combind": unknown format; did you mean combined?"#),
            ("JSON", r#""JSON": unknown format: write combined, json, or variables as in '$remote_addr $status'"#),
            ("", r#""": unknown format: write combined, json, or variables as in '$remote_addr $status'"#),
            ("a\n$status", r#""a\n$status": a line must not have control characters in it: leave them out"#),
            ("$statu", r#""$statu": there is no $statu; did you mean $status?"#),
        ] {
            assert_eq!(text.parse::<Format>().unwrap_err().to_string(), expected);
        }
    }
}
