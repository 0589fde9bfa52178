//! Values as people write them. Each is a type of its own that can be read from its text and says, in one line, what is
//! wrong with a text that is none. Those of a settings file know how they stand there, too (`form.rs`).

mod admin_address;
mod amount;
pub mod choice;
mod codings;
mod count;
mod expected_field;
mod field;
mod hash_key;
mod host;
mod listener;
mod mode;
mod network;
mod paced;
mod prefix;
mod retry_causes;
mod rules;
mod seconds;
mod server;
pub(crate) mod setting_value;
mod size;
mod size_limit;
mod span;
mod statuses;
mod variable;

use std::{error, fmt};

pub use self::{
    admin_address::{AdminAddress, AdminAddressError},
    amount::{Amount, Period, Rate},
    codings::Codings,
    count::Count,
    expected_field::ExpectedField,
    field::Field,
    hash_key::HashRule,
    host::HostRule,
    listener::{ListenAddress, ListenRule},
    mode::Mode,
    network::NetworkRule,
    paced::Paced,
    prefix::PathPrefix,
    retry_causes::{RetryCause, RetryCauses},
    rules::{CacheControlRule, ExpiresRule, MediaTypeRule, RewriteRule},
    seconds::Seconds,
    server::ServerRule,
    size::Size,
    size_limit::SizeLimit,
    span::Span,
    statuses::Statuses,
    variable::Variable,
};

pub(crate) use self::{
    choice::choice,
    setting_value::{SettingValue, Unquoted, in_settings_file},
};

/// A text that is not what it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueError {
    text: String,
    /// What it is not, and what to write instead.
    problem: String,
}

impl ValueError {
    fn new(text: &str, problem: impl Into<String>) -> Self {
        Self { text: text.to_owned(), problem: problem.into() }
    }
}

impl fmt::Display for ValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // As in Debug, so that whatever was typed stays on one line.
        write!(f, "{:?} is {}", self.text, self.problem)
    }
}

impl error::Error for ValueError {}

/// The digits at the front of a text as a number, and what stands behind them; nothing where there are none or too many.
fn leading_number(text: &str) -> Option<(u64, &str)> {
    let end = text.find(|character: char| !character.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    // No digit at all is no number either.
    Some((digits.parse().ok()?, rest))
}
