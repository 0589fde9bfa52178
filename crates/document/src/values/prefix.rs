//! Beginnings of paths: `/api`.

use std::{fmt, str::FromStr};

use serde_json::{Value, json};

use crate::{
    in_settings_file,
    values::{SettingValue, ValueError},
};

/// The beginning of a path: whole segments, with a slash before each and none behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathPrefix(pub String);

impl FromStr for PathPrefix {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let is_path = text.starts_with('/') && !text.ends_with('/');
        let is_plain = text.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'?' | b'#'));
        match is_path && is_plain {
            true => Ok(Self(text.to_owned())),
            false => {
                Err(ValueError::new(text, "not the beginning of a path: write it as in /api, without a last slash"))
            }
        }
    }
}

impl fmt::Display for PathPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl SettingValue for PathPrefix {
    fn expected() -> String {
        r#"the beginning of a path in quotes, as in "/api""#.to_owned()
    }

    fn schema() -> Value {
        json!({ "type": "string", "pattern": "^/[^ ?#]*[^ ?#/]$" })
    }
}

in_settings_file!(PathPrefix, "PathPrefix");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_are_parsed_or_refused() {
        for (text, expected) in [
            ("/api", true),
            ("/api/v1", true),
            ("/a%20b", true),
            ("", false),
            ("/", false),
            ("/api/", false),
            ("api", false),
            ("/a b", false),
            ("/a?b", false),
            ("/ä", false),
        ] {
            assert_eq!(text.parse::<PathPrefix>().is_ok(), expected, "{text}");
        }
    }
}
