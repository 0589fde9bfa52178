//! A header field that has to be there: `X-Ready`, or `X-Ready: yes`.

use std::{fmt, str::FromStr};

use serde_json::{Value, json};
use serow_message::is_token_byte;

use crate::{
    in_settings_file,
    values::{Field, SettingValue, ValueError},
};

/// A header field that has to be there, with its value where one is given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpectedField {
    /// Its name.
    pub name: String,
    /// Its value, if it matters.
    pub value: Option<String>,
}

impl FromStr for ExpectedField {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        if !text.is_empty() && text.bytes().all(is_token_byte) {
            return Ok(Self { name: text.to_owned(), value: None });
        }
        match text.parse::<Field>() {
            Ok(Field { name, value }) if !value.is_empty() => Ok(Self { name, value: Some(value) }),
            _ => Err(ValueError::new(text, "not a header field: write a name, or 'name: value'")),
        }
    }
}

impl fmt::Display for ExpectedField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.value {
            Some(value) => write!(f, "{}: {value}", self.name),
            None => f.write_str(&self.name),
        }
    }
}

impl SettingValue for ExpectedField {
    fn expected() -> String {
        r#"a header field in quotes, as in "X-Ready" or "X-Ready: yes""#.to_owned()
    }

    fn schema() -> Value {
        json!({ "type": "string", "pattern": "^[^ :]+(:.+)?$" })
    }
}

in_settings_file!(ExpectedField, "ExpectedField");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_parsed_or_refused() {
        for (text, expected) in [("X-Ready", Some("X-Ready")), ("X-Ready:yes ", Some("X-Ready: yes")), ("a b", None)] {
            assert_eq!(text.parse::<ExpectedField>().ok().map(|field| field.to_string()).as_deref(), expected);
        }
        for text in ["", ":", "a:", "a: ", ": b", "a: b\r\nc: d"] {
            assert!(text.parse::<ExpectedField>().is_err(), "{text}");
        }
    }
}
