//! The states of a thread: each script has one, for all requests of the thread.

use std::{cell::RefCell, rc::Rc};

use crate::lua::state::LuaState;
use crate::{Script, ScriptError};

thread_local! {
    /// By the numbers of their scripts.
    static STATES: RefCell<Vec<Option<Rc<LuaState>>>> = const { RefCell::new(Vec::new()) };
}

/// The state of a script in this thread. A state that has used up its memory is replaced: the requests that it still has
/// keep it until they end.
pub(crate) fn of_thread(script: &Script) -> Result<Rc<LuaState>, ScriptError> {
    let number = script.source.number;
    if let Some(state) = STATES.with_borrow(|states| states.get(number).cloned().flatten())
        && !state.is_exhausted()
    {
        return Ok(state);
    }
    let state = Rc::new(LuaState::new(&script.source)?);
    STATES.with_borrow_mut(|states| {
        if states.len() <= number {
            states.resize_with(number + 1, || None);
        }
        states[number] = Some(Rc::clone(&state));
    });
    Ok(state)
}
