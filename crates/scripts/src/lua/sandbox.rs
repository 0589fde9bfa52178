//! A Lua state in which nothing reaches the system, and nothing escapes the limits.

use std::{cell::Cell, ffi::c_void, path::PathBuf, rc::Rc, sync::Arc};

use mlua::{Function, LightUserData, Lua, LuaOptions, LuaString, StdLib, Table, Value, chunk::ChunkMode};

use crate::ScriptError;
use crate::lua::{budget::Budget, error::PRELUDE, script_source::ScriptSource};

/// The value that a coroutine yields when its function has returned.
pub(crate) const DONE: LightUserData = LightUserData(std::ptr::without_provenance_mut::<c_void>(1));
/// The value that it yields to wait for something.
pub(crate) const WAIT: LightUserData = LightUserData(std::ptr::without_provenance_mut::<c_void>(2));

/// The functions that the prelude makes.
pub(crate) struct Prelude {
    /// Makes the function of coroutines that run the functions of a script.
    runner_of_one: Function,
    runner_of_several: Function,
    /// `serow.fetch`.
    pub(crate) fetch: Function,
    /// `serow.redis`.
    pub(crate) redis: Function,
    /// `serow.sleep`.
    pub(crate) sleep: Function,
}

/// A state that may have this many bytes, with the libraries that are safe.
pub(crate) fn state(memory: usize) -> mlua::Result<Lua> {
    // Without `jit`, the compiler stays off: compiled loops do not look at hooks. Without `package`, `io` and `ffi`,
    // scripts cannot open files or load libraries in C.
    let libraries = StdLib::TABLE | StdLib::STRING | StdLib::MATH | StdLib::BIT | StdLib::OS;
    let lua = Lua::new_with(libraries, LuaOptions::new())?;
    lua.set_memory_limit(memory)?;
    let globals = lua.globals();
    // Compiled code could do anything: LuaJIT does not check it. `newproxy` would run functions in the collector.
    for name in ["dofile", "loadfile", "newproxy", "gcinfo", "collectgarbage", "require", "module", "print", "debug"] {
        globals.raw_remove(name)?;
    }
    let load = lua.create_function(load)?;
    globals.raw_set("load", &load)?;
    globals.raw_set("loadstring", load)?;
    globals.get::<Table>("string")?.raw_remove("dump")?;
    let (system, time) = (globals.get::<Table>("os")?, lua.create_table()?);
    for name in ["clock", "date", "difftime", "time"] {
        time.raw_set(name, system.get::<Value>(name)?)?;
    }
    globals.raw_set("os", time)?;
    Ok(lua)
}

/// As Lua's `load` and `loadstring`, of text only.
fn load(
    lua: &Lua,
    (text, name, _mode, environment): (LuaString, Option<LuaString>, Option<Value>, Option<Table>),
) -> mlua::Result<(Option<Function>, Option<String>)> {
    let name = name.map_or_else(|| "=(load)".to_owned(), |name| name.to_string_lossy().to_string());
    let text = text.as_bytes().to_vec();
    let chunk = lua.load(text).set_name(name).set_mode(ChunkMode::Text);
    let chunk = match environment {
        Some(environment) => chunk.set_environment(environment),
        None => chunk,
    };
    match chunk.into_function() {
        Ok(function) => Ok((Some(function), None)),
        Err(mlua::Error::SyntaxError { message, .. }) => Ok((None, Some(message))),
        Err(error) => Err(error),
    }
}

/// Replaces what would let a script escape its limits.
pub(crate) fn prelude(lua: &Lua, budget: &Rc<Budget>, native: Table) -> mlua::Result<Prelude> {
    let budget = Rc::clone(budget);
    let exceeded = lua.create_function(move |_, ()| Ok(budget.is_exceeded()))?;
    let chunk = lua.load(include_str!("prelude.lua")).set_name(format!("={PRELUDE}"));
    // Errors of the server's functions are values of their own, with a traceback: scripts get the text.
    let described = lua.create_function(|lua, value: Value| match &value {
        Value::Error(error) => lua.create_string(ScriptError::of_lua(error).to_string()).map(Value::String),
        _ => Ok(value),
    })?;
    let hooks: Table = chunk.call((exceeded, described, native, DONE, WAIT))?;
    let function = |name: &str| hooks.get::<Function>(name);
    Ok(Prelude {
        runner_of_one: function("runner_of_one")?,
        runner_of_several: function("runner_of_several")?,
        fetch: function("fetch")?,
        redis: function("redis")?,
        sleep: function("sleep")?,
    })
}

impl Prelude {
    /// The function of coroutines that run these functions of a script, by the places of [`Hook`](super::hook::Hook). Most
    /// scripts have one only, whose value of the request is not needed again.
    pub(crate) fn runner(&self, functions: [Option<&Function>; 3]) -> mlua::Result<Function> {
        match functions {
            [Some(request), None, None] => self.runner_of_one.call(request),
            [request, response, log] => self.runner_of_several.call((request, response, log)),
        }
    }
}

/// Provides `require`, which loads files below the folder of the script while it is loaded.
pub(crate) fn provide_require(lua: &Lua, script: &Arc<ScriptSource>, is_loading: &Rc<Cell<bool>>) -> mlua::Result<()> {
    let (script, is_loading, loaded) = (Arc::clone(script), Rc::clone(is_loading), lua.create_table()?);
    let require = lua.create_function(move |lua, name: LuaString| {
        let name = name.to_string_lossy().to_string();
        match loaded.raw_get::<Value>(&*name)? {
            Value::Nil => {}
            Value::Boolean(false) => {
                return Err(mlua::Error::runtime(format_args!("require {name:?}: the module is being loaded already")));
            }
            value => return Ok(value),
        }
        if !is_loading.get() {
            let text = "a file can be loaded only while the script is: write it at the beginning of the script";
            return Err(mlua::Error::runtime(format_args!("require {name:?}: {text}")));
        }
        let path = PathBuf::from(format!("{}.lua", name.replace('.', "/")));
        let path = path.to_string_lossy();
        let text = script.file(&path).map_err(|text| mlua::Error::runtime(format_args!("require {name:?}: {text}")))?;
        loaded.raw_set(&*name, false)?;
        let chunk = lua.load(&*text).set_name(format!("@{path}")).set_mode(ChunkMode::Text);
        let value = match chunk.call(&*name) {
            Ok(Value::Nil | Value::Boolean(false)) => Value::Boolean(true),
            Ok(value) => value,
            Err(error) => {
                loaded.raw_remove(&*name)?;
                return Err(error);
            }
        };
        loaded.raw_set(&*name, &value)?;
        Ok(value)
    })?;
    lua.globals().raw_set("require", require)
}
