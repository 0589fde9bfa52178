//! The Host field of requests to servers: `keep`, `server`, or a name.

use std::{fmt, str::FromStr};

use serde_json::{Value, json};

use crate::{
    in_settings_file,
    values::{SettingValue, ValueError},
};

/// The Host field of requests to servers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum HostRule {
    /// As the client named it.
    #[default]
    Keep,
    /// The server's own name or address.
    Server,
    /// This one.
    Fixed(String),
}

impl FromStr for HostRule {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        // RFC 3986 §3.2.2, without what only percent signs could say.
        let is_host = |byte: u8| byte.is_ascii_alphanumeric() || b".-_:[]".contains(&byte);
        match text {
            "keep" => Ok(Self::Keep),
            "server" => Ok(Self::Server),
            name if !name.is_empty() && name.bytes().all(is_host) => Ok(Self::Fixed(name.to_owned())),
            _ => Err(ValueError::new(text, "not a host: write keep, server or a name, as in app.example or app:9000")),
        }
    }
}

impl fmt::Display for HostRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Keep => f.write_str("keep"),
            Self::Server => f.write_str("server"),
            Self::Fixed(name) => f.write_str(name),
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
