//! Variables of an environment: `NAME=VALUE`.

use std::{fmt, str::FromStr};

use serde_json::{Value, json};

use crate::{
    in_settings_file,
    values::{SettingValue, ValueError},
};

/// A variable of an environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
}

impl FromStr for Variable {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        match text.split_once('=') {
            Some((name, value)) if !name.is_empty() && !text.contains('\0') => {
                Ok(Self { name: name.to_owned(), value: value.to_owned() })
            }
            _ => Err(ValueError::new(text, "not a variable: write it as in NAME=value")),
        }
    }
}

impl fmt::Display for Variable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.name, self.value)
    }
}

impl SettingValue for Variable {
    fn expected() -> String {
        r#"a variable in quotes, as in "NAME=value""#.to_owned()
    }

    fn schema() -> Value {
        json!({ "type": "string", "pattern": "^[^=]+=" })
    }
}

in_settings_file!(Variable, "Variable");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_and_whatever_stands_behind_the_first_sign() {
        let variable: Variable = "A=b=c".parse().unwrap();
        assert_eq!((&*variable.name, &*variable.value), ("A", "b=c"));
        assert_eq!(variable.to_string(), "A=b=c");
        for wrong in ["A", "=b", "", "A=\0"] {
            assert!(wrong.parse::<Variable>().is_err(), "{wrong:?}");
        }
    }
}
