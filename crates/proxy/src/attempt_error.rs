//! Why an attempt failed: the step, and whose fault it was.

use std::{fmt, io, rc::Rc, time::Duration};

use serow_client::{ClientError, DialError};
use serow_message::{BoxError, StatusCode};

/// Why an attempt failed.
#[derive(Debug)]
pub(crate) struct AttemptError {
    /// How far it was.
    pub(crate) step: AttemptStep,
    /// The cause.
    pub(crate) cause: Cause,
    /// Whether the server may have begun to process the request.
    pub(crate) processed: Processed,
}

/// How far an attempt is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AttemptStep {
    /// The connection is being opened.
    Connect,
    /// The request is on its way, or its response has not begun.
    Head,
}

/// Whether the server may have begun to process the request (RFC 9110 §9.2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Processed {
    /// It never saw the request, or refused it unprocessed.
    Never,
    /// A reused connection was closed without a response: most likely the server closed it before the request arrived.
    Unlikely,
    /// Unknown.
    Maybe,
}

/// The cause of a failed attempt.
#[derive(Debug)]
pub(crate) enum Cause {
    /// No connection could be opened; several requests may have waited for it.
    Dial(Rc<DialError>),
    /// The connection is of no more use, to all that were on it.
    ConnectionLost(Rc<ClientError>),
    /// The server allows no more requests at a time on its connections, and none ended within this time.
    Busy(Duration),
    /// The response did not begin in time.
    TimedOut(Duration),
    /// The server refused or reset the stream (RFC 9113 §8.7).
    Reset(String),
    /// The client's body cannot be had: the client's fault.
    Body(BoxError),
    /// The request cannot be expressed in the server's protocol.
    Unsendable(String),
}

impl AttemptError {
    /// No connection could be opened.
    pub(crate) fn dial(error: impl Into<Rc<DialError>>) -> Self {
        Self { step: AttemptStep::Connect, cause: Cause::Dial(error.into()), processed: Processed::Never }
    }

    /// The request was on its way, or sent.
    pub(crate) fn of_exchange(cause: Cause, processed: Processed) -> Self {
        Self { step: AttemptStep::Head, cause, processed }
    }

    /// The request cannot be expressed in the server's protocol.
    pub(crate) fn unsendable(why: impl Into<String>) -> Self {
        Self::of_exchange(Cause::Unsendable(why.into()), Processed::Never)
    }

    /// Whether the server refused the request before it worked on it.
    pub(crate) fn is_refusal(&self) -> bool {
        matches!(self.cause, Cause::Reset(_)) && self.processed == Processed::Never
    }

    /// The status for the client.
    pub(crate) fn status(&self) -> StatusCode {
        match &self.cause {
            Cause::Dial(error) if matches!(**error, DialError::TimedOut(_)) => StatusCode::GATEWAY_TIMEOUT,
            Cause::TimedOut(_) => StatusCode::GATEWAY_TIMEOUT,
            Cause::Busy(_) => StatusCode::SERVICE_UNAVAILABLE,
            Cause::Dial(_) | Cause::ConnectionLost(_) | Cause::Reset(_) => StatusCode::BAD_GATEWAY,
            Cause::Body(_) => StatusCode::BAD_REQUEST,
            Cause::Unsendable(_) => StatusCode::NOT_IMPLEMENTED,
        }
    }

    /// Whether the server is to blame.
    pub(crate) fn is_servers(&self) -> bool {
        !matches!(self.cause, Cause::Body(_) | Cause::Unsendable(_) | Cause::Busy(_))
    }
}

impl fmt::Display for AttemptStep {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Connect => "connecting",
            Self::Head => "waiting for the response",
        })
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dial(error) if lacks_listener(error) => write!(formatter, "{error}; is the server running?"),
            Self::Dial(error) => error.fmt(formatter),
            Self::ConnectionLost(error) => error.fmt(formatter),
            Self::Busy(time) => write!(formatter, "all streams to the server were in use for {time:?}"),
            Self::TimedOut(time) => write!(formatter, "no response within {time:?}"),
            Self::Reset(text) | Self::Unsendable(text) => formatter.write_str(text),
            Self::Body(error) => write!(formatter, "the client's request body: {error}"),
        }
    }
}

/// Whether nothing listens on the address: for a unix socket, there may be no file either.
fn lacks_listener(error: &DialError) -> bool {
    use io::ErrorKind::{ConnectionRefused, NotFound};
    matches!(error, DialError::Connect(error) if matches!(error.kind(), ConnectionRefused | NotFound))
}
