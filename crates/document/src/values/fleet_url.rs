//! Where the servers of a fleet meet: the URL of Redis.

use std::{fmt, str::FromStr};

use serde_json::{Value, json};
use serow_message::{RedisUrl, RedisUrlError};

use crate::{
    in_settings_file,
    values::{SettingValue, ValueError},
};

/// Where the servers of a fleet meet, as it is written.
#[derive(Clone, PartialEq, Eq)]
pub struct FleetUrl {
    text: String,
}

impl FleetUrl {
    /// The URL.
    ///
    /// # Errors
    ///
    /// It is not one. Only texts that may have a password can be wrong still.
    pub fn parse(&self) -> Result<RedisUrl, RedisUrlError> {
        self.text.parse()
    }
}

impl FromStr for FleetUrl {
    type Err = ValueError;

    /// The error for a value shows its line of the settings file, also in the error log. So a text that may have a password
    /// is not refused here.
    fn from_str(text: &str) -> Result<Self, ValueError> {
        match text.parse::<RedisUrl>() {
            Err(error) if !text.contains('@') => Err(ValueError::new(text, format!("not the URL of Redis: {error}"))),
            _ => Ok(Self { text: text.to_owned() }),
        }
    }
}

impl fmt::Display for FleetUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for FleetUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("FleetUrl").field(&self.parse()).finish()
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
            let url: FleetUrl = text.parse().unwrap();
            assert_eq!(url.to_string(), text);
            assert!(url.parse().is_ok() && !format!("{url:?}").contains("secret"));
        }
        for text in ["", "10.0.0.1:6379", "http://a"] {
            assert!(text.parse::<FleetUrl>().is_err(), "{text}");
        }
        for text in ["redis://:secret@a:b", "http://:secret@a"] {
            let error = text.parse::<FleetUrl>().unwrap().parse().unwrap_err();
            assert!(!format!("{error} {error:?}").contains("secret"), "{error:?}");
        }
    }
}
