//! Durations: `500ms`, `10s`, `5m`, `24h`, `30d`.

use std::{fmt, str::FromStr, time::Duration};

use serde_json::{Value, json};

use crate::{
    in_settings_file,
    values::{SettingValue, ValueError, leading_number},
};

/// A duration, written as a number and a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span(pub Duration);

impl FromStr for Span {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let error = || ValueError::new(text, "not a duration: write a number and a unit, as in 500ms 10s 5m 24h 30d");
        let (number, unit) = leading_number(text).ok_or_else(error)?;
        let milliseconds = match unit {
            "ms" => 1,
            "s" => 1000,
            "m" => 60 * 1000,
            "h" => 60 * 60 * 1000,
            "d" => 24 * 60 * 60 * 1000,
            // Nothing is nothing in any unit.
            "" if number == 0 => 0,
            _ => return Err(error()),
        };
        let milliseconds = number.checked_mul(milliseconds).ok_or_else(error)?;
        Ok(Self(Duration::from_millis(milliseconds)))
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let milliseconds = self.0.as_millis();
        let units = [(86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1000, "s"), (1, "ms")];
        match units.into_iter().find(|(unit, _)| milliseconds > 0 && milliseconds.is_multiple_of(*unit)) {
            Some((unit, name)) => write!(f, "{}{name}", milliseconds / unit),
            None => f.write_str("0"),
        }
    }
}

impl SettingValue for Span {
    fn expected() -> String {
        r#"a duration in quotes, as in "500ms", "10s", "5m", "24h" or "30d""#.to_owned()
    }

    fn schema() -> Value {
        json!({ "type": "string", "pattern": format!("^{PATTERN}$") })
    }

    /// Seconds are the commonest.
    fn suggestion(bare: &str) -> Option<String> {
        let with_unit = if bare == "0" { bare.to_owned() } else { format!("{bare}s") };
        with_unit.parse::<Self>().is_ok().then(|| format!("{with_unit:?}"))
    }
}

in_settings_file!(Span, "Duration");

/// The regular expression that a duration matches.
pub(crate) const PATTERN: &str = "(0+|[0-9]+(ms|s|m|h|d))";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_parsed_or_refused() {
        let cases = [
            ("0", Some(0)),
            ("0s", Some(0)),
            ("500ms", Some(500)),
            ("10s", Some(10_000)),
            ("5m", Some(300_000)),
            ("24h", Some(86_400_000)),
            ("30d", Some(2_592_000_000)),
            ("365d", Some(31_536_000_000)),
            ("007s", Some(7_000)),
            ("18446744073709551615ms", Some(u64::MAX)),
            ("18446744073709551616ms", None),
            ("18446744073709551615s", None),
            ("", None),
            ("s", None),
            ("10", None),
            ("10 s", None),
            (" 10s", None),
            ("10s ", None),
            ("-1s", None),
            ("+1s", None),
            ("1.5s", None),
            ("1h30m", None),
            ("10S", None),
            ("10sec", None),
            ("١s", None),
        ];
        for (text, expected) in cases {
            assert_eq!(text.parse().ok(), expected.map(|number| Span(Duration::from_millis(number))), "{text}");
        }
        for (milliseconds, expected) in
            [(0, "0"), (500, "500ms"), (10_000, "10s"), (5_400_000, "90m"), (86_400_000, "1d")]
        {
            assert_eq!(Span(Duration::from_millis(milliseconds)).to_string(), expected);
        }
        let error = "10\nx".parse::<Span>().unwrap_err().to_string();
        assert_eq!(error, r#""10\nx" is not a duration: write a number and a unit, as in 500ms 10s 5m 24h 30d"#);
    }
}
