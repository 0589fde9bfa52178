//! `serow.base64` and `serow.hex`, and texts of URLs.

use data_encoding::{BASE64, BASE64_NOPAD, BASE64URL_NOPAD, Encoding, HEXLOWER_PERMISSIVE};
use mlua::{Lua, LuaString, Table};
use serow_message::percent;

use crate::lua::request_fields::decoded;

/// Provides them.
pub(super) fn provide(lua: &Lua, serow: &Table) -> mlua::Result<()> {
    let base64 = lua.create_table()?;
    base64.raw_set("encode", lua.create_function(|lua, text: LuaString| encode(lua, &BASE64, &text))?)?;
    base64.raw_set("encode_url", lua.create_function(|lua, text: LuaString| encode(lua, &BASE64URL_NOPAD, &text))?)?;
    base64.raw_set("decode", lua.create_function(|lua, text: LuaString| from_base64(lua, &text))?)?;
    serow.raw_set("base64", base64)?;
    let hex = lua.create_table()?;
    hex.raw_set("encode", lua.create_function(|lua, text: LuaString| encode(lua, &HEXLOWER_PERMISSIVE, &text))?)?;
    hex.raw_set(
        "decode",
        lua.create_function(|lua, text: LuaString| {
            HEXLOWER_PERMISSIVE.decode(&text.as_bytes()).ok().map(|bytes| lua.create_string(bytes)).transpose()
        })?,
    )?;
    serow.raw_set("hex", hex)?;
    let url = lua.create_table()?;
    url.raw_set(
        "encode",
        lua.create_function(|lua, text: LuaString| {
            let mut encoded = Vec::new();
            percent::encode_query_part(&text.as_bytes(), &mut encoded);
            lua.create_string(encoded)
        })?,
    )?;
    url.raw_set(
        "decode",
        lua.create_function(|lua, text: LuaString| lua.create_string(decoded(&text.to_string_lossy())))?,
    )?;
    serow.raw_set("url", url)
}

fn encode(lua: &Lua, encoding: &Encoding, text: &LuaString) -> mlua::Result<LuaString> {
    lua.create_string(encoding.encode(&text.as_bytes()))
}

/// Of both alphabets, with or without padding, as tokens and links have it; nil if it is neither.
fn from_base64(lua: &Lua, text: &LuaString) -> mlua::Result<Option<LuaString>> {
    let text = text.as_bytes();
    let mut plain: Vec<u8> = text
        .iter()
        .map(|byte| match byte {
            b'-' => b'+',
            b'_' => b'/',
            other => *other,
        })
        .collect();
    while plain.last() == Some(&b'=') {
        plain.pop();
    }
    BASE64_NOPAD.decode(&plain).ok().map(|bytes| lua.create_string(bytes)).transpose()
}
