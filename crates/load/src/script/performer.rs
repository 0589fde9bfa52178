//! The script in a worker's thread: it makes the requests and sees the responses.

use std::{
    net::SocketAddr,
    rc::Rc,
    sync::{Arc, mpsc},
    time::Duration,
};

use bytes::Bytes;
use mlua::{Function, LuaString, Value};
use serow_message::Headers;

use super::{
    Script, ScriptError, ScriptTarget,
    state::State,
    thread::{Message, Orders, ThreadObject},
};

/// What a thread needs to take part; goes to it, and becomes a [`Performer`] there.
pub struct Seat {
    messages: mpsc::Receiver<Message>,
    script: Script,
    target: Arc<ScriptTarget>,
}

impl Seat {
    pub(super) fn new(messages: mpsc::Receiver<Message>, script: Script, target: Arc<ScriptTarget>) -> Self {
        Self { messages, script, target }
    }

    /// Loads the script when the conductor sets this thread up, and serves it until the run begins. `None` if there will
    /// be no run: why, the conductor knows.
    #[must_use]
    pub fn perform(self) -> Option<Performer> {
        let orders = Rc::new(Orders::default());
        orders.address.set(self.target.address);
        let mut loaded: Option<State> = None;
        loop {
            match self.messages.recv().ok()? {
                Message::Load(answer) => {
                    let own = ThreadObject::Own(Rc::clone(&orders));
                    let state = State::load(&self.script, &self.target, |_, wrk| wrk.set("thread", own));
                    let (state, result) = match state {
                        Ok(state) => (Some(state), Ok(())),
                        Err(error) => (None, Err(error)),
                    };
                    loaded = state;
                    answer.send(result).ok()?;
                }
                Message::Task(task) => {
                    let state = loaded.as_ref()?;
                    task(&state.lua, &orders);
                    state.flush();
                }
                Message::Begin => return Performer::new(loaded?, orders, self).ok(),
            }
        }
    }
}

/// The script in a worker's thread, which it never leaves.
pub struct Performer {
    request: Function,
    response: Function,
    delay: Function,
    is_static: bool,
    has_delay: bool,
    wants_responses: bool,
    /// What the script gave last, which many scripts give again.
    last: Option<(LuaString, Bytes)>,
    orders: Rc<Orders>,
    state: State,
    seat: Seat,
}

impl Performer {
    fn new(state: State, orders: Rc<Orders>, seat: Seat) -> mlua::Result<Self> {
        Ok(Self {
            request: state.hooks.get("request")?,
            response: state.hooks.get("response")?,
            delay: state.hooks.get("delay")?,
            is_static: !state.defines("request"),
            has_delay: state.defines("delay"),
            wants_responses: state.defines("response"),
            last: None,
            orders,
            state,
            seat,
        })
    }

    /// Whether all requests are the same: the script has no `request`.
    #[must_use]
    pub fn is_static(&self) -> bool {
        self.is_static
    }

    /// Whether the script has `delay`.
    #[must_use]
    pub fn has_delay(&self) -> bool {
        self.has_delay
    }

    /// Whether the script has `response`. If not, heads and bodies need not be kept.
    #[must_use]
    pub fn wants_responses(&self) -> bool {
        self.wants_responses
    }

    /// Whether the script wants this thread to end.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.orders.stopped.get()
    }

    /// Where connections go from now on; `None` if that is no TCP address, and the script has not given one.
    #[must_use]
    pub fn address(&self) -> Option<SocketAddr> {
        self.orders.address.get()
    }

    /// The text of the next request, or of several, as HTTP/1.1 writes it. When the script gives the same string again
    /// these are the same bytes, at the same place.
    ///
    /// # Errors
    ///
    /// What is wrong with the script.
    pub fn request(&mut self) -> Result<Bytes, ScriptError> {
        let text = match self.request.call::<Value>(())? {
            Value::String(text) => text,
            other => return Err(self.no_text(&other)),
        };
        if let Some((last, bytes)) = &self.last
            && last.to_pointer() == text.to_pointer()
        {
            return Ok(bytes.clone());
        }
        let bytes = Bytes::copy_from_slice(&text.as_bytes());
        self.last = Some((text, bytes.clone()));
        Ok(bytes)
    }

    /// How long to wait before the next request.
    ///
    /// # Errors
    ///
    /// What is wrong with the script.
    pub fn delay(&mut self) -> Result<Duration, ScriptError> {
        let delay: Value = self.delay.call(())?;
        let milliseconds = match &delay {
            Value::Integer(value) => Some(*value as f64),
            Value::Number(value) => Some(*value),
            _ => None,
        };
        let delay = milliseconds.and_then(|value| Duration::try_from_secs_f64(value.max(0.0) / 1000.0).ok());
        delay.ok_or_else(|| self.error("delay() must return milliseconds"))
    }

    /// Shows a response to the script.
    ///
    /// # Errors
    ///
    /// What is wrong with the script.
    pub fn response(&mut self, status: u16, headers: &Headers, body: &[u8]) -> Result<(), ScriptError> {
        let lua = &self.state.lua;
        let fields = lua.create_table_with_capacity(0, headers.len())?;
        for (name, value) in headers {
            fields.raw_set(lua.create_string(name)?, lua.create_string(value)?)?;
        }
        Ok(self.response.call::<()>((status, fields, lua.create_string(body)?))?)
    }

    /// Answers what `done` in the main thread asks, until the conductor releases this thread.
    pub fn serve_until_released(self) {
        self.state.flush();
        while let Ok(message) = self.seat.messages.recv() {
            if let Message::Task(task) = message {
                task(&self.state.lua, &self.orders);
                self.state.flush();
            }
        }
    }

    fn no_text(&self, value: &Value) -> ScriptError {
        self.error(format_args!("request() returned a {}, not the text of a request", value.type_name()))
    }

    fn error(&self, message: impl std::fmt::Display) -> ScriptError {
        ScriptError::new(format_args!("{}: {message}", self.seat.script.name()))
    }
}
