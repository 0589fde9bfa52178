//! Where the servers of a fleet meet: the URL of Redis.

use std::{fmt, str::FromStr};

use serde_json::{Value, json};
use serow_fleet::RedisUrl;

use crate::{SettingValue, ValueError, in_settings_file};

/// Where the servers of a fleet meet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FleetUrl(pub RedisUrl);

impl FromStr for FleetUrl {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        // The text may have a password, which is not for error logs.
        let shown = if text.contains('@') { "the URL" } else { text };
        text.parse().map(Self).map_err(|error| ValueError::new(shown, format!("not the URL of Redis: {error}")))
    }
}

impl fmt::Display for FleetUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.text())
    }
}

impl SettingValue for FleetUrl {
    fn expected() -> String {
        r#"the URL of Redis, as in "redis://10.0.0.1:6379""#.to_owned()
    }

    fn schema() -> Value {
        json!({ "type": "string", "pattern": "^(rediss?(\\+sentinel)?|unix)://.+$" })
    }
}

in_settings_file!(FleetUrl, "FleetUrl");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_parsed_or_refused_without_their_password() {
        for text in
            ["redis://10.0.0.1:6379", "rediss://u:secret@a/1", "redis+sentinel://a,b/main", "unix:///run/a.sock"]
        {
            assert_eq!(text.parse::<FleetUrl>().unwrap().to_string(), text);
        }
        for text in ["", "10.0.0.1:6379", "redis://:secret@a:b", "http://:secret@a"] {
            let error = text.parse::<FleetUrl>().unwrap_err();
            assert!(!format!("{error} {error:?}").contains("secret"), "{error:?}");
        }
    }
}
