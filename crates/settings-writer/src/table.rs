//! Tables of a settings file: `[[site]]`, `[[upstream]]` and so on, with comments.

use serow_nginx_syntax::place::Place;

use super::value::{Value, append_key};

/// A table: its keys in the order in which they were set, and comments before it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// Lines of comments, without `#`.
    pub comments: Vec<String>,
    /// The keys.
    pub entries: Vec<(String, Value)>,
    /// The directive that it comes from.
    pub place: Option<Place>,
}

impl Table {
    /// Sets a key, in place of an earlier value.
    pub fn set(&mut self, key: &str, value: impl Into<Value>) {
        let value = value.into();
        match self.entries.iter_mut().find(|(name, _)| name == key) {
            Some(entry) => entry.1 = value,
            None => self.entries.push((key.to_owned(), value)),
        }
    }

    /// Sets a key where there is a value for it.
    pub fn set_some(&mut self, key: &str, value: Option<impl Into<Value>>) {
        if let Some(value) = value {
            self.set(key, value);
        }
    }

    /// The value of a key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.entries.iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// Removes a key; returns its value.
    pub fn remove(&mut self, key: &str) -> Option<Value> {
        let position = self.entries.iter().position(|(name, _)| name == key)?;
        Some(self.entries.remove(position).1)
    }

    /// Whether it has no keys.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// It as a value in braces.
    #[must_use]
    pub fn into_value(self) -> Value {
        Value::Table(self.entries)
    }

    /// Adds a comment, unless it is there.
    pub fn comment(&mut self, comment: impl Into<String>) {
        let comment = comment.into();
        if !self.comments.contains(&comment) {
            self.comments.push(comment);
        }
    }

    /// Appends it: comments, the header unless it is that of the root, and the keys. A table that has no room on a line
    /// gets a header of its own behind the others.
    pub fn append(&self, header: &str, text: &mut String) {
        self.append_comments(text);
        if !header.is_empty() {
            text.push_str(header);
            text.push('\n');
        }
        let mut wide = Vec::new();
        for (key, value) in &self.entries {
            let mut line = String::new();
            append_key(key, &mut line);
            line.push_str(" = ");
            value.append(&mut line);
            match value {
                Value::Table(entries) if line.chars().count() > WIDEST && !header.is_empty() => {
                    wide.push((key, entries))
                }
                Value::List(values) if line.chars().count() > WIDEST => append_list(key, values, text),
                _ => {
                    text.push_str(&line);
                    text.push('\n');
                }
            }
        }
        let path = header.trim_matches(['[', ']']);
        for (key, entries) in wide {
            text.push('\n');
            let table = Self { entries: entries.clone(), ..Self::default() };
            let mut name = String::new();
            append_key(key, &mut name);
            table.append(&format!("[{path}.{name}]"), text);
        }
    }

    fn append_comments(&self, text: &mut String) {
        for comment in &self.comments {
            text.push_str("# ");
            text.extend(comment.chars().map(|letter| if letter.is_control() { ' ' } else { letter }));
            text.push('\n');
        }
    }
}

/// A list with each value on a line of its own.
fn append_list(key: &str, values: &[Value], text: &mut String) {
    append_key(key, text);
    text.push_str(" = [\n");
    for value in values {
        text.push_str("    ");
        value.append(text);
        text.push_str(",\n");
    }
    text.push_str("]\n");
}

/// The longest line that a table in braces is written on.
const WIDEST: usize = 118;
