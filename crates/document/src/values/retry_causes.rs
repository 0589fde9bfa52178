//! After what another attempt is made: `connect,timeout,5xx`.

use std::{fmt, str::FromStr};

use serde_json::{Value, json};

use crate::{
    in_settings_file,
    values::{SettingValue, ValueError, statuses},
};

/// After what another attempt is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetryCauses(pub Vec<RetryCause>);

/// Something after which another attempt is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RetryCause {
    /// There was no connection.
    Connect,
    /// The response did not begin in time.
    Timeout,
    /// The connection was lost before it, or what came was none.
    Broken,
    /// It has one of these statuses.
    Status(statuses::StatusRange),
}

impl FromStr for RetryCauses {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let cause = |word: &str| match word {
            "connect" => Ok(RetryCause::Connect),
            "timeout" => Ok(RetryCause::Timeout),
            "broken" => Ok(RetryCause::Broken),
            status => status.parse().map(RetryCause::Status).map_err(|_| {
                ValueError::new(text, "not a list of connect, timeout, broken and statuses, as in connect,timeout,503")
            }),
        };
        text.split(',').map(|word| cause(word.trim())).collect::<Result<_, _>>().map(Self)
    }
}

impl fmt::Display for RetryCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connect => f.write_str("connect"),
            Self::Timeout => f.write_str("timeout"),
            Self::Broken => f.write_str("broken"),
            Self::Status(statuses) => statuses.fmt(f),
        }
    }
}

impl fmt::Display for RetryCauses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.iter().map(ToString::to_string).collect::<Vec<_>>().join(","))
    }
}

impl SettingValue for RetryCauses {
    fn expected() -> String {
        r#"a list of connect, timeout, broken and statuses in quotes, as in "connect,timeout,503""#.to_owned()
    }

    fn schema() -> Value {
        let word = format!("(connect|timeout|broken|{})", statuses::PATTERN);
        json!({ "type": "string", "pattern": format!("^{word}(, *{word})*$") })
    }
}

in_settings_file!(RetryCauses, "RetryCauses");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_are_parsed_or_refused() {
        for text in ["connect", "connect,timeout,broken", "timeout,503,5xx", "500-502"] {
            assert_eq!(text.parse::<RetryCauses>().unwrap().to_string(), text);
        }
        for text in ["", "connect,", "conect", "600", "all"] {
            assert!(text.parse::<RetryCauses>().is_err(), "{text}");
        }
    }
}
