//! The table `serow`, which scripts find among their globals.

mod codings;
mod digests;
mod json;
mod logging;
mod regex;
mod shared;

use std::{cell::Cell, rc::Rc, sync::Arc, time::UNIX_EPOCH};

use mlua::{Lua, LuaString, Table};
use serow_net::time;

use crate::lua::{sandbox::Prelude, script_source::ScriptSource};

/// Provides the table.
pub(crate) fn provide(lua: &Lua, script: &Arc<ScriptSource>, prelude: &Prelude) -> mlua::Result<()> {
    let serow = lua.create_table()?;
    serow.raw_set("fetch", &prelude.fetch)?;
    serow.raw_set("redis", &prelude.redis)?;
    serow.raw_set("sleep", &prelude.sleep)?;
    serow.raw_set("time", lua.create_function(|_, ()| Ok(now()))?)?;
    codings::provide(lua, &serow)?;
    digests::provide(lua, &serow)?;
    json::provide(lua, &serow)?;
    logging::provide(lua, &serow, &script.name)?;
    regex::provide(lua, &serow)?;
    shared::provide(lua, &serow)?;
    lua.globals().raw_set("serow", serow)
}

/// The argument of `setup`: it reads files below the folder of the script, while the script is loaded.
pub(crate) fn config(lua: &Lua, script: &Arc<ScriptSource>, is_loading: &Rc<Cell<bool>>) -> mlua::Result<Table> {
    let (script, is_loading) = (Arc::clone(script), Rc::clone(is_loading));
    let config = lua.create_table()?;
    let read = lua.create_function(move |lua, (_, name): (mlua::Value, LuaString)| {
        let name = name.to_string_lossy().to_string();
        if !is_loading.get() {
            return Err(mlua::Error::runtime("files can be read only in `setup`: keep what is needed in a local"));
        }
        let text = script.file(&name).map_err(mlua::Error::runtime)?;
        lua.create_string(&*text)
    })?;
    config.raw_set("read", read)?;
    Ok(config)
}

/// Seconds since 1970, with fractions.
fn now() -> f64 {
    time::wall().duration_since(UNIX_EPOCH).map_or(0.0, |time| time.as_secs_f64())
}
