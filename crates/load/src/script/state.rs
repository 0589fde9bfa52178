//! A Lua state with wrk's global table and a script in it.

use mlua::{Function, Lua, Table, chunk::ChunkMode};

use super::{Script, ScriptError, ScriptTarget, address, error::PRELUDE};

/// A state in which a script was loaded.
pub(super) struct State {
    pub(super) lua: Lua,
    /// The global table, of which scripts may replace every function.
    pub(super) wrk: Table,
    /// What the prelude brings: `request`, `response`, `delay`.
    pub(super) hooks: Table,
    flush: Function,
}

impl State {
    /// Runs a script from its beginning to its end, so that what it defines is there. Before it, `prepare` may add to
    /// the table `wrk`.
    pub(super) fn load(
        script: &Script,
        target: &ScriptTarget,
        prepare: impl FnOnce(&Lua, &Table) -> mlua::Result<()>,
    ) -> Result<Self, ScriptError> {
        let lua = Lua::new();
        let wrk = global_table(&lua, target)?;
        prepare(&lua, &wrk)?;
        lua.globals().set("wrk", &wrk)?;
        let prelude = lua.load(include_str!("prelude.lua")).set_name(format!("={PRELUDE}"));
        let hooks = prelude.call(&wrk)?;
        let flush = lua.globals().get::<Table>("io")?.get("flush")?;
        let state = Self { lua, wrk, hooks, flush };
        let chunk = state.lua.load(script.text()).set_name(format!("@{}", script.name()));
        // Compiled code is not checked by LuaJIT, and could do anything.
        let result = chunk.set_mode(ChunkMode::Text).exec();
        state.flush();
        Ok(result.map(|()| state)?)
    }

    /// Calls a function of the global table.
    pub(super) fn call(&self, name: &str, argument: impl mlua::IntoLua) -> Result<(), ScriptError> {
        let result = self.wrk.get::<Function>(name).and_then(|function| function.call::<()>(argument));
        self.flush();
        Ok(result?)
    }

    /// Whether a global is a function.
    pub(super) fn defines(&self, name: &str) -> bool {
        self.lua.globals().get::<mlua::Value>(name).is_ok_and(|value| value.is_function())
    }

    /// What scripts print goes through C's buffer, what Rust prints does not: without this the order would change.
    pub(super) fn flush(&self) {
        // Nobody reads any more: no reason to end the run.
        let _ = self.flush.call::<()>(());
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
