//! Values of Lua as people who write scripts know them: there is one type of numbers.

use mlua::Value;

/// The name of the type of a value, as Lua's `type` says it.
pub(crate) fn kind(value: &Value) -> &'static str {
    if value.is_integer() { "number" } else { value.type_name() }
}

/// A number, if it is one.
pub(crate) fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Integer(number) => Some(*number as f64),
        Value::Number(number) => Some(*number),
        _ => None,
    }
}

/// Text, as Lua itself takes it: a string, or a number.
pub(crate) fn text(value: &Value) -> Option<Vec<u8>> {
    match value {
        Value::String(text) => Some(text.as_bytes().to_vec()),
        Value::Integer(number) => Some(number.to_string().into_bytes()),
        Value::Number(number) => Some(number.to_string().into_bytes()),
        _ => None,
    }
}
