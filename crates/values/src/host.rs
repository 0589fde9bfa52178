//! The Host field of requests to servers: `keep`, `server`, or a name.

use std::{fmt, str::FromStr};

use serde_json::{Value, json};
use serow_proxy::HostSetting;

use crate::{SettingValue, ValueError, in_settings_file};

/// The Host field of requests to servers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostRule(pub HostSetting);

impl FromStr for HostRule {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        // RFC 3986 §3.2.2, without what only percent signs could say.
        let is_host = |byte: u8| byte.is_ascii_alphanumeric() || b".-_:[]".contains(&byte);
        match text {
            "keep" => Ok(Self(HostSetting::Keep)),
            "server" => Ok(Self(HostSetting::Server)),
            name if !name.is_empty() && name.bytes().all(is_host) => Ok(Self(HostSetting::Fixed(name.to_owned()))),
            _ => Err(ValueError::new(text, "not a host: write keep, server or a name, as in app.example or app:9000")),
        }
    }
}

impl fmt::Display for HostRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            HostSetting::Keep => f.write_str("keep"),
            HostSetting::Server => f.write_str("server"),
            HostSetting::Fixed(name) => f.write_str(name),
        }
    }
}

impl SettingValue for HostRule {
    fn expected() -> String {
        r#""keep", "server" or a name, as in "app.example""#.to_owned()
    }

    fn schema() -> Value {
        json!({ "type": "string", "pattern": r"^[A-Za-z0-9._:\[\]-]+$" })
    }
}

in_settings_file!(HostRule, "HostSetting");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_parsed_or_refused() {
        for text in ["keep", "server", "app.example", "app:9000", "[::1]:9000", "a_b"] {
            assert_eq!(text.parse::<HostRule>().unwrap().to_string(), text);
        }
        for text in ["", "a b", "http://app", "app/x", "a@b", "a\r\nb: c"] {
            assert!(text.parse::<HostRule>().is_err(), "{text}");
        }
    }
}
