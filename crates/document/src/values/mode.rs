//! Permissions of a file: `660`.

use std::{fmt, str::FromStr};

use serde_json::{Value, json};

use crate::{
    in_settings_file,
    values::{SettingValue, ValueError},
};

/// Permissions of a file, written in octal digits, as chmod does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mode(pub u32);

impl FromStr for Mode {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let is_octal = (1..=4).contains(&text.len()) && text.bytes().all(|byte| matches!(byte, b'0'..=b'7'));
        u32::from_str_radix(text, 8)
            .ok()
            .filter(|&bits| is_octal && bits <= 0o777)
            .map(Self)
            .ok_or_else(|| ValueError::new(text, "not a file mode: write three octal digits, as in 660"))
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:03o}", self.0)
    }
}

impl SettingValue for Mode {
    fn expected() -> String {
        r#"a file mode in quotes, as in "660""#.to_owned()
    }

    fn schema() -> Value {
        json!({ "type": "string", "pattern": "^0?[0-7]{1,3}$" })
    }
}

in_settings_file!(Mode, "Mode");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_are_parsed_or_refused() {
        let cases = [("660", Some(0o660)), ("0660", Some(0o660)), ("7", Some(7)), ("777", Some(0o777)), ("1777", None)];
        let wrong = ["", "8", "+66", "0o660", "rw-rw----", "00660"].map(|text| (text, None));
        for (text, expected) in cases.into_iter().chain(wrong) {
            assert_eq!(text.parse().ok(), expected.map(Mode), "{text}");
        }
    }
}
