//! What handlers and other servers respond in a case.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use bytes::Bytes;
use mlua::{LuaString, Value};
use serow_message::{Body, BodyKind, Headers, Response, StatusCode};

use crate::lua::{answer, value_kind::kind};
use crate::{Fetch, FetchFailure, FetchRequest, Fetched};

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
            Value::Integer(status) => {
                let status = u16::try_from(*status).ok().and_then(|status| StatusCode::from_u16(status).ok());
                let status = status.ok_or("a status is a number from 200 to 599")?;
                Ok(Self { status, ..Self::default() })
            }
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
pub(super) type CannedByUrl = BTreeMap<String, Option<Canned>>;

/// Reads a table of responses by URL; `false` is a server that is down.
pub(super) fn by_url(value: &Value) -> Result<CannedByUrl, String> {
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
    by_url: Mutex<CannedByUrl>,
}

impl CannedServers {
    /// From now on, these respond.
    pub(super) fn replace(&self, by_url: CannedByUrl) {
        *self.by_url.lock().unwrap_or_else(PoisonError::into_inner) = by_url;
    }
}

impl Fetch for CannedServers {
    fn fetch(&self, request: FetchRequest) -> Fetched {
        let url = &request.url;
        let found = match self.by_url.lock().unwrap_or_else(PoisonError::into_inner).get(url) {
            Some(Some(canned)) => Ok(canned.response()),
            Some(None) => Err(FetchFailure("the server does not respond".to_owned())),
            None => Err(FetchFailure(format!(
                "the case has no response of {url:?}: write fetch = {{ [{url:?}] = {{ body = \"\" }} }}"
            ))),
        };
        Box::pin(async move { found })
    }
}
