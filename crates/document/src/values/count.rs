//! Whole numbers between two bounds.

use std::{fmt, str::FromStr};

use serde_json::{Value, json};

use crate::{
    in_settings_file,
    values::{SettingValue, Unquoted, ValueError, leading_number},
};

/// A whole number from `MIN` to `MAX`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count<const MIN: u32, const MAX: u32>(u32);

impl<const MIN: u32, const MAX: u32> Count<MIN, MAX> {
    /// A number that is known to be between the bounds; the nearest bound for any other.
    pub fn of(number: u32) -> Self {
        Self(number.clamp(MIN, MAX))
    }

    /// The number.
    pub fn get(self) -> u32 {
        self.0
    }

    /// The number, for what is counted in memory.
    pub fn in_memory(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

impl<const MIN: u32, const MAX: u32> FromStr for Count<MIN, MAX> {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let number = leading_number(text).filter(|(_, rest)| rest.is_empty());
        let number = number.and_then(|(number, _)| u32::try_from(number).ok());
        number
            .filter(|number| (MIN..=MAX).contains(number))
            .map(Self)
            .ok_or_else(|| ValueError::new(text, format!("not a whole number from {MIN} to {MAX}")))
    }
}

impl<const MIN: u32, const MAX: u32> fmt::Display for Count<MIN, MAX> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<const MIN: u32, const MAX: u32> SettingValue for Count<MIN, MAX> {
    const UNQUOTED: Unquoted = Unquoted::OnlyNumbers;

    fn expected() -> String {
        format!("a whole number from {MIN} to {MAX}")
    }

    fn schema() -> Value {
        json!({ "type": "integer", "minimum": MIN, "maximum": MAX })
    }
}

in_settings_file!(Count<MIN, MAX>, "Count", const MIN: u32, const MAX: u32);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_parsed_or_refused() {
        for (text, expected) in
            [("1", Some(1)), ("128", Some(128)), ("0", None), ("129", None), ("", None), ("1k", None)]
        {
            assert_eq!(text.parse::<Count<1, 128>>().ok().map(Count::get), expected, "{text}");
        }
        let error = "-1".parse::<Count<1, 128>>().unwrap_err().to_string();
        assert_eq!(error, r#""-1" is not a whole number from 1 to 128"#);
    }
}
