//! Which responses are compressed, and what becomes of their header fields.

use serow_coding::{Coding, CompressedBody, CompressibleTypes, EncoderSettings, Levels, Permits, compressed};
use serow_message::{Body, BodyKind, Headers, KnownHeader, Response, StatusCode, content};

use super::{Asked, put, vary};

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
        if matches!(response.status, StatusCode::NOT_MODIFIED | StatusCode::PARTIAL_CONTENT) {
            return self.apply_to_partial(asked, response);
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

    /// A part is one of the bytes that are there (RFC 9110 §14.4), so it is not compressed; but it has the Vary of the
    /// whole response (§15.3.7), as a 304 has (§15.4.5). Where their heads do not say whether that is compressed, Vary
    /// costs caches a variant; without it, a client could get a coding that it does not accept.
    fn apply_to_partial(&self, asked: &Asked, response: &mut Response) {
        let headers = &mut response.headers;
        let is_confirmed = response.status == StatusCode::NOT_MODIFIED
            && headers.get(KnownHeader::Etag).is_some_and(|tag| asked.has_weak(tag));
        if is_confirmed {
            // A 304 names the tag that the client has: the weak one, if its response was compressed (RFC 9110 §15.4.5).
            weaken(headers);
        }
        let is_whole_compressible = || {
            !asked.is_tunnel
                && permits_coding(headers)
                && headers
                    .get(KnownHeader::ContentType)
                    .is_none_or(|value| self.types.contain(value) || is_multipart(value))
                && whole_length(headers).is_none_or(|length| length >= self.smallest.max(1))
        };
        if is_confirmed || is_whole_compressible() {
            vary(headers, "Accept-Encoding");
        }
    }

    /// Whether a client that accepts a coding gets this response compressed.
    fn is_compressible(&self, asked: &Asked, response: &Response) -> bool {
        let Response { status, headers, body, .. } = response;
        !asked.is_tunnel
            && content::is_possible(*status)
            && !headers.contains(KnownHeader::ContentRange)
            && headers.get(KnownHeader::ContentType).is_some_and(|value| self.types.contain(value))
            && length(asked, headers, body).is_none_or(|length| length >= self.smallest.max(1))
            && permits_coding(headers)
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

/// Whether the sender of a response lets others code its body.
fn permits_coding(headers: &Headers) -> bool {
    !headers.contains(KnownHeader::ContentEncoding)
        // RFC 9110 §7.7.
        && !headers.list(KnownHeader::CacheControl).any(|member| member.eq_ignore_ascii_case(b"no-transform"))
        && !DIGESTS.iter().any(|name| headers.contains(*name))
}

/// Whether this is the media type of several parts, which says nothing of the whole (RFC 9110 §14.6).
fn is_multipart(media_type: &[u8]) -> bool {
    media_type.get(..MULTIPART.len()).is_some_and(|start| start.eq_ignore_ascii_case(MULTIPART))
}

/// The length of the response that a part belongs to, where the part names it (RFC 9110 §14.4).
fn whole_length(headers: &Headers) -> Option<u64> {
    headers.get_str(KnownHeader::ContentRange)?.rsplit('/').next()?.trim().parse().ok()
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

const MULTIPART: &[u8] = b"multipart/byteranges";

/// Fields with a checksum of the content (RFC 9530, RFC 3230, RFC 1864): whoever sends one wants these bytes to arrive.
const DIGESTS: [&str; 4] = ["content-digest", "repr-digest", "digest", "content-md5"];

#[cfg(test)]
mod tests;
