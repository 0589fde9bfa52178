//! Header fields as scripts see them: `request.headers["user-agent"]`.

use mlua::{Lua, LuaString, Value};
use serow_message::Headers;

use crate::lua::header_rules;

/// The value of a field; of several, all, as in a list (RFC 9110 §5.3).
pub(crate) fn value(lua: &Lua, headers: &Headers, name: &LuaString) -> mlua::Result<Value> {
    let written = name.as_bytes();
    let written = &written[..];
    let translated;
    let name = if written.contains(&b'_') {
        translated = header_rules::name(name);
        &*translated
    } else {
        written
    };
    let mut values = headers.get_all(name);
    match (values.next(), values.next()) {
        (None, _) => Ok(Value::Nil),
        (Some(value), None) => lua.create_string(value).map(Value::String),
        (Some(first), Some(second)) => {
            let all: Vec<_> = [first, second].into_iter().chain(values).collect();
            // RFC 6265 §5.4: the pieces of Cookie, which HTTP/2 sends apart, are joined by semicolons.
            let separator: &[u8] = if name.eq_ignore_ascii_case(b"cookie") { b"; " } else { b", " };
            lua.create_string(all.join(separator)).map(Value::String)
        }
    }
}

/// The values of all fields of a name, as a table.
pub(crate) fn values(lua: &Lua, headers: &Headers, name: &LuaString) -> mlua::Result<Value> {
    let values: mlua::Result<Vec<_>> =
        headers.get_all(&*header_rules::name(name)).map(|value| lua.create_string(value)).collect();
    lua.create_sequence_from(values?).map(Value::Table)
}

/// All fields, as a table of tables: name and value.
pub(crate) fn all(lua: &Lua, headers: &Headers) -> mlua::Result<Value> {
    let fields = headers.iter().map(|(name, value)| {
        lua.create_sequence_from([lua.create_string(name.to_ascii_lowercase())?, lua.create_string(value)?])
    });
    let fields: mlua::Result<Vec<_>> = fields.collect();
    lua.create_sequence_from(fields?).map(Value::Table)
}
