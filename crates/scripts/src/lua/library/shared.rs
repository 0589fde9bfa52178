//! `serow.shared`: a dictionary that all threads of the process share.

use mlua::{Lua, LuaString, Table, Value};

use crate::lua::shared_dictionary::{Entry, dictionary};

use super::now;

use crate::lua::value_kind::kind;

/// Provides it.
pub(super) fn provide(lua: &Lua, serow: &Table) -> mlua::Result<()> {
    let shared = lua.create_table()?;
    shared.raw_set(
        "get",
        lua.create_function(|lua, name: LuaString| match dictionary().get(&name.as_bytes(), now()) {
            None => Ok(Value::Nil),
            Some(Entry::Number(number)) => Ok(Value::Number(number)),
            Some(Entry::Text(text)) => lua.create_string(&*text).map(Value::String),
        })?,
    )?;
    shared.raw_set(
        "set",
        lua.create_function(|_, (name, value, lifetime): (LuaString, Value, Option<f64>)| {
            let entry = match &value {
                Value::Nil => {
                    dictionary().remove(&name.as_bytes());
                    return Ok(());
                }
                Value::Integer(number) => Entry::Number(*number as f64),
                Value::Number(number) => Entry::Number(*number),
                Value::String(text) => Entry::Text(text.as_bytes().to_vec().into()),
                other => {
                    let text = format_args!("serow.shared keeps texts and numbers, not {}", kind(other));
                    return Err(mlua::Error::runtime(text));
                }
            };
            let set = dictionary().set(&name.as_bytes(), entry, expiry(lifetime)?, now());
            set.map_err(mlua::Error::runtime)
        })?,
    )?;
    shared.raw_set(
        "incr",
        lua.create_function(|_, (name, by, lifetime): (LuaString, Option<f64>, Option<f64>)| {
            let sum = dictionary().add(&name.as_bytes(), by.unwrap_or(1.0), expiry(lifetime)?, now());
            sum.map_err(mlua::Error::runtime)
        })?,
    )?;
    serow.raw_set("shared", shared)
}

/// When an entry that lives for so many seconds ends.
fn expiry(lifetime: Option<f64>) -> mlua::Result<Option<f64>> {
    match lifetime {
        None => Ok(None),
        Some(seconds) if seconds > 0.0 => Ok(Some(now() + seconds)),
        Some(_) => Err(mlua::Error::runtime("serow.shared: a lifetime is a number of seconds above 0")),
    }
}
