//! Header fields as scripts see them: `request.headers["user-agent"]`.

use mlua::{Lua, LuaString, Table, Value};
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

/// All fields as lines, `name:value`, for [`of_lines`].
pub(crate) fn lines(headers: &Headers) -> Vec<u8> {
    let mut lines = Vec::with_capacity(256);
    for (name, value) in headers {
        lines.extend(name.iter().map(u8::to_ascii_lowercase));
        lines.push(b':');
        lines.extend_from_slice(value);
        lines.push(b'\n');
    }
    lines
}

/// A table of the fields in such lines; of several with a name, all values, as in a list (RFC 9110 §5.3).
pub(crate) fn of_lines(lua: &Lua, lines: &[u8]) -> mlua::Result<Table> {
    let fields = lua.create_table()?;
    for line in lines.split(|byte| *byte == b'\n') {
        let Some(colon) = line.iter().position(|byte| *byte == b':') else { continue };
        let (name, value) = (lua.create_string(&line[..colon])?, &line[colon + 1..]);
        let joined = match fields.raw_get::<Option<LuaString>>(&name)? {
            Some(before) => lua.create_string([&before.as_bytes()[..], b", ", value].concat())?,
            None => lua.create_string(value)?,
        };
        fields.raw_set(name, joined)?;
    }
    Ok(fields)
}

/// All fields, as a table of tables: name and value.
pub(crate) fn all(lua: &Lua, headers: &Headers) -> mlua::Result<Value> {
    let fields = headers.iter().map(|(name, value)| {
        lua.create_sequence_from([lua.create_string(name.to_ascii_lowercase())?, lua.create_string(value)?])
    });
    let fields: mlua::Result<Vec<_>> = fields.collect();
    lua.create_sequence_from(fields?).map(Value::Table)
}
