//! `serow.json`.

use std::collections::BTreeMap;

use mlua::{Lua, LuaString, Table, Value};
use serde_json::{Number, Value as Json};

use crate::lua::value_kind::kind;

/// Provides `decode`, `encode` and `null`.
pub(super) fn provide(lua: &Lua, serow: &Table) -> mlua::Result<()> {
    let json = lua.create_table()?;
    // Returns nil and what is wrong, since the text is mostly a client's.
    json.raw_set(
        "decode",
        lua.create_function(|lua, text: LuaString| match serde_json::from_slice(&text.as_bytes()) {
            Ok(value) => Ok((decoded(lua, value)?, None)),
            Err(error) => Ok((Value::Nil, Some(error.to_string()))),
        })?,
    )?;
    json.raw_set(
        "encode",
        lua.create_function(|lua, value: Value| {
            let value = encoded(&value, 0).map_err(mlua::Error::runtime)?;
            lua.create_string(value.to_string())
        })?,
    )?;
    json.raw_set("null", Value::NULL)?;
    serow.raw_set("json", json)
}

fn decoded(lua: &Lua, value: Json) -> mlua::Result<Value> {
    Ok(match value {
        Json::Null => Value::NULL,
        Json::Bool(is_true) => Value::Boolean(is_true),
        Json::Number(number) => Value::Number(number.as_f64().unwrap_or(f64::NAN)),
        Json::String(text) => Value::String(lua.create_string(text)?),
        Json::Array(values) => {
            let table = lua.create_table()?;
            for (number, value) in values.into_iter().enumerate() {
                table.raw_set(number + 1, decoded(lua, value)?)?;
            }
            Value::Table(table)
        }
        Json::Object(pairs) => {
            let table = lua.create_table()?;
            for (name, value) in pairs {
                table.raw_set(name, decoded(lua, value)?)?;
            }
            Value::Table(table)
        }
    })
}

/// A table with a first element is a list; an empty one is an object.
fn encoded(value: &Value, depth: usize) -> Result<Json, String> {
    if depth > MAX_DEPTH {
        return Err(format!("serow.json.encode: tables are nested deeper than {MAX_DEPTH}, or contain themselves"));
    }
    match value {
        Value::Nil => Ok(Json::Null),
        value if *value == Value::NULL => Ok(Json::Null),
        Value::Boolean(is_true) => Ok(Json::Bool(*is_true)),
        Value::Integer(number) => Ok(Json::from(*number)),
        Value::Number(number) => of_number(*number),
        Value::String(text) => {
            let text = text.to_str().map_err(|_| "serow.json.encode: text has to be UTF-8".to_owned())?;
            Ok(Json::String(text.to_owned()))
        }
        Value::Table(table) if table.raw_len() > 0 => {
            let values = table
                .sequence_values::<Value>()
                .map(|value| encoded(&value.map_err(|error| error.to_string())?, depth + 1));
            values.collect::<Result<_, _>>().map(Json::Array)
        }
        Value::Table(table) => {
            // In the order of the names: Lua has none.
            let mut object = BTreeMap::new();
            for pair in table.pairs::<Value, Value>() {
                let (name, value) = pair.map_err(|error| error.to_string())?;
                let name = name.to_string().map_err(|error| error.to_string())?;
                object.insert(name, encoded(&value, depth + 1)?);
            }
            Ok(Json::Object(object.into_iter().collect()))
        }
        other => Err(format!("serow.json.encode: {} has no form in JSON", kind(other))),
    }
}

/// A whole number has no fraction.
fn of_number(number: f64) -> Result<Json, String> {
    if number.fract() == 0.0 && number.abs() < EXACT {
        return Ok(Json::from(number as i64));
    }
    Number::from_f64(number).map(Json::Number).ok_or_else(|| format!("serow.json.encode: {number} has no form in JSON"))
}

/// As deep as serde_json reads.
const MAX_DEPTH: usize = 127;

/// Up to here, a 64-bit float is exact for each whole number.
const EXACT: f64 = 9_007_199_254_740_992.0;
