//! Operations outside of Lua that a function of a script waits for.

use std::time::Duration;

use bytes::Bytes;
use mlua::{Lua, Table, Value};
use serow_message::{Body, Headers, Method, Response};
use tokio::time::{sleep, timeout};

use crate::{FetchRequest, RedisValue, Servers};

use crate::lua::{
    header_fields, header_rules,
    held::{Held, HeldTable},
    known_keys,
    value_kind::{self, kind, number},
};

/// An operation that a function of a script waits for.
pub(crate) enum Operation {
    /// That this time passes.
    Sleep(Duration),
    /// The body of a request or a response, of at most this many bytes.
    Body(Held, usize),
    /// The response of another server.
    Fetch(Box<FetchRequest>),
    /// The answer of Redis to a command.
    Redis(Vec<Vec<u8>>),
}

impl Operation {
    /// The operation that the function requests by these values.
    ///
    /// # Errors
    ///
    /// Says why these values are not an operation.
    pub(crate) fn new(
        name: &Value,
        argument: &Value,
        more: &Value,
        held: &HeldTable,
        memory: usize,
    ) -> Result<Self, String> {
        let name = match name {
            Value::String(name) => name.to_string_lossy().to_string(),
            _ => String::new(),
        };
        match (&*name, argument) {
            ("sleep", argument) => seconds(argument).map(Self::Sleep),
            ("body", argument) => {
                let limit = match more {
                    Value::Nil => DEFAULT_BODY_LIMIT,
                    more => count(more, memory).ok_or("the limit of a body is a number of bytes")?,
                };
                let held = number(argument).and_then(|number| held.get(number));
                held.map(|held| Self::Body(held, limit)).ok_or_else(|| "the request has ended".to_owned())
            }
            ("fetch", Value::String(url)) => {
                fetch_url(url.as_bytes().to_vec()).map(|request| Self::Fetch(Box::new(request)))
            }
            ("fetch", Value::Table(argument)) => {
                fetch_request(argument, memory).map(|request| Self::Fetch(Box::new(request)))
            }
            ("fetch", other) => {
                Err(format!("serow.fetch needs a URL, or a table as in {{ url = ... }}, not {}", kind(other)))
            }
            ("redis", Value::Table(words)) => command(words, more).map(Self::Redis),
            _ => Err("there is no such operation".to_owned()),
        }
    }

    /// Does it, and returns what the function gets; or why it fails.
    pub(crate) async fn run(self, lua: &Lua, servers: &Servers, depth: u32) -> Result<Value, String> {
        match self {
            Self::Sleep(time) => {
                sleep(time).await;
                Ok(Value::Nil)
            }
            Self::Body(held, limit) => {
                let (read, body) = read(held.take_body()?, limit).await;
                held.put_body(body);
                text(lua, read)
            }
            Self::Fetch(mut request) => {
                request.depth = depth;
                let (time, max_body) = (request.timeout, request.max_body);
                let asked = servers.fetch.fetch(*request).map_err(|failure| failure.to_string())?;
                let asking = async {
                    let Response { status, headers, body, .. } = asked.await;
                    let body = body.collect(max_body).await;
                    let body = body.map_err(|error| format!("the response cannot be read: {error}"))?;
                    fetched(lua, status.as_u16(), &headers, &body).map_err(|error| error.to_string())
                };
                timeout(time, asking).await.unwrap_or_else(|_| Err(format!("there was no response within {time:?}")))
            }
            Self::Redis(words) => {
                let redis = servers.redis.as_ref();
                let redis = redis.ok_or("serow.redis needs Redis: write [redis] into the settings file")?;
                let answer = redis.call(words).await?;
                redis_value(lua, answer).map_err(|error| error.to_string())
            }
        }
    }
}

/// The text of a body for a script: nothing if the body is too long.
fn text(lua: &Lua, read: Result<Option<Bytes>, String>) -> Result<Value, String> {
    match read? {
        Some(bytes) => lua.create_string(&bytes).map(Value::String).map_err(|error| error.to_string()),
        None => Ok(Value::Nil),
    }
}

/// Reads a body of at most so many bytes, and returns it with what takes its place; with nothing, if it has more.
async fn read(mut body: Body, limit: usize) -> (Result<Option<Bytes>, String>, Body) {
    if body.length().is_some_and(|length| length > limit as u64) {
        return (Ok(None), body);
    }
    let mut whole = Vec::new();
    loop {
        match body.chunk().await {
            None => {
                let whole = Bytes::from(whole);
                return (Ok(Some(whole.clone())), whole.into());
            }
            Some(Ok(piece)) => whole.extend_from_slice(&piece),
            Some(Err(error)) => return (Err(format!("the body cannot be read: {error}")), Body::empty()),
        }
        if whole.len() > limit {
            return (Ok(None), body.preceded_by(whole.into()));
        }
    }
}

/// The response of another server as a table; most scripts look at none of its header fields.
fn fetched(lua: &Lua, status: u16, headers: &Headers, body: &[u8]) -> mlua::Result<Value> {
    let response = lua.create_table_with_capacity(1, 3)?;
    response.raw_set(0, lua.create_string(header_fields::lines(headers))?)?;
    response.raw_set("status", status)?;
    response.raw_set("body", lua.create_string(body)?)?;
    Ok(Value::Table(response))
}

/// The request for a URL alone.
fn fetch_url(url: Vec<u8>) -> Result<FetchRequest, String> {
    let url = String::from_utf8(url).map_err(|_| "serow.fetch: the url has other characters than a URL may have")?;
    let (headers, body) = Default::default();
    let (timeout, max_body) = (DEFAULT_FETCH_TIMEOUT, DEFAULT_BODY_LIMIT);
    Ok(FetchRequest { url, method: Method::GET, headers, body, timeout, max_body, depth: 0 })
}

fn fetch_request(table: &Table, memory: usize) -> Result<FetchRequest, String> {
    let known = ["url", "method", "headers", "body", "timeout", "max_body"];
    known_keys::check(table, &known).map_err(|name| {
        format!("serow.fetch does not know {name:?}: it takes url, method, headers, body, timeout and max_body")
    })?;
    let get = |name: &str| table.raw_get::<Value>(name).map_err(|error| error.to_string());
    let string = |name: &str| match get(name)? {
        Value::Nil => Ok(None),
        Value::String(text) => Ok(Some(text.as_bytes().to_vec())),
        other => Err(format!("serow.fetch: {name} is text, not {}", kind(&other))),
    };
    let mut request = fetch_url(string("url")?.ok_or("serow.fetch needs a url")?)?;
    let body = string("body")?.unwrap_or_default();
    match string("method")? {
        Some(method) => {
            let wrong = |_| format!("serow.fetch: {} is not a method", method.escape_ascii());
            request.method = Method::from_bytes(&method).map_err(wrong)?;
        }
        None if body.is_empty() => {}
        None => request.method = Method::POST,
    }
    if request.method == Method::CONNECT {
        return Err("serow.fetch: CONNECT opens a tunnel, which scripts cannot use".to_owned());
    }
    request.body = body.into();
    match get("headers")? {
        Value::Nil => {}
        Value::Table(fields) => header_rules::fill(&mut request.headers, &fields)?,
        other => return Err(format!("serow.fetch: headers is a table, not {}", kind(&other))),
    }
    match get("timeout")? {
        Value::Nil => {}
        value => request.timeout = seconds(&value)?,
    }
    match get("max_body")? {
        Value::Nil => {}
        value => request.max_body = count(&value, memory).ok_or("serow.fetch: max_body is a number of bytes")?,
    }
    Ok(request)
}

/// The words of a command of Redis; so many that none of them was nil.
fn command(words: &Table, count: &Value) -> Result<Vec<Vec<u8>>, String> {
    let count = number(count).unwrap_or_default() as usize;
    let words = (1..=count).map(|place| {
        let word = words.raw_get::<Value>(place).map_err(|error| error.to_string())?;
        let wrong = || format!("serow.redis: a word of a command is text or a number, not {}", kind(&word));
        value_kind::text(&word).ok_or_else(wrong)
    });
    words.collect()
}

/// An answer of Redis: within a list, false stands for nothing, since nil would end the list.
fn redis_value(lua: &Lua, answer: RedisValue) -> mlua::Result<Value> {
    Ok(match answer {
        RedisValue::Nil => Value::Nil,
        RedisValue::Number(number) => Value::Number(number as f64),
        RedisValue::Text(text) => Value::String(lua.create_string(text)?),
        RedisValue::List(answers) => {
            let list = lua.create_table_with_capacity(answers.len(), 0)?;
            for answer in answers {
                list.raw_push(match redis_value(lua, answer)? {
                    Value::Nil => Value::Boolean(false),
                    value => value,
                })?;
            }
            Value::Table(list)
        }
    })
}

/// A number of bytes of a body; at most what the state may have, so that scripts cannot have the server read more.
fn count(value: &Value, memory: usize) -> Option<usize> {
    let bytes = number(value).filter(|bytes| *bytes >= 0.0)?;
    Some((bytes as usize).min(memory))
}

/// A time that a script may wait for.
fn seconds(value: &Value) -> Result<Duration, String> {
    let time = number(value).and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let time = time.ok_or_else(|| "a time is a number of seconds, as in 0.5".to_owned())?;
    if time > MAX_WAIT {
        return Err(format!("a script may wait for {} seconds at most at a time", MAX_WAIT.as_secs()));
    }
    Ok(time)
}

/// Bytes of a body that are read unless the script says otherwise: bodies count for the memory of the state.
const DEFAULT_BODY_LIMIT: usize = 64 << 10;

/// As long as people wait for a page.
const DEFAULT_FETCH_TIMEOUT: Duration = Duration::from_secs(10);

/// A client that waits longer has gone.
const MAX_WAIT: Duration = Duration::from_secs(60);
