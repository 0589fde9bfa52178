//! Where we differ from llhttp, and the sentence that allows it.

/// How an outcome differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Difference {
    /// llhttp accepts it, we refuse it.
    Stricter,
    /// llhttp refuses it, we accept it.
    Laxer,
    /// Both accept it, as different messages.
    Other,
    /// The case does not apply to a server or client of HTTP/1.1.
    OutOfScope,
}

use Difference::{Laxer, OutOfScope, Stricter};

/// Name, difference, reason.
pub(crate) const EXCEPTIONS: &[(&str, Difference, &str)] = &[
    ("request/content-length.md: Content-Length reset when no body is received", OutOfScope, CALLBACK),
    ("request/invalid.md: HTTP protocol and ANNOUNCE method", Laxer, METHOD),
    ("request/method.md: CONNECT with body", Stricter, CONNECT),
    ("request/method.md: M-SEARCH request", Stricter, ASTERISK),
    ("request/method.md: PRI request HTTP2", Stricter, ASTERISK),
    ("request/method.md: SOURCE request with ICE", OutOfScope, OTHER_PROTOCOL),
    ("request/method.md: OPTIONS request with RTSP", OutOfScope, OTHER_PROTOCOL),
    ("request/method.md: ANNOUNCE request with RTSP", OutOfScope, OTHER_PROTOCOL),
    ("request/sample.md: No HTTP version", Stricter, OLD),
    ("request/transfer-encoding.md: POST with `chunked` as last transfer-encoding", Stricter, NOT_UNDERSTOOD),
    (
        "request/transfer-encoding.md: POST with `chunked` as last transfer-encoding (multiple headers)",
        Stricter,
        NOT_UNDERSTOOD,
    ),
    ("request/uri.md: Fragment in URI", Stricter, FRAGMENT),
    ("request/uri.md: `host:port` and basic auth", Stricter, USER),
    ("response/connection.md: HTTP 304 with Content-Length", Stricter, EMPTY_LINE),
    ("response/connection.md: HTTP 100 first, then 400", Stricter, EMPTY_LINE),
    ("response/pipelining.md: Should parse multiple events", Stricter, EMPTY_LINE),
    ("response/sample.md: Response starting with CRLF", Stricter, EMPTY_LINE),
    ("response/sample.md: RTSP response", OutOfScope, OTHER_PROTOCOL),
    ("response/sample.md: ICE response", OutOfScope, OTHER_PROTOCOL),
    ("response/sample.md: HTTP version 0.9", Stricter, OLD),
    ("response/transfer-encoding.md: `chunked` before other transfer-encoding", Stricter, CODING),
    ("response/transfer-encoding.md: multiple transfer-encoding where chunked is not the last one", Stricter, CODING),
    (
        "response/transfer-encoding.md: `chunkedchunked` transfer-encoding does not enable chunked enconding",
        Stricter,
        CODING,
    ),
    ("url.md: Absolute URL", Stricter, FRAGMENT),
    ("url.md: Relative URL", Stricter, FRAGMENT),
    ("url.md: URL fragment", Stricter, FRAGMENT),
    ("url.md: Complex URL fragment", Stricter, FRAGMENT),
    ("url.md: Complex URL from node.js url parser doc", Stricter, FRAGMENT),
    ("url.md: Complex URL with basic auth from node.js url parser doc", Stricter, USER),
    ("url.md: Proxy basic auth with url encoded space", Stricter, USER),
    ("url.md: Proxy basic auth with unreserved chars", Stricter, USER),
];

const FRAGMENT: &str = "RFC 9110 §7.1: a target URI excludes the fragment; the grammar of RFC 9112 §3.2 has none";
const USER: &str = "RFC 9110 §4.2.4: user information in a reference from elsewhere is to be treated as an error";
const EMPTY_LINE: &str =
    "RFC 9112 §2.2: a server that expects a request line ignores empty lines; nobody does before a status line";
const OTHER_PROTOCOL: &str = "another protocol";
const CODING: &str =
    "RFC 9110 §10.1.4: a client that sends no TE accepts chunked only; RFC 9112 §6.1: it is applied once";
const NOT_UNDERSTOOD: &str = "RFC 9112 §6.1: a transfer coding that a server does not understand is answered with 501";
const CALLBACK: &str = "a callback of llhttp that tells it to skip the body of a request";
const METHOD: &str = "RFC 9110 §9.1: any token is a method; the service answers one that it does not know with 501";
const CONNECT: &str = "RFC 9110 §9.3.6: a CONNECT request does not have content";
const ASTERISK: &str = "RFC 9112 §3.2.4: asterisk form is only used for a server-wide OPTIONS request";
const OLD: &str = "RFC 9112 §3, §4: a message has a version, HTTP/0.9 had none; §C.1: it ought to be disabled";
