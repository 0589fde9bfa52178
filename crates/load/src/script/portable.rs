//! Values on their way from the state of one thread to that of another.

use mlua::{IntoLua, Lua, Value};

use super::{ScriptError, kind};

/// A value that a state can hand to another one: a copy without any tie to where it comes from.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Portable {
    Nil,
    Boolean(bool),
    Number(f64),
    Text(Vec<u8>),
    Table(Vec<(Portable, Portable)>),
}

impl Portable {
    /// A copy of a value.
    ///
    /// # Errors
    ///
    /// There is something in it that belongs to its state, as functions do, or it is nested too deeply.
    pub(super) fn of(value: &Value) -> Result<Self, ScriptError> {
        Self::nested(value, 0)
    }

    fn nested(value: &Value, depth: usize) -> Result<Self, ScriptError> {
        Ok(match value {
            Value::Nil => Self::Nil,
            Value::Boolean(value) => Self::Boolean(*value),
            Value::Integer(value) => Self::Number(*value as f64),
            Value::Number(value) => Self::Number(*value),
            Value::String(value) => Self::Text(value.as_bytes().to_vec()),
            Value::Table(_) if depth == DEEPEST => {
                return Err(ScriptError::new("cannot hand over a table that is nested too deeply, or contains itself"));
            }
            Value::Table(table) => {
                let mut entries = Vec::new();
                for entry in table.pairs::<Value, Value>() {
                    let (key, value) = entry?;
                    entries.push((Self::nested(&key, depth + 1)?, Self::nested(&value, depth + 1)?));
                }
                Self::Table(entries)
            }
            other => {
                return Err(ScriptError::new(format_args!("cannot hand a {} over to another thread", kind(other))));
            }
        })
    }
}

impl IntoLua for Portable {
    fn into_lua(self, lua: &Lua) -> mlua::Result<Value> {
        match self {
            Self::Nil => Ok(Value::Nil),
            Self::Boolean(value) => Ok(Value::Boolean(value)),
            Self::Number(value) => Ok(Value::Number(value)),
            Self::Text(value) => lua.create_string(value)?.into_lua(lua),
            Self::Table(entries) => lua.create_table_from(entries)?.into_lua(lua),
        }
    }
}

/// Of tables in tables: more than any data has, and a table that contains itself ends somewhere.
const DEEPEST: usize = 100;
