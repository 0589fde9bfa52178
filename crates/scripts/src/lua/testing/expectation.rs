//! Expectations of a case, and the differences from them.

use std::fmt;

use bytes::Bytes;
use mlua::{LuaString, Table, Value};
use serow_message::{Headers, Method, Response, Target};

use super::case::{text, value};
use crate::lua::{header_rules, known_keys, value_kind::kind};
use serow_message::LogFields;

/// The expectations of a case. Anything that it does not name may have any value.
pub(super) struct Expected {
    handled: Handled,
    response: Option<Message>,
    status: Option<u16>,
    log: Vec<(String, String)>,
}

/// Whether the handler gets the request.
enum Handled {
    /// The case does not say.
    Any,
    /// It must not.
    Never,
    /// It gets such a request.
    As(Box<ExpectedRequest>),
}

#[derive(Default)]
struct ExpectedRequest {
    method: Option<Vec<u8>>,
    target: Option<Vec<u8>>,
    route: Option<Vec<u8>>,
    message: Message,
}

/// Header fields and body of a request or a response.
#[derive(Default)]
struct Message {
    /// Their names, and their values; none for a field that must be missing.
    headers: Vec<(Vec<u8>, Option<Vec<u8>>)>,
    body: Option<Vec<u8>>,
}

/// The request that the handler got.
pub(super) struct HandledRequest {
    pub(super) method: Method,
    pub(super) target: Target,
    pub(super) headers: Headers,
    pub(super) route: Option<String>,
    pub(super) body: Bytes,
}

impl Expected {
    /// Reads what a case expects.
    pub(super) fn read(case: &Table) -> Result<Self, String> {
        let handled = match value(case, "handled")? {
            Value::Nil => Handled::Any,
            Value::Boolean(false) => Handled::Never,
            Value::Boolean(true) => Handled::As(Box::default()),
            Value::Table(table) => {
                Handled::As(Box::new(ExpectedRequest::read(&table).map_err(|problem| format!("`handled`: {problem}"))?))
            }
            other => return Err(format!("`handled` is a table, true or false, not {}", kind(&other))),
        };
        let (status, response) = match value(case, "response")? {
            Value::Nil => (None, None),
            Value::Integer(status) => (u16::try_from(status).ok(), Some(Message::default())),
            Value::Table(table) => {
                known_keys::check(&table, &["status", "headers", "body"]).map_err(|key| {
                    format!("`response`: {key:?} is not a part of it: there are status, headers and body")
                })?;
                let status = match value(&table, "status")? {
                    Value::Nil => None,
                    Value::Integer(status) => u16::try_from(status).ok(),
                    other => return Err(format!("`response`: the status is a number, not {}", kind(&other))),
                };
                (status, Some(Message::read(&table).map_err(|problem| format!("`response`: {problem}"))?))
            }
            other => return Err(format!("`response` is a status or a table, not {}", kind(&other))),
        };
        let log = match value(case, "log")? {
            Value::Nil => Vec::new(),
            Value::Table(table) => texts(&table).map_err(|problem| format!("`log`: {problem}"))?,
            other => return Err(format!("`log` is a table of fields, not {}", kind(&other))),
        };
        if matches!(handled, Handled::Any) && response.is_none() && log.is_empty() {
            return Err("the case expects nothing: write `response`, `handled` or `log`".to_owned());
        }
        Ok(Self { handled, response, status, log })
    }

    /// The differences of the request that the handler got, if it got one.
    pub(super) fn problems_of_request(&self, handled: Option<&HandledRequest>) -> Vec<String> {
        match (&self.handled, handled) {
            (Handled::Any, _) | (Handled::Never, None) => Vec::new(),
            (Handled::Never, Some(_)) => vec!["the handler got the request".to_owned()],
            (Handled::As(_), None) => vec!["the script responded, and the handler got no request".to_owned()],
            (Handled::As(expected), Some(found)) => expected.problems(found),
        }
    }

    /// The differences of the response.
    pub(super) async fn problems_of_response(&self, response: Response) -> Vec<String> {
        let mut problems = Vec::new();
        let status = response.status.as_u16();
        if let Some(expected) = self.status.filter(|expected| *expected != status) {
            problems.push(format!("the status is {status}, expected {expected}"));
        }
        let logged = response.extensions.get::<LogFields>();
        for (name, expected) in &self.log {
            let found = logged.and_then(|fields| fields.get(name));
            compare(
                &mut problems,
                format_args!("the field {name} of the log"),
                found.map(str::as_bytes),
                Some(expected.as_bytes()),
            );
        }
        if let Some(message) = &self.response {
            let body = response.body.collect(usize::MAX).await.unwrap_or_default();
            message.compare(&mut problems, "", &response.headers, &body);
        }
        problems
    }
}

impl ExpectedRequest {
    fn read(table: &Table) -> Result<Self, String> {
        let known = ["method", "target", "route", "headers", "body"];
        known_keys::check(table, &known)
            .map_err(|key| format!("{key:?} is not a part of it: there are {}", known.join(", ")))?;
        let [method, target, route] = ["method", "target", "route"].map(|key| text(table, key));
        Ok(Self { method: method?, target: target?, route: route?, message: Message::read(table)? })
    }

    fn problems(&self, found: &HandledRequest) -> Vec<String> {
        let mut problems = Vec::new();
        let target = found.target.to_bytes();
        for (what, expected, found) in [
            ("method", &self.method, Some(found.method.as_str().as_bytes())),
            ("target", &self.target, Some(&*target)),
            ("route", &self.route, found.route.as_deref().map(str::as_bytes)),
        ] {
            if let Some(expected) = expected {
                compare(&mut problems, format_args!("the {what} at the handler"), found, Some(expected));
            }
        }
        self.message.compare(&mut problems, " at the handler", &found.headers, &found.body);
        problems
    }
}

impl Message {
    fn read(table: &Table) -> Result<Self, String> {
        let mut headers = Vec::new();
        match value(table, "headers")? {
            Value::Nil => {}
            Value::Table(fields) => {
                for pair in fields.pairs::<LuaString, Value>() {
                    let (name, value) = pair.map_err(|_| "the name of a header field is text".to_owned())?;
                    let value = match value {
                        Value::Boolean(false) => None,
                        Value::String(text) => Some(text.as_bytes().to_vec()),
                        Value::Integer(number) => Some(number.to_string().into_bytes()),
                        other => {
                            return Err(format!(
                                "the header field {} is text, or false where it must be missing, not {}",
                                name.to_string_lossy(),
                                kind(&other)
                            ));
                        }
                    };
                    headers.push((header_rules::name(&name).into_owned(), value));
                }
            }
            other => return Err(format!("the headers are a table, not {}", kind(&other))),
        }
        headers.sort();
        Ok(Self { headers, body: text(table, "body")? })
    }

    fn compare(&self, problems: &mut Vec<String>, place: &str, headers: &Headers, body: &[u8]) {
        for (name, expected) in &self.headers {
            let values: Vec<&[u8]> = headers.get_all(&**name).collect();
            let found = (!values.is_empty()).then(|| values.join(&b", "[..]));
            let what = format!("the header field {}{place}", name.escape_ascii());
            compare(problems, what, found.as_deref(), expected.as_deref());
        }
        if let Some(expected) = &self.body {
            compare(problems, format_args!("the body{place}"), Some(body), Some(expected));
        }
    }
}

/// Notes a difference.
fn compare(problems: &mut Vec<String>, what: impl fmt::Display, found: Option<&[u8]>, expected: Option<&[u8]>) {
    if found != expected {
        problems.push(format!("{what} is {}, expected {}", shown(found), shown(expected)));
    }
}

fn shown(value: Option<&[u8]>) -> String {
    match value {
        None => "missing".to_owned(),
        Some(value) if value.len() > MAX_SHOWN => {
            format!("{:?}… ({} bytes)", String::from_utf8_lossy(&value[..MAX_SHOWN]), value.len())
        }
        Some(value) => format!("{:?}", String::from_utf8_lossy(value)),
    }
}

/// The fields of a table of texts, in the order of their names.
fn texts(table: &Table) -> Result<Vec<(String, String)>, String> {
    let mut fields = Vec::new();
    for pair in table.pairs::<LuaString, LuaString>() {
        let (name, value) = pair.map_err(|_| "names and values are texts".to_owned())?;
        fields.push((name.to_string_lossy().to_string(), value.to_string_lossy().to_string()));
    }
    fields.sort();
    Ok(fields)
}

/// Bytes of a value that fit into a line of a terminal.
const MAX_SHOWN: usize = 200;
