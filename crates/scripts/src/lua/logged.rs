//! The value that the function `log` returns: fields for the access log.

use mlua::{Table, Value};

use serow_message::LogFields;

use super::value_kind::kind;

/// The fields that the function `log` returned; `None` if it returned nothing.
///
/// # Errors
///
/// Says why the value cannot be fields of the log.
pub(crate) fn of(value: &Value) -> Result<Option<LogFields>, String> {
    match value {
        Value::Nil => Ok(None),
        Value::Table(table) => of_table(table).map(Some),
        other => Err(format!("`log` returned {}: return a table of names and texts, or nothing", kind(other))),
    }
}

fn of_table(table: &Table) -> Result<LogFields, String> {
    let mut fields = Vec::new();
    for pair in table.pairs::<Value, Value>() {
        let (name, value) = pair.map_err(|error| error.to_string())?;
        let Value::String(name) = name else { return Err("the names of fields are texts".to_owned()) };
        let name = name.to_string_lossy().to_string();
        if name.is_empty()
            || !name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
        {
            return Err(format!("{name:?} is not the name of a field: write a-z, 0-9 and _"));
        }
        let value = match value {
            Value::String(text) => text.to_string_lossy().chars().take(MAX_VALUE).collect(),
            Value::Integer(number) => number.to_string(),
            Value::Number(number) => number.to_string(),
            Value::Boolean(is_true) => is_true.to_string(),
            other => return Err(format!("the field {name} is text, not {}", kind(&other))),
        };
        fields.push((name, value));
        if fields.len() > MAX_FIELDS {
            return Err(format!("there are more than {MAX_FIELDS} fields"));
        }
    }
    fields.sort();
    Ok(LogFields(fields))
}

/// A line is for people and programs that read millions of them.
const MAX_FIELDS: usize = 20;
const MAX_VALUE: usize = 1000;
