//! The states of a thread: each script has one, for all requests of the thread.

use std::{cell::RefCell, rc::Rc};

use serow_net::ThreadSlots;

use crate::lua::state::LuaState;
use crate::{Script, ScriptError};

thread_local! {
    static STATES: RefCell<ThreadSlots<Rc<LuaState>>> = const { RefCell::new(ThreadSlots::new()) };
}

/// The state of a script in this thread. A state that has used up its memory is replaced: the requests that it still has
/// keep it until they end.
pub(crate) fn of_thread(script: &Script) -> Result<Rc<LuaState>, ScriptError> {
    if let Some(state) = STATES.with_borrow(|states| states.get(&script.number).cloned())
        && !state.is_exhausted()
    {
        return Ok(state);
    }
    let state = Rc::new(LuaState::new(&script.source)?);
    let former = STATES.with_borrow_mut(|states| states.set(&script.number, Rc::clone(&state)));
    drop(former);
    Ok(state)
}

/// Drops the states that this thread has for scripts that are gone.
pub fn drop_stale_states() {
    let stale = STATES.with_borrow_mut(ThreadSlots::take_stale);
    drop(stale);
}
