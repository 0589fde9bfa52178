//! The part of a request that decides which server gets it: `client`, `header:NAME`.

use std::{fmt, str::FromStr};

use serde_json::{Value, json};
use serow_message::is_token_byte;

use crate::{
    in_settings_file,
    values::{SettingValue, ValueError},
};

/// The part of a request that decides which server gets it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum HashRule {
    /// The client's address, without its port.
    #[default]
    Client,
    /// The path, without the query.
    Path,
    /// The path with the query.
    Target,
    /// The host.
    Host,
    /// A header field.
    Header(String),
    /// A cookie.
    Cookie(String),
    /// A parameter of the query.
    Query(String),
}

impl FromStr for HashRule {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let is_name = |name: &str| !name.is_empty() && name.bytes().all(is_token_byte);
        let key = match text.split_once(':') {
            None => match text {
                "client" => Some(Self::Client),
                "path" => Some(Self::Path),
                "target" => Some(Self::Target),
                "host" => Some(Self::Host),
                _ => None,
            },
            Some(("header", name)) if is_name(name) => Some(Self::Header(name.to_owned())),
            Some(("cookie", name)) if is_name(name) => Some(Self::Cookie(name.to_owned())),
            Some(("query", name)) if !name.is_empty() => Some(Self::Query(name.to_owned())),
            Some(_) => None,
        };
        let problem = "not one of client, path, target, host, header:NAME, cookie:NAME and query:NAME";
        key.ok_or_else(|| ValueError::new(text, problem))
    }
}

impl fmt::Display for HashRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Client => f.write_str("client"),
            Self::Path => f.write_str("path"),
            Self::Target => f.write_str("target"),
            Self::Host => f.write_str("host"),
            Self::Header(name) => write!(f, "header:{name}"),
            Self::Cookie(name) => write!(f, "cookie:{name}"),
            Self::Query(name) => write!(f, "query:{name}"),
        }
    }
}

impl SettingValue for HashRule {
    fn expected() -> String {
        r#""client", "path", "target", "host", "header:NAME", "cookie:NAME" or "query:NAME""#.to_owned()
    }

    fn schema() -> Value {
        json!({ "type": "string", "pattern": "^(client|path|target|host|(header|cookie|query):.+)$" })
    }
}

in_settings_file!(HashRule, "HashKey");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_parsed_or_refused() {
        for text in ["client", "path", "target", "host", "header:X-User", "cookie:session", "query:user id"] {
            assert_eq!(text.parse::<HashRule>().unwrap().to_string(), text);
        }
        for text in ["", "header", "header:", "header:a b", "cookie:a;b", "query:", "ip", "client:1", "Client"] {
            assert!(text.parse::<HashRule>().is_err(), "{text}");
        }
    }
}
