//! Values of a settings file, written as TOML.

use std::fmt::Write as _;

/// A value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A text in quotes.
    Text(String),
    /// A number.
    Number(u64),
    /// `true` or `false`.
    Bool(bool),
    /// An array.
    List(Vec<Value>),
    /// A table in braces.
    Table(Vec<(String, Value)>),
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl Value {
    /// A single text as it is, several in an array.
    #[must_use]
    pub fn texts(texts: impl IntoIterator<Item = String>) -> Self {
        let mut texts: Vec<String> = texts.into_iter().collect();
        match texts.pop() {
            Some(only) if texts.is_empty() => Self::Text(only),
            last => Self::List(texts.into_iter().chain(last).map(Self::Text).collect()),
        }
    }

    /// An array of texts, also of a single one.
    #[must_use]
    pub fn list(texts: impl IntoIterator<Item = String>) -> Self {
        Self::List(texts.into_iter().map(Self::Text).collect())
    }

    /// Appends it as TOML on one line.
    pub fn append(&self, line: &mut String) {
        match self {
            Self::Text(text) => append_text(text, line),
            Self::Number(number) => _ = write!(line, "{number}"),
            Self::Bool(is_on) => _ = write!(line, "{is_on}"),
            Self::List(values) => {
                line.push('[');
                for (position, value) in values.iter().enumerate() {
                    line.push_str(if position == 0 { "" } else { ", " });
                    value.append(line);
                }
                line.push(']');
            }
            Self::Table(entries) => append_table(entries, line),
        }
    }
}

fn append_table(entries: &[(String, Value)], line: &mut String) {
    line.push_str("{ ");
    for (position, (key, value)) in entries.iter().enumerate() {
        line.push_str(if position == 0 { "" } else { ", " });
        append_key(key, line);
        line.push_str(" = ");
        value.append(line);
    }
    line.push_str(" }");
}

/// Appends a key, in quotes where it needs them.
pub(super) fn append_key(key: &str, line: &mut String) {
    let is_bare = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
    if is_bare { line.push_str(key) } else { append_quoted(key, line) }
}

/// Appends a text, whose `${NAME}` is not a variable of the environment.
fn append_text(text: &str, line: &mut String) {
    let mut plain = String::with_capacity(text.len());
    for (position, part) in text.split("${").enumerate() {
        if position > 0 {
            plain.push_str(if part.starts_with(|first: char| first.is_ascii_uppercase()) { "$${" } else { "${" });
        }
        plain.push_str(part);
    }
    append_quoted(&plain, line);
}

fn append_quoted(text: &str, line: &mut String) {
    let has_escapes = text.contains(['\\', '"']);
    if has_escapes && !text.contains(|letter: char| letter == '\'' || letter.is_control()) {
        _ = write!(line, "'{text}'");
        return;
    }
    line.push('"');
    for letter in text.chars() {
        match letter {
            '"' => line.push_str("\\\""),
            '\\' => line.push_str("\\\\"),
            '\n' => line.push_str("\\n"),
            '\r' => line.push_str("\\r"),
            '\t' => line.push_str("\\t"),
            letter if letter.is_control() => _ = write!(line, "\\u{:04X}", u32::from(letter)),
            letter => line.push(letter),
        }
    }
    line.push('"');
}
