//! A Lua state before its script has run.

use std::{cell::Cell, rc::Rc, sync::Arc};

use mlua::{HookTriggers, Lua, Value, VmState, chunk::ChunkMode};

use crate::ScriptError;
use crate::lua::{
    budget::{Budget, INSTRUCTIONS_PER_LOOK},
    held::HeldTable,
    library, native,
    sandbox::{self, Prelude},
    script_source::ScriptSource,
    strings,
};

/// A Lua state with all that scripts find in it, before its script has run.
pub(crate) struct Loading {
    pub(crate) lua: Lua,
    pub(crate) budget: Rc<Budget>,
    pub(crate) held: Rc<HeldTable>,
    pub(crate) prelude: Prelude,
    /// Files can be read while this is set.
    pub(crate) is_loading: Rc<Cell<bool>>,
}

impl Loading {
    /// A state for this script.
    pub(crate) fn new(script: &Arc<ScriptSource>) -> mlua::Result<Self> {
        let (budget, limits) = (Rc::new(Budget::new()), script.limits);
        let lua = sandbox::state(limits.memory)?;
        let look = Rc::clone(&budget);
        let triggers = HookTriggers::new().every_nth_instruction(INSTRUCTIONS_PER_LOOK);
        lua.set_global_hook(triggers, move |lua, _| match look.look() {
            true => Err(mlua::Error::RuntimeError(
                lua.traceback(Some("the script has reached its limit of time"), 0)?.to_string_lossy().to_string(),
            )),
            false => Ok(VmState::Continue),
        })?;
        let held = Rc::new(HeldTable::default());
        let prelude = sandbox::prelude(&lua, &budget, native::table(&lua, &held, limits.memory)?)?;
        strings::replace(&lua, &budget)?;
        let is_loading = Rc::new(Cell::new(true));
        sandbox::provide_require(&lua, script, &is_loading)?;
        library::provide(&lua, script, &prelude)?;
        Ok(Self { lua, budget, held, prelude, is_loading })
    }

    /// Runs the text of the script, and returns what that returns.
    pub(crate) fn run(&self, script: &ScriptSource) -> Result<Value, ScriptError> {
        let chunk = self.lua.load(script.text()).set_name(format!("@{}", script.name)).set_mode(ChunkMode::Text);
        chunk.call(()).map_err(|error| ScriptError::of_lua(&error).with_column(script.text()))
    }
}
