//! How many requests in which time: `10/s`.

use std::{fmt, str::FromStr};

use serde_json::{Value, json};
use serow_limits::Rate;

use crate::{
    in_settings_file,
    values::{SettingValue, Unquoted, ValueError},
};

/// How many requests in which time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestRate(pub Rate);

impl FromStr for RequestRate {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        text.parse().map(Self).map_err(|error: serow_limits::RateError| ValueError::new(text, error.to_string()))
    }
}

impl fmt::Display for RequestRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl SettingValue for RequestRate {
    const UNQUOTED: Unquoted = Unquoted::Nothing;

    fn expected() -> String {
        r#"a number of requests in a time, as in "10/s", "600/m" or "100/10s""#.to_owned()
    }

    fn schema() -> Value {
        json!({ "type": "string", "pattern": "^[0-9]+r?/[0-9]*[smhd]$" })
    }
}

in_settings_file!(RequestRate, "RequestRate");
