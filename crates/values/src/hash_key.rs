//! The part of a request that decides which server gets it: `client`, `header:NAME`.

use std::{fmt, str::FromStr};

use serde_json::{Value, json};
use serow::is_token_byte;
use serow_proxy::HashKey;

use crate::{SettingValue, ValueError, in_settings_file};

/// The part of a request that decides which server gets it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HashRule(pub HashKey);

impl FromStr for HashRule {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let is_name = |name: &str| !name.is_empty() && name.bytes().all(is_token_byte);
        let key = match text.split_once(':') {
            None => match text {
                "client" => Some(HashKey::Client),
                "path" => Some(HashKey::Path),
                "target" => Some(HashKey::Target),
                "host" => Some(HashKey::Host),
                _ => None,
            },
            Some(("header", name)) if is_name(name) => Some(HashKey::Header(name.to_owned())),
            Some(("cookie", name)) if is_name(name) => Some(HashKey::Cookie(name.to_owned())),
            Some(("query", name)) if !name.is_empty() => Some(HashKey::Query(name.to_owned())),
            Some(_) => None,
        };
        let problem = "not one of client, path, target, host, header:NAME, cookie:NAME and query:NAME";
        key.map(Self).ok_or_else(|| ValueError::new(text, problem))
    }
}

impl fmt::Display for HashRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            HashKey::Client => f.write_str("client"),
            HashKey::Path => f.write_str("path"),
            HashKey::Target => f.write_str("target"),
            HashKey::Host => f.write_str("host"),
            HashKey::Header(name) => write!(f, "header:{name}"),
            HashKey::Cookie(name) => write!(f, "cookie:{name}"),
            HashKey::Query(name) => write!(f, "query:{name}"),
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
