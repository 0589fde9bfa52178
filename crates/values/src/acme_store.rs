//! Where a fleet shares its certificates: the URL of a Redis server.

use std::{fmt, str::FromStr};

use serde_json::{Value, json};
use serow_acme::RedisAddress;

use crate::{SettingValue, ValueError, in_settings_file};

/// Where a fleet shares its certificates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AcmeStore(pub RedisAddress);

impl FromStr for AcmeStore {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let refuse = |error| ValueError::new(text, format!("not the URL of a Redis server: {error}"));
        text.parse().map(Self).map_err(refuse)
    }
}

impl fmt::Display for AcmeStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.url())
    }
}

impl SettingValue for AcmeStore {
    fn expected() -> String {
        r#"the URL of a Redis server, as in "redis://10.0.0.1:6379""#.to_owned()
    }

    fn schema() -> Value {
        json!({ "type": "string", "pattern": "^(rediss?|unix)://.+$" })
    }
}

in_settings_file!(AcmeStore, "AcmeStore");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_parsed_or_refused() {
        for text in ["redis://10.0.0.1:6379", "redis://user:password@redis.internal/1", "unix:///run/redis.sock?db=1"] {
            assert_eq!(text.parse::<AcmeStore>().unwrap().to_string(), text);
        }
        for text in ["", "redis://", "10.0.0.1:6379", "http://10.0.0.1", "redis:///x"] {
            assert!(text.parse::<AcmeStore>().is_err(), "{text}");
        }
    }
}
