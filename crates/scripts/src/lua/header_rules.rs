//! Which header fields scripts may set, and how they write them.

use std::borrow::Cow;

use mlua::{LuaString, Table, Value};
use serow_message::{Headers, KnownHeader, hop_by_hop};

use crate::lua::value_kind::{self, kind};

/// The name of a field as scripts write it: `user_agent` stands for `user-agent`, as with OpenResty.
pub(crate) fn name(written: &LuaString) -> Cow<'static, [u8]> {
    let mut name = written.as_bytes().to_vec();
    name.iter_mut().filter(|byte| **byte == b'_').for_each(|byte| *byte = b'-');
    name.into()
}

/// Whether scripts may set a field of this name.
///
/// # Errors
///
/// Why not: the server writes those that frame a message or belong to the connection.
fn check(name: &[u8]) -> Result<(), String> {
    let known = KnownHeader::recognise(name);
    let is_of_connection = hop_by_hop::Named::default().covers(name, known);
    match known {
        Some(KnownHeader::ContentLength | KnownHeader::TransferEncoding | KnownHeader::Trailer) => {
            Err(format!("a script cannot set {}: the server writes it to fit the body", name.escape_ascii()))
        }
        _ if is_of_connection => Err(format!(
            "a script cannot set {}: it belongs to the connection, not to the message",
            name.escape_ascii()
        )),
        _ => Ok(()),
    }
}

/// Sets a field to a value, or to several; nil removes it.
pub(crate) fn set(headers: &mut Headers, name: &[u8], value: &Value) -> Result<(), String> {
    check(name)?;
    if let Value::Table(values) = value {
        let values = texts(values, name)?;
        headers.remove(name);
        return values.iter().try_for_each(|value| append(headers, name, value));
    }
    let value = text(value, name)?;
    headers.remove(name);
    value.map_or(Ok(()), |value| append(headers, name, &value))
}

/// Adds the fields of a table, in the order of their names: Lua has none.
pub(crate) fn fill(headers: &mut Headers, fields: &Table) -> Result<(), String> {
    let mut named = Vec::new();
    for pair in fields.pairs::<LuaString, Value>() {
        let (written, value) = pair.map_err(|_| "the name of a header field is text".to_owned())?;
        named.push((name(&written), value));
    }
    named.sort_by(|one, other| one.0.cmp(&other.0));
    named.iter().try_for_each(|(name, value)| set(headers, name, value))
}

/// Adds a field.
pub(crate) fn add(headers: &mut Headers, name: &[u8], value: &Value) -> Result<(), String> {
    check(name)?;
    text(value, name)?.map_or(Ok(()), |value| append(headers, name, &value))
}

fn append(headers: &mut Headers, name: &[u8], value: &[u8]) -> Result<(), String> {
    headers.append(name, value).map_err(|error| format!("the header field {}: {error}", name.escape_ascii()))
}

fn texts(values: &Table, name: &[u8]) -> Result<Vec<Vec<u8>>, String> {
    let values = values.sequence_values::<Value>().map(|value| match value {
        Ok(value) => text(&value, name).map(Option::unwrap_or_default),
        Err(error) => Err(error.to_string()),
    });
    values.collect()
}

fn text(value: &Value, name: &[u8]) -> Result<Option<Vec<u8>>, String> {
    if value.is_nil() {
        return Ok(None);
    }
    let text = value_kind::text(value);
    text.map(Some).ok_or_else(|| format!("the header field {} is text, not {}", name.escape_ascii(), kind(value)))
}

#[cfg(test)]
mod tests {
    use mlua::Lua;

    use super::*;

    #[test]
    fn fields_that_frame_messages_are_refused() {
        let lua = Lua::new();
        for (name, value, expected) in [
            ("x-a", "return '1'", "x-a: 1"),
            ("x-a", "return 1", "x-a: 1"),
            ("x-a", "return 1.5", "x-a: 1.5"),
            ("x-a", "return {'1', '2'}", "x-a: 1 x-a: 2"),
            ("x-a", "return nil", ""),
            ("x-a", "return {}", ""),
            ("x-a", "return true", "the header field x-a is text, not boolean"),
            (
                "x-a",
                "return 'a\\r\\nb: c'",
                "the header field x-a: the value of a header field must not hold control characters",
            ),
            (
                "x a",
                "return 'a'",
                "the header field x a: the name of a header field must be a token (letters, digits and !#$%&'*+-.^_`|~)",
            ),
            (
                "Content-Length",
                "return '1'",
                "a script cannot set Content-Length: the server writes it to fit the body",
            ),
            (
                "transfer-encoding",
                "return nil",
                "a script cannot set transfer-encoding: the server writes it to fit the body",
            ),
            (
                "connection",
                "return 'x'",
                "a script cannot set connection: it belongs to the connection, not to the message",
            ),
            ("upgrade", "return 'x'", "a script cannot set upgrade: it belongs to the connection, not to the message"),
        ] {
            let mut headers = Headers::new();
            headers.append("x-a", "before").unwrap();
            let value = lua.load(value).eval().unwrap();
            let found = set(&mut headers, name.as_bytes(), &value);
            let fields = headers
                .iter()
                .map(|(name, value)| format!("{}: {}", String::from_utf8_lossy(name), String::from_utf8_lossy(value)));
            let fields: Vec<_> = fields.collect();
            assert_eq!(found.map_or_else(|text| text, |()| fields.join(" ")), expected, "{name}");
        }
    }

    #[test]
    fn underscores_are_hyphens() {
        let lua = Lua::new();
        assert_eq!(&*name(&lua.create_string("user_agent").unwrap()), b"user-agent");
    }
}
