//! A response as long as its script has it.

use std::cell::{Cell, RefCell};

use mlua::{IntoLua, Lua, Value};
use serow_message::{Body, KnownHeader, Response, StatusCode, content};

use crate::lua::value_kind::{self, kind, number};

/// A response as long as its script has it.
pub(crate) struct ResponseCell {
    response: RefCell<Option<Response>>,
    is_reading: Cell<bool>,
    /// Whether it can still be changed: not while it is only logged.
    is_open: Cell<bool>,
}

impl ResponseCell {
    pub(crate) fn new(response: Response) -> Self {
        Self { response: RefCell::new(Some(response)), is_reading: Cell::new(false), is_open: Cell::new(true) }
    }

    /// Reads something of the response.
    pub(crate) fn with<T>(&self, read: impl FnOnce(&Response) -> Result<T, String>) -> Result<T, String> {
        match &*self.response.borrow() {
            Some(response) => read(response),
            None => Err(ENDED.to_owned()),
        }
    }

    /// Changes something of the response.
    pub(crate) fn change(&self, change: impl FnOnce(&mut Response) -> Result<(), String>) -> Result<(), String> {
        match &mut *self.response.borrow_mut() {
            Some(_) if !self.is_open.get() => {
                Err("`log` cannot change the response: do it in the function `response`".to_owned())
            }
            Some(response) => change(response),
            None => Err(ENDED.to_owned()),
        }
    }

    /// From now on, it can only be read.
    pub(crate) fn close(&self) {
        self.is_open.set(false);
    }

    /// Takes the response, to send it.
    pub(crate) fn take(&self) -> Option<Response> {
        self.response.borrow_mut().take()
    }

    /// Takes the body, to read it.
    pub(crate) fn take_body(&self) -> Result<Body, String> {
        match &mut *self.response.borrow_mut() {
            None => Err(ENDED.to_owned()),
            Some(_) if !self.is_open.get() => Err("`log` cannot read the body of the response".to_owned()),
            Some(_) if self.is_reading.replace(true) => Err("the body is being read already".to_owned()),
            Some(response) => Ok(std::mem::replace(&mut response.body, Body::empty())),
        }
    }

    /// Puts a body into its place.
    pub(crate) fn put_body(&self, body: Body) {
        self.is_reading.set(false);
        if let Some(response) = &mut *self.response.borrow_mut() {
            response.body = body;
        }
    }
}

/// A field of a response as scripts see it.
pub(crate) fn field(lua: &Lua, response: &Response, name: &[u8]) -> Result<Value, String> {
    match name {
        b"status" => response.status.as_u16().into_lua(lua).map_err(|error| error.to_string()),
        _ => Err(unknown(name)),
    }
}

/// Sets a field of a response.
pub(crate) fn set_field(response: &mut Response, name: &[u8], value: &Value) -> Result<(), String> {
    match (name, value) {
        (b"status", value) => {
            response.status = status(value, response.status)?;
            Ok(())
        }
        (b"body", value) => replace_body(response, body_text(value, response.status)?),
        _ => Err(unknown(name)),
    }
}

fn unknown(name: &[u8]) -> String {
    format!("a response has no {}: there are status, headers and body", name.escape_ascii())
}

/// The status that a script writes in place of this one.
fn status(value: &Value, before: StatusCode) -> Result<StatusCode, String> {
    let status = final_status(value)?;
    if content::is_possible(status) != content::is_possible(before) {
        return Err(format!(
            "the status {} cannot become {}: one has a body, the other has none",
            before.as_u16(),
            status.as_u16()
        ));
    }
    Ok(status)
}

/// A status that a response may have.
pub(crate) fn final_status(value: &Value) -> Result<StatusCode, String> {
    let Some(number) = number(value) else {
        return Err(format!("a status is a number from 200 to 599, not {}", kind(value)));
    };
    let is_final = number.fract() == 0.0 && (200.0..=599.0).contains(&number);
    let status = is_final.then(|| StatusCode::from_u16(number as u16).ok()).flatten();
    status.ok_or_else(|| format!("{number} is not a status: write one from 200 to 599"))
}

/// The body that a script writes for a response with this status.
pub(crate) fn body_text(value: &Value, status: StatusCode) -> Result<Vec<u8>, String> {
    let text = value_kind::text(value);
    let text = text.ok_or_else(|| format!("the body of a response is text, not {}", kind(value)))?;
    match content::is_possible(status) {
        true => Ok(text),
        false => Err(format!("a response with {} has no body", status.as_u16())),
    }
}

/// Replaces the body of a response, and removes the fields that describe the one before.
fn replace_body(response: &mut Response, text: Vec<u8>) -> Result<(), String> {
    if response.status == StatusCode::PARTIAL_CONTENT {
        return Err("a part of a body (206) cannot be replaced: remove `range` from the request".to_owned());
    }
    response.headers.retain_known(|_, known, _| !known.is_some_and(|known| OF_THE_BODY.contains(&known)));
    response.body = text.into();
    Ok(())
}

/// Fields that describe one body, and no other.
const OF_THE_BODY: [KnownHeader; 6] = [
    KnownHeader::ContentLength,
    KnownHeader::ContentEncoding,
    KnownHeader::ContentRange,
    KnownHeader::AcceptRanges,
    KnownHeader::Etag,
    KnownHeader::LastModified,
];

const ENDED: &str = "the response has been sent: change it in the function `response`";
