//! Responses of handlers and other servers in a case.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use bytes::Bytes;
use mlua::{LuaString, Table, Value};
use serow_message::{Body, BodyKind, Headers, Response, StatusCode};

use super::case::value;
use crate::lua::{answer, response_cell::final_status, value_kind::kind};
use crate::{Fetch, FetchFailure, FetchRequest, Fetched, Redis, RedisAnswered, RedisValue};

/// A response that is written in a case.
#[derive(Clone, Debug)]
pub(super) struct Canned {
    status: StatusCode,
    headers: Headers,
    body: Bytes,
}

impl Canned {
    /// Reads a status, or a table with status, headers and body.
    pub(super) fn read(value: &Value) -> Result<Self, String> {
        match value {
            Value::Integer(_) => Ok(Self { status: final_status(value)?, ..Self::default() }),
            Value::Table(_) => {
                let Response { status, headers, body, .. } = answer::of(value, &Headers::new())?.unwrap_or_default();
                let body = match body.into_kind() {
                    BodyKind::Bytes(bytes) => bytes,
                    _ => Bytes::new(),
                };
                Ok(Self { status, headers, body })
            }
            other => {
                Err(format!("a response is a status or a table with status, headers and body, not {}", kind(other)))
            }
        }
    }

    pub(super) fn response(&self) -> Response {
        let mut response = Response::new(self.status);
        response.headers = self.headers.clone();
        response.body = if self.body.is_empty() { Body::empty() } else { self.body.clone().into() };
        response
    }
}

impl Default for Canned {
    fn default() -> Self {
        Self { status: StatusCode::OK, headers: Headers::new(), body: Bytes::new() }
    }
}

/// The responses of other servers by URL; none from one that is down.
type CannedByUrl = BTreeMap<String, Option<Canned>>;

/// The answers of Redis by the words of commands, with a space between.
type AnswerByCommand = BTreeMap<String, RedisValue>;

/// The responses of other servers in a case.
#[derive(Clone, Debug, Default)]
pub(super) struct CannedResponses {
    by_url: CannedByUrl,
    by_command: AnswerByCommand,
}

impl CannedResponses {
    /// Reads the keys `fetch` and `redis` of a case.
    pub(super) fn read(case: &Table) -> Result<Self, String> {
        Ok(Self { by_url: by_url(&value(case, "fetch")?)?, by_command: by_command(&value(case, "redis")?)? })
    }
}

/// Reads a table of answers by command.
fn by_command(written: &Value) -> Result<AnswerByCommand, String> {
    match written {
        Value::Nil => Ok(AnswerByCommand::new()),
        Value::Table(table) => {
            let pairs = table.pairs::<LuaString, Value>().map(|pair| {
                let (command, value) = pair.map_err(|error| error.to_string())?;
                Ok((command.to_string_lossy().to_string(), redis_value(&value)?))
            });
            pairs.collect()
        }
        other => Err(format!("`redis` is a table of answers by command, not {}", kind(other))),
    }
}

/// An answer as scripts get it: `false` stands for nothing.
fn redis_value(value: &Value) -> Result<RedisValue, String> {
    match value {
        Value::Boolean(false) => Ok(RedisValue::Nil),
        Value::Integer(number) => Ok(RedisValue::Number(*number)),
        Value::String(text) => Ok(RedisValue::Text(text.as_bytes().to_vec())),
        Value::Table(list) => {
            let values = list.sequence_values::<Value>();
            let values = values.map(|value| redis_value(&value.map_err(|error| error.to_string())?));
            Ok(RedisValue::List(values.collect::<Result<_, String>>()?))
        }
        other => Err(format!("an answer of Redis is a number, text, a table of these, or false, not {}", kind(other))),
    }
}

/// Reads a table of responses by URL; `false` is a server that is down.
fn by_url(value: &Value) -> Result<CannedByUrl, String> {
    match value {
        Value::Nil => Ok(CannedByUrl::new()),
        Value::Table(table) => {
            let pairs = table.pairs::<LuaString, Value>().map(|pair| {
                let (url, value) = pair.map_err(|error| error.to_string())?;
                let canned = match value {
                    Value::Boolean(false) => None,
                    value => Some(Canned::read(&value)?),
                };
                Ok((url.to_string_lossy().to_string(), canned))
            });
            pairs.collect()
        }
        other => Err(format!("`fetch` is a table of responses by URL, not {}", kind(other))),
    }
}

/// The other servers of the case that runs.
#[derive(Debug, Default)]
pub(super) struct CannedServers {
    responses: Mutex<CannedResponses>,
}

impl CannedServers {
    /// From now on, these are responded.
    pub(super) fn replace(&self, responses: CannedResponses) {
        *self.responses.lock().unwrap_or_else(PoisonError::into_inner) = responses;
    }
}

impl Redis for CannedServers {
    fn call(&self, words: Vec<Vec<u8>>) -> RedisAnswered {
        let command = String::from_utf8_lossy(&words.join(&b' ')).into_owned();
        let responses = self.responses.lock().unwrap_or_else(PoisonError::into_inner);
        let found = responses.by_command.get(&command).cloned();
        Box::pin(async move {
            found.ok_or_else(|| {
                format!("the case has no answer to {command:?}: write redis = {{ [{command:?}] = \"\" }}")
            })
        })
    }
}

impl Fetch for CannedServers {
    fn fetch(&self, request: FetchRequest) -> Result<Fetched, FetchFailure> {
        let url = &request.url;
        let response = match self.responses.lock().unwrap_or_else(PoisonError::into_inner).by_url.get(url) {
            Some(Some(canned)) => canned.response(),
            Some(None) => Response::new(StatusCode::BAD_GATEWAY),
            None => {
                return Err(FetchFailure(format!(
                    "the case has no response of {url:?}: write fetch = {{ [{url:?}] = {{ body = \"\" }} }}"
                )));
            }
        };
        Ok(Box::pin(async move { response }))
    }
}
