//! Header fields: `Name: value`.

use std::{fmt, str::FromStr};

use serde_json::{Value, json};
use serow_message::is_token_byte;

use crate::{
    in_settings_file,
    values::{SettingValue, ValueError},
};

/// A header field as it is to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
}

impl FromStr for Field {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let error = || ValueError::new(text, "not a header field: write it as in 'Name: value'");
        let (name, value) = text.split_once(':').ok_or_else(error)?;
        let is_name = !name.is_empty() && name.bytes().all(is_token_byte);
        if !is_name || value.contains(['\r', '\n', '\0']) {
            return Err(error());
        }
        Ok(Self { name: name.to_owned(), value: value.trim().to_owned() })
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.value)
    }
}

impl SettingValue for Field {
    fn expected() -> String {
        r#"a header field in quotes, as in "Name: value""#.to_owned()
    }

    fn schema() -> Value {
        json!({ "type": "string", "pattern": "^[^ :]+:" })
    }
}

in_settings_file!(Field, "Field");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_parsed_or_refused() {
        let cases = [
            ("A: b", Some(("A", "b"))),
            ("A:b:c ", Some(("A", "b:c"))),
            ("A:", Some(("A", ""))),
            ("A", None),
            (": b", None),
            ("A b: c", None),
            ("A : c", None),
            ("A: b\r\nC: d", None),
        ];
        for (text, expected) in cases {
            let expected = expected.map(|(name, value)| Field { name: name.to_owned(), value: value.to_owned() });
            assert_eq!(text.parse().ok(), expected, "{text}");
        }
    }
}
