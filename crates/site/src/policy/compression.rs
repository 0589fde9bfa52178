//! Which responses are compressed, and what becomes of their header fields.

use serow_coding::{Coding, CompressibleTypes, EncoderSettings, Levels, Permits, compressed};
use serow_message::{Body, BodyKind, Headers, KnownHeader, Response, StatusCode, content};

use super::{Asked, compressed_body::CompressedBody, put, vary};

/// How the responses of applications and other servers are compressed.
///
/// A response that repeats secrets beside text of an attacker gives them away by its length, with TLS as well (BREACH):
/// leave it uncompressed, or send `Cache-Control: no-transform`.
#[derive(Clone, Debug)]
pub struct Compression {
    /// The codings; the first where a client likes several alike. Default: Zstandard, which costs a third of brotli's
    /// time for about its size; then brotli; then gzip.
    pub codings: Vec<Coding>,
    /// Their levels.
    pub levels: Levels,
    /// The media types.
    pub types: CompressibleTypes,
    /// The smallest body that is compressed, in bytes, where its length is known; default 1,024: with its head, less
    /// fits one packet anyhow.
    pub smallest: u64,
}

impl Default for Compression {
    fn default() -> Self {
        let codings = vec![Coding::Zstd, Coding::Brotli, Coding::Gzip];
        Self { codings, levels: Levels::default(), types: CompressibleTypes::default(), smallest: 1024 }
    }
}

impl Compression {
    /// Compresses a response, if it is to be.
    pub(super) fn apply(&self, asked: &Asked, response: &mut Response) {
        if response.status == StatusCode::NOT_MODIFIED {
            return confirm(asked, &mut response.headers);
        }
        if !self.is_compressible(asked, response) {
            return;
        }
        vary(&mut response.headers, "Accept-Encoding");
        let Some(coding) = asked.coding else { return };
        let is_live = is_event_stream(&response.headers);
        let body = std::mem::take(&mut response.body);
        match self.body(coding, asked, body, is_live) {
            Ok(body) => {
                response.body = body;
                describe(&mut response.headers, coding);
            }
            Err(body) => response.body = body,
        }
    }

    /// Whether a client that accepts a coding gets this response compressed.
    fn is_compressible(&self, asked: &Asked, response: &Response) -> bool {
        let Response { status, headers, body, .. } = response;
        !asked.is_tunnel
            && content::is_possible(*status)
            // RFC 9110 §14.4: the range is one of the bytes that are there.
            && *status != StatusCode::PARTIAL_CONTENT
            && !headers.contains_any(&[KnownHeader::ContentEncoding, KnownHeader::ContentRange])
            && headers.get(KnownHeader::ContentType).is_some_and(|value| self.types.contain(value))
            && length(asked, headers, body).is_none_or(|length| length >= self.smallest.max(1))
            // RFC 9110 §7.7.
            && !headers.list(KnownHeader::CacheControl).any(|member| member.eq_ignore_ascii_case(b"no-transform"))
            && !DIGESTS.iter().any(|name| headers.contains(*name))
    }

    /// The body in a coding; the same where it is better as it is.
    fn body(&self, coding: Coding, asked: &Asked, body: Body, is_live: bool) -> Result<Body, Body> {
        let settings = EncoderSettings::new(coding, &self.levels, WINDOW_BITS);
        if asked.is_head {
            return Ok(Body::stream(CompressedBody::ended()));
        }
        if let BodyKind::Bytes(bytes) = body.kind()
            && bytes.len() <= MAX_AT_ONCE
        {
            return match compressed(settings, bytes) {
                Ok(smaller) if smaller.len() < bytes.len() => Ok(smaller.into()),
                _ => Err(body),
            };
        }
        match PERMITS.with(Permits::take) {
            Some(permit) => Ok(Body::stream(CompressedBody::new(body, settings, is_live, permit))),
            None => Err(body),
        }
    }
}

/// The length of the body, as far as it is known; of a HEAD's, that of GET.
fn length(asked: &Asked, headers: &Headers, body: &Body) -> Option<u64> {
    let announced = || headers.get_str(KnownHeader::ContentLength).and_then(|text| text.parse().ok());
    match body.length() {
        Some(0) | None if asked.is_head => announced(),
        length => length,
    }
}

fn is_event_stream(headers: &Headers) -> bool {
    let name = headers.get(KnownHeader::ContentType).and_then(|value| value.split(|&byte| byte == b';').next());
    name.is_some_and(|name| name.trim_ascii().eq_ignore_ascii_case(b"text/event-stream"))
}

/// Describes a body that is in this coding now.
fn describe(headers: &mut Headers, coding: Coding) {
    put(headers, KnownHeader::ContentEncoding, coding.name());
    headers.remove(KnownHeader::ContentLength);
    // A range would be one of the uncompressed body.
    headers.remove(KnownHeader::AcceptRanges);
    weaken(headers);
}

/// Makes the entity tag weak: the bytes are others, and the next release may compress to yet others (RFC 9110 §8.8.1).
fn weaken(headers: &mut Headers) {
    let Some(tag) = headers.get(KnownHeader::Etag) else { return };
    if tag.starts_with(b"W/") {
        return;
    }
    // One without quotation marks is invalid; nginx drops it as well.
    let weak = tag.starts_with(b"\"").then(|| [b"W/", tag].concat());
    headers.remove(KnownHeader::Etag);
    if let Some(weak) = weak {
        put(headers, KnownHeader::Etag, weak);
    }
}

/// A 304 names the tag that the client has: the weak one, if its response was compressed (RFC 9110 §15.4.5).
fn confirm(asked: &Asked, headers: &mut Headers) {
    if headers.get(KnownHeader::Etag).is_some_and(|tag| asked.has_weak(tag)) {
        weaken(headers);
        vary(headers, "Accept-Encoding");
    }
}

thread_local! {
    /// Those of a worker.
    static PERMITS: Permits = Permits::new(MAX_STREAMS);
}

/// How many bodies a worker compresses while they are sent; further ones are sent as they are. Each keeps its encoder
/// while its client reads, however slowly: 0.5 MB (gzip) to 3 MB (brotli), so that clients that do not read can take 200 MB
/// of a worker at most.
const MAX_STREAMS: usize = 64;

/// A window of 256 KiB for brotli and Zstandard: pages are seldom larger, and each stream keeps about four times as much.
const WINDOW_BITS: u32 = 18;

/// A body in memory of so many bytes is compressed at once, which takes about a millisecond.
const MAX_AT_ONCE: usize = 64 * 1024;

/// Fields with a checksum of the content (RFC 9530, RFC 3230, RFC 1864): whoever sends one wants these bytes to arrive.
const DIGESTS: [&str; 4] = ["content-digest", "repr-digest", "digest", "content-md5"];

#[cfg(test)]
mod tests;
