//! The script in a worker's thread: it makes the requests and sees the responses.

use std::{net::SocketAddr, rc::Rc, time::Duration};

use bytes::Bytes;
use mlua::{Function, LuaString, Value};
use serow_message::Headers;

use super::{
    ScriptError,
    fields::Fields,
    kind,
    seat::Inbox,
    state::ScriptState,
    thread::{Message, Orders},
};

/// The script in a worker's thread, which it never leaves.
pub struct ScriptRunner {
    request: Function,
    response: Function,
    delay: Function,
    is_static: bool,
    has_delay: bool,
    wants_responses: bool,
    /// The text that the script returned last, which many scripts return again.
    last: Option<(LuaString, Bytes)>,
    fields: Fields,
    orders: Rc<Orders>,
    state: ScriptState,
    inbox: Inbox,
}

impl ScriptRunner {
    pub(super) fn new(state: ScriptState, orders: Rc<Orders>, inbox: Inbox) -> mlua::Result<Self> {
        Ok(Self {
            request: state.hooks.get("request")?,
            response: state.hooks.get("response")?,
            delay: state.hooks.get("delay")?,
            is_static: state.global("request").is_none(),
            has_delay: state.global("delay").is_some(),
            wants_responses: state.global("response").is_some(),
            last: None,
            fields: Fields::new(&state.lua)?,
            orders,
            state,
            inbox,
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

    /// Where connections go that are opened from now on; `None` if the target has no TCP address and the script gave
    /// none.
    #[must_use]
    pub fn address(&self) -> Option<SocketAddr> {
        self.orders.address.get()
    }

    /// The text of the next request, or of several, as HTTP/1.1 writes it. When the script gives the same string again
    /// these are the same bytes, at the same place.
    ///
    /// # Errors
    ///
    /// An error in the script.
    pub fn request(&mut self) -> Result<Bytes, ScriptError> {
        let text = match self.state.run(&self.request, "request", ())? {
            Value::String(text) => text,
            other => return Err(self.misfit("request", "the text of a request", &other)),
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
    /// An error in the script.
    pub fn delay(&mut self) -> Result<Duration, ScriptError> {
        let delay: Value = self.state.run(&self.delay, "delay", ())?;
        let milliseconds = match &delay {
            Value::Nil => Some(0.0),
            other => self.state.lua.coerce_number(other.clone()).ok().flatten(),
        };
        let seconds = milliseconds.map(|value| if value < 0.0 { 0.0 } else { value / 1000.0 });
        let duration = seconds.and_then(|value| Duration::try_from_secs_f64(value).ok());
        duration.ok_or_else(|| self.misfit("delay", "milliseconds", &delay))
    }

    /// Shows a response to the script.
    ///
    /// # Errors
    ///
    /// An error in the script.
    pub fn response(&mut self, status: u16, headers: &Headers, body: &[u8]) -> Result<(), ScriptError> {
        let fields = self.fields.table(&self.state.lua, headers)?;
        self.state.run(&self.response, "response", (status, LuaString::wrap(body), fields, headers.len()))
    }

    /// Answers what the main thread asks, until the conductor releases this thread.
    pub fn serve_until_released(self) {
        while let Ok(message) = self.inbox.recv() {
            if let Message::Task(task) = message {
                task(&self.state.lua, &self.orders);
            }
        }
    }

    #[cold]
    fn misfit(&self, global: &str, wanted: &str, value: &Value) -> ScriptError {
        let found = match value {
            Value::Integer(number) => number.to_string(),
            Value::Number(number) => number.to_string(),
            Value::String(text) => format!("{:?}", text.to_string_lossy()),
            other => format!("a {} value", kind(other)),
        };
        let message = format!("{global}() must return {wanted}, and returned {found}");
        self.state.error(global, &mlua::Error::runtime(message))
    }
}
