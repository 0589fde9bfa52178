//! The policy of a site or a route around its handler.
//!
//! A handler without a policy is called as if there were none; with one, the request is looked at before it is handed
//! over, and the response before it is sent. A policy never reads a body before it is sent.

mod asked;
mod body_limit;
mod compression;
mod context;
mod cors;
mod error_pages;
mod rate;
mod rated_body;
mod security_headers;

use std::{sync::Arc, time::Duration};

use serow_guards::Guard;
use serow_message::{FieldName, Headers, KnownHeader, Request, Response};

pub(crate) use self::{
    asked::Asked,
    body_limit::{Bounded, CountedBody},
    context::PolicyContext,
    cors::CorsRequest,
};
pub use self::{
    compression::Compression,
    cors::Cors,
    error_pages::{ErrorPage, ErrorPages, Page},
    rate::Rate,
};

/// The policy of a site or a route around its handler; by default, it does nothing.
#[derive(Clone, Debug, Default)]
pub struct RoutePolicy {
    /// Compression of responses. A folder has its own, which knows its files.
    pub compression: Option<Compression>,
    /// Own pages for errors.
    pub error_pages: Option<Arc<ErrorPages>>,
    /// Which other sites may use the responses in a browser.
    pub cors: Option<Arc<Cors>>,
    /// Whether header fields are added that make browsers more careful.
    pub security_headers: bool,
    /// Bytes that the body of a request may have, if fewer than the server itself allows; others get 413.
    pub max_body: Option<u64>,
    /// How fast responses are sent.
    pub rate: Option<Rate>,
    /// How long a client may take for each 4 KiB of a request's body, in place of what the server allows.
    pub body_timeout: Option<Duration>,
    /// The checks that requests must pass before they reach the handler.
    pub guard: Option<Arc<Guard>>,
}

impl RoutePolicy {
    /// Whether nothing is done.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let Self { compression, error_pages, cors, security_headers, max_body, rate, body_timeout, guard } = self;
        let is_unchanged = compression.is_none() && error_pages.is_none() && cors.is_none() && !security_headers;
        is_unchanged && max_body.is_none() && rate.is_none() && body_timeout.is_none() && guard.is_none()
    }

    /// Notes what of a request decides about its response.
    pub(crate) fn ask(&self, request: &Request) -> Asked {
        Asked::new(self, request)
    }

    /// The response to a request that does not reach the handler.
    pub(crate) fn answer(&self, asked: &Asked) -> Option<Response> {
        self.cors.as_ref()?.preflight(asked.cors.as_ref()?)
    }

    /// Whether this is a preflight request that the policy answers.
    pub(crate) fn answers_preflight(&self, request: &Request) -> bool {
        let preflight = |cors: &Arc<Cors>| cors.preflight(&CorsRequest::of(request)?);
        self.cors.as_ref().and_then(preflight).is_some()
    }

    /// Limits the body of a request, and the time that the client has to send it, if they are to be limited.
    pub(crate) fn bound(&self, request: &mut Request) -> Bounded {
        if let Some(time) = self.body_timeout {
            request.body.set_timeout(time);
        }
        self.max_body.map_or(Bounded::Fits, |limit| body_limit::bound(request, limit))
    }

    /// Changes a response as the policy says.
    pub(crate) fn apply(&self, asked: &Asked, source: Source, response: &mut Response) {
        if let Some(pages) = &self.error_pages {
            pages.apply(asked, source, response);
        }
        if self.security_headers {
            security_headers::apply(&mut response.headers);
        }
        if let Some(cors) = &self.cors {
            cors.apply(asked.cors.as_ref(), &mut response.headers);
        }
        if let (Some(compression), true) = (&self.compression, source.is_compressed_here()) {
            compression.apply(asked, response);
        }
        if let Some(rate) = self.rate {
            rate.apply(asked, response);
        }
    }
}

/// Where a response comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// A folder.
    Folder,
    /// An application or another server.
    Behind,
    /// The router: a redirect, a fixed response, an error.
    Router,
}

impl Source {
    fn is_compressed_here(self) -> bool {
        self != Self::Folder
    }
}

/// Appends a field whose value this crate made, or which was received.
fn put(headers: &mut Headers, name: impl FieldName, value: impl AsRef<[u8]>) {
    let appended = headers.append(name, value);
    debug_assert!(appended.is_ok(), "{appended:?}");
}

/// RFC 9110 §12.5.5: caches must know which field of a request decides about its response.
fn vary(headers: &mut Headers, name: &str) {
    let is_said = |member: &[u8]| member == b"*" || member.eq_ignore_ascii_case(name.as_bytes());
    if !headers.list(KnownHeader::Vary).any(is_said) {
        put(headers, KnownHeader::Vary, name);
    }
}
