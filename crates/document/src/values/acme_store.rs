//! Where a fleet shares its certificates: the URL of a Redis server.

use std::{fmt, str::FromStr};

use serde_json::{Value, json};
use serow_message::{RedisUrl, RedisUrlError};

use crate::{
    in_settings_file,
    values::{SettingValue, ValueError},
};

/// Where a fleet shares its certificates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AcmeStore(pub RedisUrl);

impl FromStr for AcmeStore {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let refuse = |problem: &str| ValueError::new(text, format!("not the URL of a Redis server: {problem}"));
        if !["redis://", "rediss://", "unix://"].iter().any(|scheme| text.starts_with(scheme)) {
            return Err(refuse("write redis://HOST:PORT, rediss://HOST:PORT or unix:///PATH"));
        }
        text.parse().map(Self).map_err(|error: RedisUrlError| refuse(&error.to_string()))
    }
}

impl fmt::Display for AcmeStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.text())
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
