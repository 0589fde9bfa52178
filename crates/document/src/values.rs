//! Values of options and settings of Serow. Each is a type that is parsed from text; the error says in one line
//! what is wrong and what to write instead. Those of a settings file also know their TOML form and JSON schema
//! ([`SettingValue`]; [`choice!`] and [`in_settings_file!`] implement it).

mod account_name;
mod acme_directory;
mod acme_store;
mod admin_address;
mod admin_socket;
mod amount;
mod certificate_names;
pub mod choice;
mod codings;
mod cores;
mod count;
mod dns_provider;
mod expected_field;
mod field;
mod fleet_url;
mod hash_key;
mod host;
mod listener;
mod mode;
mod network;
mod on_demand;
mod or_off;
mod paced;
mod patterns;
mod prefix;
mod redirect_status;
mod request_rate;
mod retry_causes;
mod rules;
mod seconds;
mod server;
pub mod setting_value;
mod size;
mod size_limit;
mod span;
mod statuses;
mod switch;
mod text_or;
mod texts;
mod variable;

use std::{error, fmt};

pub use crate::{choice, in_settings_file};

pub use self::{
    account_name::AccountName,
    acme_directory::AcmeDirectory,
    acme_store::AcmeStore,
    admin_address::{AdminAddress, AdminAddressError},
    admin_socket::AdminSocket,
    amount::{Amount, Period, Rate},
    certificate_names::CertificateNames,
    codings::Codings,
    cores::Cores,
    count::Count,
    dns_provider::DnsProviderRule,
    expected_field::ExpectedField,
    field::Field,
    fleet_url::FleetUrl,
    hash_key::HashRule,
    host::HostRule,
    listener::{ListenAddress, ListenRule},
    mode::Mode,
    network::NetworkRule,
    on_demand::{OnDemandUrl, OrderRateRule},
    or_off::{OrOff, Switchable},
    paced::Paced,
    patterns::Patterns,
    prefix::PathPrefix,
    redirect_status::RedirectStatus,
    request_rate::RequestRate,
    retry_causes::{RetryCause, RetryCauses},
    rules::{CacheControlRule, ExpiresRule, MediaTypeRule, RewriteRule},
    seconds::Seconds,
    server::ServerRule,
    setting_value::{SettingValue, Unquoted},
    size::Size,
    size_limit::SizeLimit,
    span::Span,
    statuses::{StatusRange, Statuses},
    switch::Switch,
    text_or::{Expandable, TextOr},
    texts::Texts,
    variable::Variable,
};

/// Why a text is not a value of some type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueError {
    text: String,
    /// The problem, and what to write instead.
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
