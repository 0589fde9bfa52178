//! The values at the root of a settings file, to tell which of them another file has not.

use std::{collections::BTreeMap, fmt::Write};

use toml::de::DeValue;

use crate::document::{Document, Table, Value};

/// The keys at the root of a settings file, and their values, wherever in the text they stand.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SettingsValues(BTreeMap<String, String>);

impl SettingsValues {
    /// Those of a file, except for these keys.
    #[must_use]
    pub fn without(document: &Document<'_>, keys: &[&str]) -> Self {
        let root = document.root().iter();
        let others = root.filter(|(key, _)| !keys.contains(&&**key.get_ref()));
        Self(others.map(|(key, value)| (key.get_ref().to_string(), written(value))).collect())
    }

    /// The first key that has another value in another file, or that one of both has not.
    #[must_use]
    pub fn first_difference<'a>(&'a self, other: &'a Self) -> Option<&'a str> {
        let keys = self.0.keys().chain(other.0.keys());
        keys.filter(|key| self.0.get(*key) != other.0.get(*key)).map(String::as_str).min()
    }
}

/// A value in one form, however it is written.
fn written(value: &Value<'_>) -> String {
    let mut text = String::new();
    write_value(value, &mut text);
    text
}

fn write_value(value: &Value<'_>, into: &mut String) {
    match value.get_ref() {
        DeValue::String(text) => {
            // Writing to a string does not fail.
            let _ = write!(into, "{text:?}");
        }
        DeValue::Integer(number) => {
            let _ = write!(into, "{}r{}", number.as_str(), number.radix());
        }
        DeValue::Float(number) => into.push_str(number.as_str()),
        DeValue::Boolean(is_true) => into.push_str(if *is_true { "true" } else { "false" }),
        DeValue::Datetime(time) => {
            let _ = write!(into, "{time}");
        }
        DeValue::Array(values) => {
            into.push('[');
            for value in values {
                write_value(value, into);
                into.push(',');
            }
            into.push(']');
        }
        DeValue::Table(table) => write_table(table, into),
    }
}

fn write_table(table: &Table<'_>, into: &mut String) {
    let sorted: BTreeMap<&str, &Value<'_>> = table.iter().map(|(key, value)| (&**key.get_ref(), value)).collect();
    into.push('{');
    for (key, value) in sorted {
        let _ = write!(into, "{key:?}=");
        write_value(value, into);
        into.push(',');
    }
    into.push('}');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(text: &str) -> SettingsValues {
        SettingsValues::without(&Document::parse(text).unwrap(), &["site"])
    }

    #[test]
    fn values_are_compared_and_neither_places_nor_spelling() {
        let one = values("workers = 2\nlisten = [\"a\", 'b']\n[cache]\nmemory = \"1M\"\ndir = \"c\"\n[[site]]\n");
        let same = "[[site]]\nhosts = [\"other\"]\n[cache]\ndir = 'c' # a comment\nmemory = \"1M\"\n";
        let other = values(&format!("listen = [\n'a', \"\"\"b\"\"\"]\n\nworkers=2\n{same}"));
        assert_eq!((one.first_difference(&other), &one), (None, &other));
        for (text, expected) in [
            ("workers = 3", "workers"),
            ("workers = \"2\"", "workers"),
            ("workers = 2\nlisten = [\"a\"]", "listen"),
            ("workers = 2\nlisten = [\"a\", 'b']", "cache"),
            ("workers = 2\nlisten = [\"a\", 'b']\n[cache]\nmemory = \"2M\"\ndir = \"c\"", "cache"),
            ("admin = \"off\"\nworkers = 2\nlisten = [\"a\", 'b']\n[cache]\nmemory = \"1M\"\ndir = \"c\"", "admin"),
        ] {
            let different = values(text);
            assert!(one.first_difference(&different).is_some(), "{text}");
            assert!(different.first_difference(&one).is_some(), "{text}");
            if text.contains("[cache]") || expected == "cache" {
                assert_eq!(one.first_difference(&different), Some(expected), "{text}");
            }
        }
    }
}
