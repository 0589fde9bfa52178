//! The head of a response, as a client finds it in the fields of a stream (RFC 9113 §8.3.2).

use serow_message::{ResponseHead, StatusCode, Version, content};

use crate::{
    Content, ResponseContext,
    fields::{Fields, Problem, Pseudo},
};

/// A response, or an informational one.
#[derive(Debug)]
pub struct Accepted {
    /// Its head.
    pub head: ResponseHead,
    /// The length of its body, where it is known.
    pub length: Option<u64>,
    /// The bytes that its body may still have.
    pub content: Content,
}

/// Judges the head of a response to such a request; the error is what is malformed.
pub fn accept(
    fields: &mut Fields,
    version: Version,
    exchange: ResponseContext,
    end_stream: bool,
    most: u64,
) -> Result<Accepted, &'static str> {
    match fields.problem {
        None => {}
        Some(Problem::Malformed(reason)) => return Err(reason),
        Some(Problem::TooLarge | Problem::TargetTooLong) => return Err("the head of a response is too large"),
    }
    let status = fields.pseudo(Pseudo::Status).ok_or("no :status")?;
    let status = StatusCode::from_bytes(status).map_err(|_| "a :status that is none")?;
    let of_requests = [Pseudo::Method, Pseudo::Scheme, Pseudo::Authority, Pseudo::Path, Pseudo::Protocol];
    if of_requests.into_iter().any(|pseudo| fields.pseudo(pseudo).is_some()) {
        return Err("a request's pseudo-header field in a response");
    }
    // RFC 9113 §8.6, §8.1: and an informational response is not the last.
    if status == StatusCode::SWITCHING_PROTOCOLS || status.is_informational() && end_stream {
        return Err("a status that cannot be");
    }
    let head = ResponseHead { status, version, headers: fields.take_headers() };
    let tunnel = exchange.connect && status.is_success();
    let length = if tunnel { None } else { content::length(&head.headers).map_err(|_| "a wrong content-length")? };
    // RFC 9110 §6.4.1, §8.6: there the field speaks of another response.
    let without = exchange.head_only || !content::is_possible(status);
    if end_stream && !without && length.is_some_and(|length| length > 0) {
        return Err("no body, and content-length says that there is one");
    }
    let content = match length {
        _ if without => Content::announced(0),
        Some(length) => Content::announced(length),
        None if tunnel => Content::UNBOUNDED,
        None => Content::limited(most),
    };
    Ok(Accepted { head, length, content })
}
