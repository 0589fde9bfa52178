//! A reference of keys for people, in Markdown.

use std::fmt::Write;

use serde_json::Value;

use crate::{Shape, description, markdown::escaped};

/// A reference that is being written.
#[derive(Debug)]
pub struct Reference {
    text: String,
    /// Which names are keys, in place of the options that texts name.
    is_key: fn(&str) -> bool,
}

impl Reference {
    /// A reference that begins with this text.
    pub fn new(text: String, is_key: fn(&str) -> bool) -> Self {
        Self { text, is_key }
    }

    /// Adds Markdown.
    pub fn push_text(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// Adds a heading and the keys below it.
    pub fn push(&mut self, heading: &str, shape: &Shape) {
        self.text.push_str(heading);
        self.text.push_str("\n\n");
        self.push_keys(shape);
    }

    /// Adds groups of keys, each below its heading of this level.
    pub fn push_groups(&mut self, level: &str, groups: Vec<(String, Shape)>) {
        for (heading, shape) in groups {
            self.push(&format!("{level} {heading}"), &shape);
        }
    }

    /// Adds keys: the form of the value, the explanation and the default of each.
    pub fn push_keys(&mut self, shape: &Shape) {
        for (key, schema) in &shape.properties {
            // A String takes everything.
            let _ = write!(self.text, "**`{key}`**: {}\n\n", escaped(&value(schema)));
            let description = schema.get("description").and_then(Value::as_str);
            let description = description.map(|text| description::of_key(text, self.is_key)).unwrap_or_default();
            let _ = write!(self.text, "{}\n\n", escaped(&description));
            if let Some(default) = schema.get("default").filter(|default| **default != Value::Bool(false)) {
                let _ = write!(self.text, "Default: `{default}`.\n\n");
            }
        }
    }

    /// The whole text.
    pub fn finish(mut self) -> String {
        self.text.truncate(self.text.trim_end().len());
        self.text.push('\n');
        self.text
    }
}

/// The form of the value that a key has.
fn value(schema: &Value) -> String {
    let is = |name: &str| schema.get("type").is_some_and(|kind| kind == name);
    if let Some(title) = schema.get("title").and_then(Value::as_str) {
        return title.to_owned();
    }
    match schema.get("anyOf").and_then(Value::as_array).and_then(|choices| choices.first()) {
        Some(first) => value(first),
        None if is("boolean") => "true or false".to_owned(),
        None if is("object") => r#"a table, as in { Name = "value" }"#.to_owned(),
        None => "text in quotes".to_owned(),
    }
}
