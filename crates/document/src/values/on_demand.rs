//! Values of certificates on demand: the URL that allows names, and how many orders may begin.

use std::{fmt, str::FromStr, time::Duration};

use serde_json::{Value, json};
use serow_message::Origin;

use crate::{
    in_settings_file,
    values::{SettingValue, ValueError, leading_number},
};

/// A URL that a name is appended to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OnDemandUrl(pub String);

/// A number of orders in a second, a minute or an hour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderRateRule {
    /// Orders, at least one.
    pub count: u32,
    /// In this time: a second, a minute or an hour.
    pub period: Duration,
}

impl FromStr for OnDemandUrl {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let is_plain = text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#');
        let has_scheme = text.starts_with("http://") || text.starts_with("https://");
        if is_plain && has_scheme && Origin::of_url(text).is_ok() {
            return Ok(Self(text.to_owned()));
        }
        let problem = "not a URL that a name can follow: write it as in http://127.0.0.1:9000/allowed?name=";
        Err(ValueError::new(text, problem))
    }
}

impl FromStr for OrderRateRule {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let error = || ValueError::new(text, "not a number of orders in a time: write it as in 1/s 5/m 100/h");
        let (number, unit) = leading_number(text).ok_or_else(error)?;
        let seconds = match unit {
            "/s" => 1,
            "/m" => 60,
            "/h" => 3600,
            _ => return Err(error()),
        };
        let count = u32::try_from(number).ok().filter(|count| *count > 0).ok_or_else(error)?;
        Ok(Self { count, period: Duration::from_secs(seconds) })
    }
}

impl fmt::Display for OnDemandUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for OrderRateRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = match self.period.as_secs() {
            1 => "s",
            60 => "m",
            _ => "h",
        };
        write!(f, "{}/{unit}", self.count)
    }
}

impl SettingValue for OnDemandUrl {
    fn expected() -> String {
        r#"a URL, as in "http://127.0.0.1:9000/allowed?name=""#.to_owned()
    }

    fn schema() -> Value {
        json!({ "type": "string", "pattern": "^https?://[^#\\s]+$" })
    }
}

impl SettingValue for OrderRateRule {
    fn expected() -> String {
        r#"a number of orders in a time, as in "5/m""#.to_owned()
    }

    fn schema() -> Value {
        json!({ "type": "string", "pattern": "^[0-9]+/[smh]$" })
    }
}

in_settings_file!(OnDemandUrl, "OnDemandUrl");
in_settings_file!(OrderRateRule, "OrderRate");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_parsed_or_refused() {
        for text in ["http://127.0.0.1:9000/allowed?name=", "https://customers.example.com/names/"] {
            assert_eq!(text.parse::<OnDemandUrl>().unwrap().to_string(), text);
        }
        for text in ["", "127.0.0.1:9000", "ftp://a.example/", "http://a.example/#", "http://a.example/a b", "http://"]
        {
            assert!(text.parse::<OnDemandUrl>().is_err(), "{text}");
        }
    }

    #[test]
    fn rates_are_parsed_or_refused() {
        for (text, count, seconds) in [("1/s", 1, 1), ("5/m", 5, 60), ("300/h", 300, 3600)] {
            let rate = text.parse::<OrderRateRule>().unwrap();
            assert_eq!(
                (rate, rate.to_string()),
                (OrderRateRule { count, period: Duration::from_secs(seconds) }, text.to_owned())
            );
        }
        for text in ["", "5", "0/m", "5/d", "-1/m", "5/", "/m", "1.5/m", "99999999999/s"] {
            assert!(text.parse::<OrderRateRule>().is_err(), "{text}");
        }
    }
}
