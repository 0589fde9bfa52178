//! What a function of a script waits for, outside of Lua.

use std::time::Duration;

use bytes::Bytes;
use mlua::{Lua, LuaString, Table, Value};
use serow_message::{Body, Headers, Method, Response};
use tokio::time::{sleep, timeout};

use crate::{FetchRequest, RedisValue, Servers};

use crate::lua::{
    header_rules,
    held::{Held, HeldTable},
    known_keys,
    value_kind::{self, kind, number},
};

/// What a function of a script waits for.
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
    /// What the function asks for by these values.
    ///
    /// # Errors
    ///
    /// What is wrong with them.
    pub(crate) fn new(
        name: &Value,
        (argument, more): (&Value, &Value),
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
            ("fetch", Value::Table(argument)) => {
                fetch_request(argument, memory).map(|request| Self::Fetch(Box::new(request)))
            }
            ("fetch", other) => Err(format!("serow.fetch needs a table, as in {{ url = ... }}, not {}", kind(other))),
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
                let asking = async {
                    let Response { status, headers, body, .. } =
                        servers.fetch.fetch(*request).await.map_err(|failure| failure.to_string())?;
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

/// What a script gets of a body: nothing if it is too long.
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

/// The response of another server as a table.
fn fetched(lua: &Lua, status: u16, headers: &Headers, body: &[u8]) -> mlua::Result<Value> {
    let fields = lua.create_table()?;
    for (name, value) in headers {
        let name = lua.create_string(name.to_ascii_lowercase())?;
        // As nginx's variables: of several fields, all values.
        let joined = match fields.raw_get::<Option<LuaString>>(&name)? {
            Some(before) => [&before.as_bytes()[..], b", ", value].concat(),
            None => value.to_vec(),
        };
        fields.raw_set(name, lua.create_string(joined)?)?;
    }
    let response = lua.create_table()?;
    response.raw_set("status", status)?;
    response.raw_set("headers", fields)?;
    response.raw_set("body", lua.create_string(body)?)?;
    Ok(Value::Table(response))
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
    let url = string("url")?.ok_or("serow.fetch needs a url")?;
    let url = String::from_utf8(url).map_err(|_| "serow.fetch: the url has other characters than a URL may have")?;
    let body = string("body")?.unwrap_or_default();
    let method = match string("method")? {
        Some(method) => Method::from_bytes(&method)
            .map_err(|_| format!("serow.fetch: {} is not a method", method.escape_ascii()))?,
        None if body.is_empty() => Method::GET,
        None => Method::POST,
    };
    if method == Method::CONNECT {
        return Err("serow.fetch: CONNECT opens a tunnel, which scripts cannot use".to_owned());
    }
    let mut headers = Headers::new();
    match get("headers")? {
        Value::Nil => {}
        Value::Table(fields) => header_rules::fill(&mut headers, &fields)?,
        other => return Err(format!("serow.fetch: headers is a table, not {}", kind(&other))),
    }
    let timeout = match get("timeout")? {
        Value::Nil => DEFAULT_FETCH_TIMEOUT,
        value => seconds(&value)?,
    };
    let max_body = match get("max_body")? {
        Value::Nil => DEFAULT_BODY_LIMIT,
        value => count(&value, memory).ok_or("serow.fetch: max_body is a number of bytes")?,
    };
    Ok(FetchRequest { url, method, headers, body: body.into(), timeout, max_body, depth: 0 })
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
