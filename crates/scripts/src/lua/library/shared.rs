//! `serow.shared`: a dictionary that all threads share, and with `serow run` all generations.

use mlua::{Lua, LuaString, Table, Value};

use crate::lua::shared_dictionary::{Dictionary, Entry, dictionary};

use super::now;

use crate::lua::value_kind::kind;

/// Provides it.
pub(super) fn provide(lua: &Lua, serow: &Table) -> mlua::Result<()> {
    let shared = lua.create_table()?;
    shared.raw_set(
        "get",
        lua.create_function(|lua, name: LuaString| {
            match with_dictionary(|dictionary| dictionary.get(&name.as_bytes(), now()))? {
                None => Ok(Value::Nil),
                Some(Entry::Number(number)) => Ok(Value::Number(number)),
                Some(Entry::Text(text)) => lua.create_string(text).map(Value::String),
            }
        })?,
    )?;
    shared.raw_set(
        "set",
        lua.create_function(|_, (name, value, lifetime): (LuaString, Value, Option<f64>)| {
            let entry = match &value {
                Value::Nil => return with_dictionary(|dictionary| dictionary.remove(&name.as_bytes())),
                Value::Integer(number) => Entry::Number(*number as f64),
                Value::Number(number) => Entry::Number(*number),
                Value::String(text) => Entry::Text(text.as_bytes().to_vec()),
                other => {
                    let text = format_args!("serow.shared keeps texts and numbers, not {}", kind(other));
                    return Err(mlua::Error::runtime(text));
                }
            };
            let expires = expiry(lifetime)?;
            with_dictionary(|dictionary| dictionary.set(&name.as_bytes(), &entry, expires, now()))
        })?,
    )?;
    shared.raw_set(
        "incr",
        lua.create_function(|_, (name, by, lifetime): (LuaString, Option<f64>, Option<f64>)| {
            let expires = expiry(lifetime)?;
            with_dictionary(|dictionary| dictionary.add(&name.as_bytes(), by.unwrap_or(1.0), expires, now()))
        })?,
    )?;
    serow.raw_set("shared", shared)
}

fn with_dictionary<T>(action: impl FnOnce(&Dictionary) -> Result<T, String>) -> mlua::Result<T> {
    dictionary().and_then(action).map_err(mlua::Error::runtime)
}

/// When an entry that lives for so many seconds ends.
fn expiry(lifetime: Option<f64>) -> mlua::Result<Option<f64>> {
    match lifetime {
        None => Ok(None),
        Some(seconds) if seconds > 0.0 => Ok(Some(now() + seconds)),
        Some(_) => Err(mlua::Error::runtime("serow.shared: a lifetime is a number of seconds above 0")),
    }
}
