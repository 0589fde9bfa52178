//! Values of options and settings. Each is a type that is parsed from text; the error says in one line what is wrong
//! and what to write instead. Those of a settings file also know their TOML form and JSON schema (`setting_value.rs`).

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

/// Why a text is not a value of some type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueError {
    text: String,
    /// What is wrong with it, and what to write instead.
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

/// The digits at the front of a text as a number, and what stands behind them; nothing where there are none or too
/// many.
fn leading_number(text: &str) -> Option<(u64, &str)> {
    let end = text.find(|character: char| !character.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    // No digit at all is no number either.
    Some((digits.parse().ok()?, rest))
}
