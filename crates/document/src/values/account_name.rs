//! A user or a group: `www-data`, `33`.

use std::{convert::Infallible, fmt, str::FromStr};

use serde_json::{Value, json};

use crate::{
    in_settings_file,
    values::{SettingValue, Unquoted},
};

/// A user or a group, as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AccountName {
    /// By name.
    Name(String),
    /// By number.
    Number(u32),
}

impl FromStr for AccountName {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
        let number = text.parse().ok().filter(|_| is_number);
        Ok(number.map_or_else(|| Self::Name(text.to_owned()), Self::Number))
    }
}

impl fmt::Display for AccountName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Number(number) => number.fmt(f),
        }
    }
}

impl SettingValue for AccountName {
    const UNQUOTED: Unquoted = Unquoted::Numbers;

    fn expected() -> String {
        r#"a name in quotes or a number, as in "www-data" or 33"#.to_owned()
    }

    fn schema() -> Value {
        json!({ "type": "string", "minLength": 1 })
    }

    fn suggestion(_: &str) -> Option<String> {
        None
    }
}

in_settings_file!(AccountName, "AccountName");
