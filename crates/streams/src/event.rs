//! Events of a connection, for its driver.

use bytes::Bytes;
use serow_message::{Headers, RequestHead, ResponseHead, StatusCode};

use crate::StreamId;

/// An event of a server; `Code` is the type of error codes of the version of HTTP.
#[derive(Debug)]
pub enum Event<Code> {
    /// A request's head.
    Request(ReceivedRequest),
    /// A request that never reaches a handler. The driver has only to log it: the machine has answered it with this
    /// status (the answer gets its turn like any other), or cut it off where the RFC asks for that (a malformed one,
    /// 400). Where the request was handed out before (413, a body beyond the limit), its handler is to be dropped,
    /// unless its response has begun.
    Refused {
        /// Of the request.
        stream: StreamId,
        /// The status of the answer.
        status: StatusCode,
        /// Its head, as far as it could be understood.
        head: Option<RequestHead>,
        /// For the log.
        reason: &'static str,
    },
    /// A piece of a request's body.
    Data {
        /// Of the request.
        stream: StreamId,
        /// Never empty. Over HTTP/2 its window is given back by `note_consumed`.
        data: Bytes,
    },
    /// A request's body has ended.
    End {
        /// Of the request.
        stream: StreamId,
        /// The trailers, if there were any.
        trailers: Option<Headers>,
    },
    /// The exchange is over: the client cut it off, or made a mistake within it.
    Reset {
        /// Of the request.
        stream: StreamId,
        /// Why.
        code: Code,
    },
    /// The client will open no more streams.
    GoAway {
        /// Why.
        code: Code,
    },
}

/// A request's head and what it says of the rest.
#[derive(Debug)]
pub struct ReceivedRequest {
    /// Its stream.
    pub stream: StreamId,
    /// The head. The target comes from `:path` (from `:authority` for CONNECT), and `:authority` is the `Host` field.
    pub head: RequestHead,
    /// Whether a body follows. Without one there is no [`Event::End`].
    pub has_body: bool,
    /// The length of the body, where it is known before its end.
    pub length: Option<u64>,
    /// The protocol that an extended CONNECT asks for (RFC 8441); then the target is a path.
    pub protocol: Option<Bytes>,
}

impl ReceivedRequest {
    /// Whether a 2xx response makes the stream a tunnel: its data then are not the content of messages.
    #[must_use]
    pub fn is_connect(&self) -> bool {
        self.head.method == serow_message::Method::CONNECT
    }
}

/// An event of a client; `Code` is the type of error codes of the version of HTTP.
#[derive(Debug)]
pub enum ClientEvent<Code> {
    /// The head of the response, or an informational one (status 1xx), which the response itself follows.
    Response(ReceivedResponse),
    /// A piece of the response's body.
    Data {
        /// Of the exchange.
        stream: StreamId,
        /// Never empty. Over HTTP/2 its window is given back by `note_consumed`.
        data: Bytes,
    },
    /// The response's body has ended.
    End {
        /// Of the exchange.
        stream: StreamId,
        /// The trailers, if there were any.
        trailers: Option<Headers>,
    },
    /// The exchange is over: the server cut it off, or made a mistake within it.
    Reset {
        /// Of the exchange.
        stream: StreamId,
        /// Why. After REFUSED_STREAM (HTTP/3: H3_REQUEST_REJECTED) the request may be sent again on another connection.
        code: Code,
    },
    /// The server takes no more requests. Those it never looked at are reset with that code.
    GoAway {
        /// Why.
        code: Code,
    },
}

/// A response's head and what it says of the rest.
#[derive(Debug)]
pub struct ReceivedResponse {
    /// Its stream.
    pub stream: StreamId,
    /// The head.
    pub head: ResponseHead,
    /// Whether a body follows. Without one there is no [`ClientEvent::End`].
    pub has_body: bool,
    /// The length of the body, where it is known before its end.
    pub length: Option<u64>,
}

impl ReceivedResponse {
    /// Whether the response itself is still to come (RFC 9110 §15.2).
    #[must_use]
    pub fn is_informational(&self) -> bool {
        self.head.status.is_informational()
    }
}
