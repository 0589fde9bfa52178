//! Trusted proxies: `10.0.0.0/8`, `::1`, `unix`.

use std::{fmt, str::FromStr};

use serde_json::{Value, json};
use serow_message::Network;

use crate::{
    in_settings_file,
    values::{SettingValue, ValueError},
};

/// Trusted proxies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NetworkRule(pub Network);

impl FromStr for NetworkRule {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        text.parse().map(Self).map_err(|error| ValueError::new(text, error.to_string()))
    }
}

impl fmt::Display for NetworkRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl SettingValue for NetworkRule {
    fn expected() -> String {
        r#"an address, a network or "unix", as in "127.0.0.1" or "10.0.0.0/8""#.to_owned()
    }

    fn schema() -> Value {
        json!({ "type": "string", "pattern": "^([0-9a-fA-F.:]+(/[0-9]{1,3})?|unix)$" })
    }
}

in_settings_file!(NetworkRule, "Network");
