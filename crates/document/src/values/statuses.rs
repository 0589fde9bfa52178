//! Statuses of responses: `503`, `5xx`, `200-299`, and several of these.

use std::{fmt, ops::RangeInclusive, str::FromStr};

use serde_json::{Value, json};

use crate::{
    in_settings_file,
    values::{SettingValue, Unquoted, ValueError},
};

/// Some statuses, one or more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statuses(pub Vec<StatusRange>);

/// Statuses that follow one another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusRange(pub RangeInclusive<u16>);

impl FromStr for StatusRange {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let status = |text: &str| {
            let status = text.parse().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()));
            status.filter(|status| STATUSES.contains(status))
        };
        let range = match (text.strip_suffix("xx"), text.split_once('-')) {
            (Some(class), _) => status(&format!("{class}00")).map(|first| first..=first + 99),
            (None, Some((first, last))) => status(first).zip(status(last)).map(|(first, last)| first..=last),
            (None, None) => status(text).map(|status| status..=status),
        };
        range
            .filter(|range| !range.is_empty())
            .map(Self)
            .ok_or_else(|| ValueError::new(text, "not a status: write it as in 503, 5xx or 200-299"))
    }
}

impl fmt::Display for StatusRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (first, last) = (*self.0.start(), *self.0.end());
        match first.is_multiple_of(100) && last == first + 99 {
            true => write!(f, "{}xx", first / 100),
            false if first == last => first.fmt(f),
            false => write!(f, "{first}-{last}"),
        }
    }
}

impl FromStr for Statuses {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        text.split(',').map(|range| range.trim().parse()).collect::<Result<_, _>>().map(Self)
    }
}

impl fmt::Display for Statuses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.iter().map(ToString::to_string).collect::<Vec<_>>().join(","))
    }
}

impl SettingValue for Statuses {
    fn expected() -> String {
        r#"statuses in quotes, as in "200", "2xx,3xx" or "200-299""#.to_owned()
    }

    fn schema() -> Value {
        json!({ "type": "string", "pattern": format!("^{PATTERN}(, *{PATTERN})*$") })
    }
}

in_settings_file!(Statuses, "Statuses");

impl SettingValue for StatusRange {
    const UNQUOTED: Unquoted = Unquoted::Numbers;

    fn expected() -> String {
        r#"a status, as in 404, "5xx" or "200-299""#.to_owned()
    }

    fn schema() -> Value {
        json!({ "type": "string", "pattern": format!("^{PATTERN}$") })
    }
}

in_settings_file!(StatusRange, "Status");

/// Those that HTTP knows the classes of (RFC 9110 §15).
const STATUSES: RangeInclusive<u16> = 100..=599;

/// The regular expression that a range matches.
pub(crate) const PATTERN: &str = "([1-5]xx|[1-5][0-9]{2}(-[1-5][0-9]{2})?)";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_are_parsed_or_refused() {
        for (text, expected) in [
            ("200", vec![200..=200]),
            ("2xx,3xx", vec![200..=299, 300..=399]),
            ("500-504, 404", vec![500..=504, 404..=404]),
            ("1xx", vec![100..=199]),
        ] {
            let statuses: Statuses = text.parse().unwrap();
            assert_eq!(statuses.0.iter().map(|range| range.0.clone()).collect::<Vec<_>>(), expected, "{text}");
            assert_eq!(statuses.to_string(), text.replace(' ', ""));
        }
        assert_eq!("200-299".parse::<Statuses>().unwrap().to_string(), "2xx");
        for text in ["", "99", "600", "6xx", "0xx", "20x", "xx", "+200", "300-200", "200-", "-200", "200,", "2xx 3xx"] {
            assert!(text.parse::<Statuses>().is_err(), "{text}");
        }
    }
}
