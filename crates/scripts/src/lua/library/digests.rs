//! `serow.sha256`, `serow.hmac` and what nginx's secure links need.

use aws_lc_rs::{constant_time, digest, hmac};
use mlua::{Lua, LuaString, Table};

/// Provides them: each returns bytes, which `serow.hex` and `serow.base64` write as text.
pub(super) fn provide(lua: &Lua, serow: &Table) -> mlua::Result<()> {
    serow.raw_set("sha256", lua.create_function(|lua, text: LuaString| of(lua, &digest::SHA256, &text))?)?;
    serow.raw_set(
        "sha1",
        lua.create_function(|lua, text: LuaString| of(lua, &digest::SHA1_FOR_LEGACY_USE_ONLY, &text))?,
    )?;
    serow.raw_set(
        "hmac",
        lua.create_function(|lua, (key, text): (LuaString, LuaString)| {
            let key = hmac::Key::new(hmac::HMAC_SHA256, &key.as_bytes());
            lua.create_string(hmac::sign(&key, &text.as_bytes()))
        })?,
    )?;
    // A comparison that stops at the first wrong byte would reveal by its time how much of a secret was right.
    serow.raw_set(
        "equal",
        lua.create_function(|_, (one, other): (LuaString, LuaString)| {
            Ok(constant_time::verify_slices_are_equal(&one.as_bytes(), &other.as_bytes()).is_ok())
        })?,
    )?;
    serow.raw_set(
        "random",
        lua.create_function(|lua, count: usize| {
            if count > MAX_RANDOM {
                return Err(mlua::Error::runtime(format_args!("serow.random makes {MAX_RANDOM} bytes at most")));
            }
            let mut bytes = vec![0; count];
            aws_lc_rs::rand::fill(&mut bytes).map_err(|_| mlua::Error::runtime("the system has no random bytes"))?;
            lua.create_string(bytes)
        })?,
    )
}

fn of(lua: &Lua, algorithm: &'static digest::Algorithm, text: &LuaString) -> mlua::Result<LuaString> {
    lua.create_string(digest::digest(algorithm, &text.as_bytes()))
}

/// As much as the longest key.
const MAX_RANDOM: usize = 1024;
