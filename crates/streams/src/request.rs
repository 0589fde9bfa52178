//! The head of a request, as a server finds it in the fields of a stream (RFC 9113 §8.3.1, §8.5; RFC 8441 §4).

use alloc::boxed::Box;

use bytes::Bytes;
use serow_message::{
    Headers, KnownHeader, Method, RequestHead, StatusCode, Target, TargetForm, Version, authority, content,
};

use crate::{
    Content, MessageLimits, ReceivedRequest, ResponseContext, StreamId,
    fields::{Fields, Problem, Pseudo},
};

/// A request that a handler may have.
#[derive(Debug)]
pub struct Accepted {
    /// For the handler.
    pub request: ReceivedRequest,
    /// The bytes that its body may still have.
    pub content: Content,
    /// The facts that its response depends on.
    pub exchange: ResponseContext,
}

/// A request that no handler gets.
#[derive(Debug)]
pub struct Rejected {
    /// The answer to the client.
    pub answer: Answer,
    /// For the log.
    pub reason: &'static str,
    /// Its head, as far as it could be understood.
    pub head: Option<RequestHead>,
}

/// The answer to a rejected request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// RFC 9113 §8.1.1: a malformed request is a stream error.
    Reset,
    /// It can be understood, and is answered as HTTP/1 does it.
    Status(StatusCode),
}

/// Judges the head of a request. A refusal is rare, and must not make the way of all others wide.
#[inline]
pub fn accept(
    fields: &mut Fields,
    version: Version,
    stream: StreamId,
    end_stream: bool,
    limits: &MessageLimits,
) -> Result<Accepted, Box<Rejected>> {
    if let Some(problem) = fields.problem {
        return Err(reject(problem));
    }
    let (method, target, protocol) = line(fields, limits).map_err(Rejected::without_head)?;
    let head = RequestHead { method, target, version, headers: fields.take_headers() };
    match judge(&head, protocol.is_some(), end_stream, limits) {
        Ok((length, exchange)) => {
            let content = match length {
                Some(length) => Content::announced(length),
                None if exchange.connect => Content::UNBOUNDED,
                None => Content::limited(limits.body),
            };
            let request = ReceivedRequest { stream, head, has_body: !end_stream, length, protocol };
            Ok(Accepted { request, content, exchange })
        }
        Err((answer, reason)) => Err(Box::new(Rejected { answer, reason, head: Some(head) })),
    }
}

/// The parts of HTTP/1's request line, and the protocol of an extended CONNECT.
#[inline]
fn line(fields: &Fields, limits: &MessageLimits) -> Result<(Method, Target, Option<Bytes>), Refusal> {
    let method = fields.pseudo(Pseudo::Method).ok_or(malformed("no :method"))?;
    if method.len() > MAX_METHOD_LENGTH {
        return Err((Answer::Status(StatusCode::NOT_IMPLEMENTED), "a method that nobody knows"));
    }
    let method = Method::from_bytes(method).map_err(|_| malformed("a :method that is not a token"))?;
    if fields.pseudo(Pseudo::Status).is_some() {
        return Err(malformed("a response's pseudo-header field in a request"));
    }
    let protocol = fields.pseudo_bytes(Pseudo::Protocol);
    // RFC 8441 §4.
    if protocol.is_some() && (method != Method::CONNECT || !limits.extended_connect) {
        return Err(malformed(":protocol where there must be none"));
    }
    let (scheme, path) = (fields.pseudo(Pseudo::Scheme), fields.pseudo_bytes(Pseudo::Path));
    if method == Method::CONNECT && protocol.is_none() {
        // RFC 9113 §8.5.
        if scheme.is_some() || path.is_some() {
            return Err(malformed("CONNECT with :scheme or :path"));
        }
        let authority = fields.pseudo_bytes(Pseudo::Authority).ok_or(malformed("CONNECT without :authority"))?;
        return Ok((method, Target::parse(authority, true).map_err(|_| bad(NO_TARGET))?, None));
    }
    let scheme = scheme.ok_or(malformed("no :scheme"))?;
    if !matches!(scheme, b"https" | b"http") && !is_scheme(scheme) {
        return Err(malformed("a :scheme that is none"));
    }
    let path = path.ok_or(malformed("no :path"))?;
    match (&path[..], &method) {
        ([b'/', ..], _) | (b"*", &Method::OPTIONS) => {}
        ([], _) => return Err(malformed("an empty :path")),
        _ => return Err(malformed("a :path that does not begin with a slash")),
    }
    Ok((method, Target::parse(path, false).map_err(|_| bad(NO_TARGET))?, protocol))
}

/// RFC 3986 §3.1. Which one it is, the connection knows better.
fn is_scheme(scheme: &[u8]) -> bool {
    let is_scheme_byte = |&byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
    scheme.first().is_some_and(u8::is_ascii_alphabetic) && scheme.iter().all(is_scheme_byte)
}

/// Judges the fields: returns the length of the body, if it is known, and the facts that the response depends on.
#[inline]
fn judge(
    head: &RequestHead,
    extended: bool,
    end_stream: bool,
    limits: &MessageLimits,
) -> Result<(Option<u64>, ResponseContext), Refusal> {
    let headers = &head.headers;
    check_host(head)?;
    let connect = head.method == Method::CONNECT;
    let mut length = match headers.contains(KnownHeader::ContentLength) {
        true => content::length(headers).map_err(|_| malformed("content-length is malformed or repeated"))?,
        false => None,
    };
    if connect && length.is_some() {
        return Err(if extended { bad("CONNECT with content") } else { malformed("CONNECT with content") });
    }
    if end_stream {
        // RFC 9113 §8.1.1.
        if length.is_some_and(|length| length > 0) {
            return Err(malformed("no body, and content-length says that there is one"));
        }
        length = Some(0);
    }
    if length.is_some_and(|length| length > limits.body) {
        return Err((Answer::Status(StatusCode::PAYLOAD_TOO_LARGE), "the body is too large"));
    }
    let takes_trailers = headers.contains(KnownHeader::Te);
    let awaits_continue = awaits_continue(headers)? && !end_stream;
    let head_only = head.method == Method::HEAD;
    Ok((length, ResponseContext { head_only, connect, tunnel: false, takes_trailers, awaits_continue }))
}

/// RFC 9113 §8.3.1, and RFC 9110 §7.2 as HTTP/1 has it: it must be clear which host the request is for.
#[inline]
fn check_host(head: &RequestHead) -> Result<(), Refusal> {
    if head.target.form() == TargetForm::Authority {
        return match head.target.authority() {
            Some(text) if authority::is_valid(text.as_bytes()) => Ok(()),
            _ => Err(bad(NO_TARGET)),
        };
    }
    let mut hosts = head.headers.get_all(KnownHeader::Host);
    match (hosts.next(), hosts.next()) {
        (Some(host), None) if authority::is_valid(host) => Ok(()),
        (Some(_), None) => Err(bad("a host that is none")),
        (Some(_), Some(_)) => Err(bad("more than one host")),
        (None, _) => Err(bad("neither :authority nor host")),
    }
}

/// RFC 9110 §10.1.1.
#[inline]
fn awaits_continue(headers: &Headers) -> Result<bool, Refusal> {
    if !headers.contains(KnownHeader::Expect) {
        return Ok(false);
    }
    let mut expects = false;
    for value in headers.list(KnownHeader::Expect) {
        if !value.eq_ignore_ascii_case(b"100-continue") {
            return Err((Answer::Status(StatusCode::EXPECTATION_FAILED), "an expectation that nobody knows"));
        }
        expects = true;
    }
    Ok(expects)
}

type Refusal = (Answer, &'static str);

impl Rejected {
    #[cold]
    fn without_head((answer, reason): Refusal) -> Box<Self> {
        Box::new(Self { answer, reason, head: None })
    }
}

#[cold]
fn reject(problem: Problem) -> Box<Rejected> {
    Rejected::without_head(match problem {
        Problem::Malformed(reason) => malformed(reason),
        Problem::TooLarge => {
            (Answer::Status(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE), "the head of a request is too large")
        }
        Problem::TargetTooLong => (Answer::Status(StatusCode::URI_TOO_LONG), ":path is too long"),
    })
}

const fn malformed(reason: &'static str) -> Refusal {
    (Answer::Reset, reason)
}

const fn bad(reason: &'static str) -> Refusal {
    (Answer::Status(StatusCode::BAD_REQUEST), reason)
}

const NO_TARGET: &str = "the target is none";

/// As HTTP/1 has it: the longest registered one, `UPDATEREDIRECTREF`, has 17 letters.
const MAX_METHOD_LENGTH: usize = 32;
