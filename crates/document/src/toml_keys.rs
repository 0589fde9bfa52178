//! Settings as TOML, each value in its shortest form.

use std::fmt::Write;

use serde::Serialize;
use serde_json::{Map, Value};

/// Keys and values of a table, in their order.
#[derive(Debug, Default)]
pub struct WrittenKeys(Map<String, Value>);

impl WrittenKeys {
    /// Adds the settings that differ from the defaults.
    pub fn add<T: Serialize>(&mut self, settings: &T, defaults: &T) {
        let defaults = object(defaults);
        let differing = object(settings).into_iter().filter(|(key, value)| defaults.get(key) != Some(value));
        self.0.extend(differing);
    }

    /// Adds the settings that say something.
    pub fn add_all<T: Serialize>(&mut self, settings: &T) {
        self.add_all_and(settings, "");
    }

    /// The same, and the table at this key even without keys.
    pub fn add_all_and<T: Serialize>(&mut self, settings: &T, meant_if_empty: &str) {
        let is_empty = |(key, value): &(String, Value)| {
            value.is_null() || value.as_object().is_some_and(Map::is_empty) && key != meant_if_empty
        };
        self.0.extend(object(settings).into_iter().filter(|entry| !is_empty(entry)));
    }

    /// Adds a table at a key of its own.
    pub fn add_table(&mut self, key: &str, table: Self) {
        self.0.insert(key.to_owned(), Value::Object(table.0));
    }

    /// Whether there is no key.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A line for each.
    pub fn lines(&self) -> String {
        let mut lines = String::new();
        for (name, value) in &self.0 {
            // A String takes everything.
            let _ = writeln!(lines, "{} = {}", key(name), toml(value));
        }
        lines
    }
}

fn object<T: Serialize>(settings: &T) -> Map<String, Value> {
    match serde_json::to_value(settings) {
        Ok(Value::Object(keys)) => keys,
        // All settings are structs with values that are text, numbers, lists or tables.
        _ => Map::new(),
    }
}

/// A value as TOML writes it.
fn toml(value: &Value) -> String {
    match value {
        Value::String(text) => string(text),
        // One stands for a list of it.
        Value::Array(values) if values.len() == 1 => toml(&values[0]),
        Value::Array(values) => format!("[{}]", values.iter().map(toml).collect::<Vec<_>>().join(", ")),
        Value::Object(keys) if keys.is_empty() => "{}".to_owned(),
        Value::Object(keys) => {
            let entries = keys.iter().map(|(name, value)| format!("{} = {}", key(name), toml(value)));
            format!("{{ {} }}", entries.collect::<Vec<_>>().join(", "))
        }
        value => value.to_string(),
    }
}

fn key(name: &str) -> String {
    let is_bare = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    if !name.is_empty() && name.bytes().all(is_bare) { name.to_owned() } else { string(name) }
}

fn string(text: &str) -> String {
    let mut quoted = "\"".to_owned();
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            character if character.is_control() => quoted.push_str(&format!("\\u{:04X}", u32::from(character))),
            character => quoted.push(character),
        }
    }
    quoted + "\""
}
