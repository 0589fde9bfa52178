//! One case of a test: a request, what is around the script, and what is expected.

use std::net::{IpAddr, SocketAddr};

use bytes::Bytes;
use mlua::{Table, Value};
use serow_message::{
    Body, Connection, Headers, KnownHeader, Method, Peer, Request, RequestHead, Response, Scheme, Target, Version,
};

use super::{
    canned::{Canned, CannedResponses},
    expectation::{Expected, HandledRequest},
};
use crate::lua::{header_rules, known_keys, value_kind::kind};
use crate::{Begun, ChosenRoute, RouteChoice, Script};

/// One case of a test.
pub(super) struct Case {
    pub(super) name: String,
    /// The responses of other servers.
    pub(super) servers: CannedResponses,
    request: CaseRequest,
    handler: Canned,
    expected: Expected,
}

/// The request of a client.
#[derive(Clone)]
struct CaseRequest {
    method: Method,
    target: Target,
    headers: Headers,
    body: Bytes,
    client: Option<IpAddr>,
    scheme: Scheme,
}

impl Case {
    /// Reads the case of this number.
    pub(super) fn read(number: i64, table: &Table) -> Result<Self, String> {
        let name = text(table, "name")?;
        let name = name.map_or_else(|| format!("case {number}"), |name| String::from_utf8_lossy(&name).into_owned());
        Self::read_named(name.clone(), table).map_err(|problem| format!("{name:?}: {problem}"))
    }

    fn read_named(name: String, table: &Table) -> Result<Self, String> {
        known_keys::check(table, &KEYS)
            .map_err(|key| format!("{key:?} is not a part of a case: there are {}", KEYS.join(", ")))?;
        let handler = match value(table, "handler")? {
            Value::Nil => Canned::default(),
            handler => Canned::read(&handler).map_err(|problem| format!("`handler`: {problem}"))?,
        };
        Ok(Self {
            name,
            servers: CannedResponses::read(table)?,
            request: CaseRequest::read(&value(table, "request")?).map_err(|problem| format!("`request`: {problem}"))?,
            handler,
            expected: Expected::read(table)?,
        })
    }

    /// Sends the request through the script to the handler, and the response back; returns what is not as expected.
    pub(super) async fn run(&self, script: &Script) -> Vec<String> {
        let begun = match script.begin(self.request.request(), RouteChoice::Open) {
            Ok(begun) => begun,
            Err(waiting) => waiting.await,
        };
        let (response, handled) = match begun {
            Begun::Respond(response) => (response, None),
            Begun::Handle(request, watched) => {
                let handled = HandledRequest::of(request).await;
                let response = self.handler.response();
                match watched {
                    Some(watched) => (watched.finish(response).await, Some(handled)),
                    None => (response, Some(handled)),
                }
            }
        };
        self.problems(response, handled).await
    }

    async fn problems(&self, response: Response, handled: Option<HandledRequest>) -> Vec<String> {
        let mut problems = self.expected.problems_of_request(handled.as_ref());
        problems.extend(self.expected.problems_of_response(response).await);
        problems
    }
}

impl CaseRequest {
    /// Reads a target, or a table.
    fn read(written: &Value) -> Result<Self, String> {
        let table = match written {
            Value::String(target) => return Self::get(&target.as_bytes()),
            Value::Table(table) => table,
            Value::Nil => return Err("it is missing: write a target, as in request = \"/old\"".to_owned()),
            other => return Err(format!("it is a target, or a table with one, not {}", kind(other))),
        };
        let known = ["method", "target", "headers", "body", "client", "scheme"];
        known_keys::check(table, &known)
            .map_err(|key| format!("{key:?} is not a part of it: there are {}", known.join(", ")))?;
        let mut request = Self::get(&text(table, "target")?.ok_or("it has no target: write target = \"/old\"")?)?;
        if let Some(method) = text(table, "method")? {
            request.method = Method::from_bytes(&method).map_err(|_| "the method is not one")?;
        }
        match value(table, "headers")? {
            Value::Nil => {}
            Value::Table(fields) => header_rules::fill(&mut request.headers, &fields)?,
            other => return Err(format!("the headers are a table, not {}", kind(&other))),
        }
        if let Some(client) = text(table, "client")? {
            let client = String::from_utf8_lossy(&client).parse();
            request.client = Some(client.map_err(|_| "the client is an address, as in \"192.0.2.7\"")?);
        }
        request.scheme = match text(table, "scheme")?.as_deref() {
            None | Some(b"http") => Scheme::Http,
            Some(b"https") => Scheme::Https,
            Some(_) => return Err("the scheme is http or https".to_owned()),
        };
        request.body = text(table, "body")?.unwrap_or_default().into();
        Ok(request)
    }

    /// A GET of this target, without header fields.
    fn get(target: &[u8]) -> Result<Self, String> {
        let wrong = || format!("{:?} is not a target: write a path, encoded", String::from_utf8_lossy(target));
        let target = Target::parse(target.to_vec().into(), false).map_err(|_| wrong())?;
        let (headers, body) = Default::default();
        Ok(Self { method: Method::GET, target, headers, body, client: None, scheme: Scheme::Http })
    }

    fn request(&self) -> Request {
        let Self { method, target, headers, body, client, scheme } = self.clone();
        let mut headers = headers;
        if !headers.contains(KnownHeader::Host) {
            let added = headers.append(KnownHeader::Host, "localhost");
            debug_assert!(added.is_ok(), "{added:?}");
        }
        let peer = client.map_or(Peer::Unix, |client| Peer::Tcp(SocketAddr::new(client, CLIENT_PORT)));
        let head = RequestHead { method, target, version: Version::HTTP_11, headers };
        let body = if body.is_empty() { Body::empty() } else { body.into() };
        Request::new(head, body, Connection::new(peer, None, scheme))
    }
}

impl HandledRequest {
    /// Reads the request that the handler got.
    async fn of(mut request: Request) -> Self {
        let route = request.extensions.remove::<ChosenRoute>().map(|ChosenRoute(name)| name.to_string());
        let Request { method, target, headers, body, .. } = request;
        let body = body.collect(usize::MAX).await.unwrap_or_default();
        Self { method, target, headers, route, body }
    }
}

/// A value of a table.
pub(super) fn value(table: &Table, key: &str) -> Result<Value, String> {
    table.raw_get(key).map_err(|error| error.to_string())
}

/// A text of a table, if it is there.
pub(super) fn text(table: &Table, key: &str) -> Result<Option<Vec<u8>>, String> {
    match value(table, key)? {
        Value::Nil => Ok(None),
        Value::String(text) => Ok(Some(text.as_bytes().to_vec())),
        other => Err(format!("`{key}` is text, not {}", kind(&other))),
    }
}

/// The keys that a case can have.
const KEYS: [&str; 8] = ["name", "request", "handler", "fetch", "redis", "handled", "response", "log"];

/// Any port: scripts do not see it.
const CLIENT_PORT: u16 = 49152;
