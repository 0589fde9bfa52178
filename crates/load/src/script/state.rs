//! A Lua state with wrk's global table and a script in it.

use mlua::{FromLuaMulti, Function, IntoLua, IntoLuaMulti, Lua, Table, Value, chunk::ChunkMode};

use super::{Script, ScriptError, ScriptTarget, address, debug, error::PRELUDE};

/// A Lua state for a script.
pub(super) struct ScriptState {
    pub(super) lua: Lua,
    /// The global table, of which scripts may replace every function.
    pub(super) wrk: Table,
    /// The functions of the prelude: `request`, `response`, `delay`.
    pub(super) hooks: Table,
    /// The name of the script.
    script: Box<str>,
}

impl ScriptState {
    /// A state with the table `wrk` in it, for a script of this name.
    pub(super) fn new(script: &str, target: &ScriptTarget) -> mlua::Result<Self> {
        let lua = Lua::new();
        let wrk = global_table(&lua, target)?;
        lua.globals().set("wrk", &wrk)?;
        lua.globals().set("debug", debug::table(&lua)?)?;
        let hooks = lua.load(include_str!("prelude.lua")).set_name(format!("={PRELUDE}")).call(&wrk)?;
        Ok(Self { lua, wrk, hooks, script: script.into() })
    }

    /// Runs a script from its beginning to its end, so that what it defines is there.
    pub(super) fn execute(&self, script: &Script) -> Result<(), ScriptError> {
        // LuaJIT does not check compiled code, which could do anything.
        let chunk = self.lua.load(script.text()).set_name(format!("@{}", script.name())).set_mode(ChunkMode::Text);
        chunk.exec().map_err(|error| ScriptError::located(&error, Some(script.name())))
    }

    /// Calls a function of the table `wrk`, which in turn calls a global of the same name.
    pub(super) fn call(&self, name: &str, argument: impl IntoLua) -> Result<(), ScriptError> {
        let result = self.wrk.get::<Function>(name).and_then(|function| function.call(argument));
        result.map_err(|error| self.error(name, &error))
    }

    /// Calls a function that belongs to a global.
    #[inline]
    pub(super) fn run<R: FromLuaMulti>(
        &self,
        function: &Function,
        global: &str,
        arguments: impl IntoLuaMulti,
    ) -> Result<R, ScriptError> {
        function.call(arguments).map_err(|error| self.error(global, &error))
    }

    /// A global, if it is a function.
    pub(super) fn global(&self, name: &str) -> Option<Function> {
        match self.lua.globals().get(name) {
            Ok(Value::Function(function)) => Some(function),
            _ => None,
        }
    }

    /// An error in a global function.
    #[cold]
    pub(super) fn error(&self, global: &str, error: &mlua::Error) -> ScriptError {
        // Of `return f()` nothing is left on the stack: then the beginning of the function has to do.
        let place = self.global(global).and_then(|function| {
            let info = function.info();
            Some(format!("{}:{}", info.short_src?, info.line_defined?))
        });
        ScriptError::located(error, Some(place.as_deref().unwrap_or(&self.script)))
    }
}

/// The table `wrk`, without what the prelude adds.
fn global_table(lua: &Lua, target: &ScriptTarget) -> mlua::Result<Table> {
    let wrk = lua.create_table()?;
    wrk.set("scheme", target.scheme.as_str())?;
    wrk.set("host", target.host.as_str())?;
    wrk.set("port", target.port.as_deref())?;
    wrk.set("method", target.method.as_str())?;
    wrk.set("path", target.path.as_str())?;
    let headers = target.headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    wrk.set("headers", lua.create_table_from(headers)?)?;
    if let Some(body) = &target.body {
        wrk.set("body", lua.create_string(body)?)?;
    }
    address::provide(lua, &wrk)?;
    Ok(wrk)
}
