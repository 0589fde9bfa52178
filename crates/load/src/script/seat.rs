//! A thread's part before the run: it loads the script, and serves the main thread's.

use std::{
    iter,
    rc::Rc,
    sync::{Arc, mpsc},
};

use super::{
    Script, ScriptError, ScriptRunner, ScriptTarget,
    state::ScriptState,
    thread::{Message, Orders, ThreadObject},
};

/// A worker's end of the way from the main thread.
pub(super) type Inbox = mpsc::Receiver<Message>;

/// A thread's part in the script: it is sent to the thread, and becomes a [`ScriptRunner`] there.
pub struct Seat {
    inbox: Inbox,
    script: Script,
    target: Arc<ScriptTarget>,
}

impl Seat {
    pub(super) fn new(inbox: Inbox, script: Script, target: Arc<ScriptTarget>) -> Self {
        Self { inbox, script, target }
    }

    /// Loads the script when the conductor sets this thread up, and serves it until the run begins. `None` if there
    /// will be no run: why, the conductor knows.
    #[must_use]
    pub fn into_runner(self) -> Option<ScriptRunner> {
        let orders = Rc::new(Orders::default());
        orders.address.set(self.target.address);
        let mut loaded: Option<ScriptState> = None;
        loop {
            match self.inbox.recv().ok()? {
                Message::Load(answer) => {
                    let result = self.load(&orders).map(|state| loaded = Some(state));
                    answer.send(result).ok()?;
                }
                Message::Initialise(answer) => answer.send(self.initialise(loaded.as_ref()?)).ok()?,
                Message::Task(task) => task(&loaded.as_ref()?.lua, &orders),
                Message::Begin => return ScriptRunner::new(loaded?, orders, self.inbox).ok(),
            }
        }
    }

    fn load(&self, orders: &Rc<Orders>) -> Result<ScriptState, ScriptError> {
        let state = ScriptState::new(self.script.name(), &self.target)?;
        state.execute(&self.script)?;
        state.wrk.set("thread", ThreadObject::Own(Rc::clone(orders)))?;
        Ok(state)
    }

    /// `init(args)`: the URL is `args[0]`.
    fn initialise(&self, state: &ScriptState) -> Result<(), ScriptError> {
        let arguments = state.lua.create_table()?;
        for (index, argument) in iter::once(&self.target.url).chain(&self.target.arguments).enumerate() {
            arguments.raw_set(index, argument.as_str())?;
        }
        state.call("init", arguments)
    }
}
