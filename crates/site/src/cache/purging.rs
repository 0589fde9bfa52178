//! Purges: by those who run the server, and by requests with the method PURGE.

use serow::{KnownHeader, Request, Response};
use serow_cache::{PurgeMode, PurgeTarget, TagNames};
use serow_gateway::error_page;
use serow_message::{Headers, StatusCode};

use super::{CacheStore, ResponseCache, cache_request::uri_of, counters::CacheEvent, settings::PurgingClients};

impl CacheStore {
    /// Purges responses: how many, but for a tag, where nobody counts them. A soft purge makes them stale. Responses to
    /// requests that were forwarded before are concerned as well, when they arrive.
    #[must_use]
    pub fn purge(&self, target: PurgeTarget<'_>, is_soft: bool) -> Option<usize> {
        self.shared.counters.note(CacheEvent::Purge);
        let mode = if is_soft { PurgeMode::Outdate(self.now()) } else { PurgeMode::Remove };
        self.shared.memory.purge(target, mode)
    }
}

impl ResponseCache {
    /// Answers a request with the method PURGE; `None` where such requests are for the origin.
    pub(super) fn purged_by(&self, request: &Request) -> Option<Response> {
        let clients = self.settings.purge_from.as_ref()?;
        if request.method.as_str() != PURGE {
            return None;
        }
        let headers = &request.headers;
        Some(match clients.contain(request) {
            true => self.purge(request).unwrap_or_else(|status| error_page(status, headers)),
            false => error_page(StatusCode::FORBIDDEN, headers),
        })
    }

    /// Purges the tags that a request names, or else what its route has stored for its URI.
    fn purge(&self, request: &Request) -> Result<Response, StatusCode> {
        let is_soft = SOFT.iter().any(|name| is_one(&request.headers, name));
        let Some(tags) = TagNames::of(&request.headers) else {
            // Its own route only: the host of a request is what its client writes, and another site may have that.
            let uri = uri_of(request, &self.settings, &self.origin.trust).ok_or(StatusCode::BAD_REQUEST)?;
            let count = self.store.purge(PurgeTarget::UriOfRoute(&uri, self.scope), is_soft);
            return Ok(answer("responses", count.unwrap_or_default()));
        };
        // A list that a script has left empty does not stand for the URI.
        if tags.is_empty() || tags.is_over_limit() {
            return Err(StatusCode::BAD_REQUEST);
        }
        for tag in tags.iter() {
            let _ = self.store.purge(PurgeTarget::Tag(tag), is_soft);
        }
        Ok(answer("tags", tags.iter().count()))
    }
}

impl PurgingClients {
    /// Whether the client of a request is one of them.
    fn contain(&self, request: &Request) -> bool {
        let (headers, connection, trust) = (&request.headers, request.connection(), &self.trust);
        // A proxy that is not trusted, or does not name its client: anybody may be behind it.
        let is_forwarded = FORWARDED.iter().any(|name| headers.contains(*name));
        if is_forwarded && trust.named_client(headers, connection).is_none() {
            return false;
        }
        // A web page that a client looks at, whose host may be any (DNS rebinding).
        let is_of_a_page = OF_PAGES.iter().any(|name| headers.contains(*name));
        !is_of_a_page && self.addresses.contains_client(trust.client_address(headers, connection))
    }
}

fn answer(what: &str, count: usize) -> Response {
    let mut response = Response::text(format!("{{\"status\":\"ok\",\"{what}\":{count}}}\n"));
    // Constants of this file are valid values.
    let _ = response.headers.insert(KnownHeader::ContentType, "application/json");
    let _ = response.headers.insert(KnownHeader::CacheControl, "no-store");
    response
}

fn is_one(headers: &Headers, name: &str) -> bool {
    headers.get(name).is_some_and(|value| value.trim_ascii() == b"1")
}

const PURGE: &str = "PURGE";

/// Fields by which a request asks for a soft purge: that of Fastly, whose clients send it, and one of our own.
const SOFT: [&str; 2] = ["fastly-soft-purge", "serow-soft-purge"];

/// Fields that proxies add.
const FORWARDED: [&str; 6] =
    ["x-forwarded-for", "forwarded", "via", "x-real-ip", "x-forwarded-host", "x-forwarded-proto"];

/// Fields that browsers add to requests of web pages.
const OF_PAGES: [&str; 2] = ["origin", "sec-fetch-site"];
