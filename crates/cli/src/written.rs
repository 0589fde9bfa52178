//! Values as people write them. Each is a type of its own that can be read from its text and says, in one line, what is
//! wrong with a text that is none. Those of a settings file know how they stand there, too (`form.rs`).

mod amount;
mod codings;
mod count;
mod field;
pub(crate) mod form;
mod listener;
mod mode;
mod paced;
mod rules;
mod seconds;
mod size;
mod span;
pub(crate) mod words;

use std::{error, fmt};

pub(crate) use self::{
    amount::{Amount, Period, Rate},
    codings::Codings,
    count::Count,
    field::Field,
    form::{Bare, Written, in_settings_file},
    listener::{ListenAddress, ListenRule},
    mode::Mode,
    paced::Paced,
    rules::{CacheControlRule, ExpiresRule, MediaTypeRule, RewriteRule},
    seconds::Seconds,
    size::Size,
    span::Span,
    words::word,
};

/// A text that is not what it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unreadable {
    text: String,
    /// What it is not, and what to write instead.
    problem: String,
}

impl Unreadable {
    fn new(text: &str, problem: impl Into<String>) -> Self {
        Self { text: text.to_owned(), problem: problem.into() }
    }
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // As in Debug, so that whatever was typed stays on one line.
        write!(f, "{:?} is {}", self.text, self.problem)
    }
}

impl error::Error for Unreadable {}

/// The digits at the front of a text as a number, and what stands behind them; nothing where there are none or too many.
fn leading_number(text: &str) -> Option<(u64, &str)> {
    let end = text.find(|character: char| !character.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    // No digit at all is no number either.
    Some((digits.parse().ok()?, rest))
}
