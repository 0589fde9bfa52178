//! Threads as scripts see them: `thread.addr`, `thread:get`, `thread:set` and `thread:stop`, from within and from
//! without.

use std::{cell::Cell, net::SocketAddr, rc::Rc, sync::mpsc};

use mlua::{Lua, LuaString, UserData, UserDataFields, UserDataMethods, Value};

use super::{ScriptError, address::Address, portable::Portable};

/// The commands to a thread from its script or from the main thread's.
#[derive(Debug, Default)]
pub(super) struct Orders {
    /// Where its connections go.
    pub(super) address: Cell<Option<SocketAddr>>,
    /// Whether it is to end.
    pub(super) stopped: Cell<bool>,
}

/// A message from the main thread to a worker.
pub(super) enum Message {
    /// Load the script, and say how that went.
    Load(Answer),
    /// Call `init`, and say how that went.
    Initialise(Answer),
    /// Do this with the state, between phases.
    Task(Task),
    /// The run begins.
    Begin,
}

/// How something went.
type Answer = mpsc::SyncSender<Result<(), ScriptError>>;

/// Something to be done with the state of another thread, in that thread.
pub(super) type Task = Box<dyn FnOnce(&Lua, &Orders) + Send>;

/// The main thread's end of the way to a worker. When the last of them is dropped the worker is released.
#[derive(Clone)]
pub(super) struct Link(pub(super) mpsc::Sender<Message>);

impl Link {
    /// Has the worker load the script; waits until it has.
    pub(super) fn load(&self) -> Result<(), ScriptError> {
        self.command(Message::Load)
    }

    /// Has the worker call `init`; waits until it has.
    pub(super) fn initialise(&self) -> Result<(), ScriptError> {
        self.command(Message::Initialise)
    }

    /// Has the worker do something with its state; waits for the result.
    pub(super) fn ask<T: Send + 'static>(
        &self,
        task: impl FnOnce(&Lua, &Orders) -> Result<T, ScriptError> + Send + 'static,
    ) -> Result<T, ScriptError> {
        let (answer, answered) = mpsc::sync_channel(1);
        self.send(Message::Task(Box::new(move |lua, orders| {
            // The caller waits for the answer, so sending cannot fail.
            let _ = answer.send(task(lua, orders));
        })))?;
        answered.recv().map_err(|_| ScriptError::thread_ended())?
    }

    /// Has the worker begin.
    pub(super) fn begin(&self) -> Result<(), ScriptError> {
        self.send(Message::Begin)
    }

    fn command(&self, command: impl FnOnce(Answer) -> Message) -> Result<(), ScriptError> {
        let (answer, answered) = mpsc::sync_channel(1);
        self.send(command(answer))?;
        answered.recv().map_err(|_| ScriptError::thread_ended())?
    }

    fn send(&self, message: Message) -> Result<(), ScriptError> {
        self.0.send(message).map_err(|_| ScriptError::thread_ended())
    }
}

/// A thread in the hands of a script.
pub(super) enum ThreadObject {
    /// `wrk.thread`: the thread that the script runs in.
    Own(Rc<Orders>),
    /// A worker, in the main thread's script.
    Other(Link),
}

impl ThreadObject {
    /// Does something with the state of the thread, wherever it is.
    fn within<T: Send + 'static>(
        &self,
        lua: &Lua,
        task: impl FnOnce(&Lua, &Orders) -> Result<T, ScriptError> + Send + 'static,
    ) -> mlua::Result<T> {
        Ok(match self {
            Self::Own(orders) => task(lua, orders)?,
            Self::Other(link) => link.ask(task)?,
        })
    }
}

impl UserData for ThreadObject {
    fn add_fields<F: UserDataFields<Self>>(fields: &mut F) {
        fields.add_field_method_get("addr", |lua, thread| {
            let address = thread.within(lua, |_, orders| Ok(orders.address.get()))?;
            Ok(address.map(Address))
        });
        fields.add_field_method_set("addr", |lua, thread, value: Value| {
            let Address(address) = Address::of(&value)?;
            thread.within(lua, move |_, orders| {
                orders.address.set(Some(address));
                Ok(())
            })
        });
    }

    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        methods.add_method("get", |lua, thread, name: LuaString| {
            let name = name.as_bytes().to_vec();
            thread.within(lua, move |lua, _| {
                let value: Value = lua.globals().get(lua.create_string(name)?)?;
                Portable::of(&value)
            })
        });
        methods.add_method("set", |lua, thread, (name, value): (LuaString, Value)| {
            let (name, value) = (name.as_bytes().to_vec(), Portable::of(&value)?);
            thread.within(lua, move |lua, _| Ok(lua.globals().set(lua.create_string(name)?, value)?))
        });
        methods.add_method("stop", |lua, thread, ()| {
            thread.within(lua, |_, orders| {
                orders.stopped.set(true);
                Ok(())
            })
        });
    }
}
