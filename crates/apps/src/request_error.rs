//! Why a request has no response of the application.

use std::io;

use serow_gateway::error_page;
use serow_message::{BoxError, Headers, KnownHeader, Response, StatusCode};

/// Why a request has no response of the application, or only a part of one.
#[derive(Debug)]
pub(crate) enum RequestError {
    /// The application raised an exception; this is its text, with the backtrace.
    Application(String),
    /// The worker died with the request.
    WorkerCrashed,
    /// The worker was ended, since it took too long.
    WorkerTimedOut,
    /// The worker sent an invalid response.
    InvalidResponse(&'static str),
    /// The worker has others to answer, but this one took too long.
    TimedOut,
    /// All workers were busy for too long.
    QueueTimedOut,
    /// So many wait already that this one may not.
    QueueFull,
    /// The server was set up for fewer threads than ask.
    TooManyThreads,
    /// The request's head does not fit into a packet to a worker.
    HeadTooLong,
    /// The client did not send its body.
    RequestBody(BoxError),
    /// The body could not be kept.
    Storage(io::Error),
    /// Other bodies have taken the space that files may have together.
    SpoolFull {
        /// Bytes of all of them.
        limit: u64,
    },
}

impl RequestError {
    /// The status for the client.
    pub(crate) fn status(&self) -> StatusCode {
        match self {
            Self::Application(_) | Self::TooManyThreads => StatusCode::INTERNAL_SERVER_ERROR,
            Self::WorkerCrashed | Self::InvalidResponse(_) => StatusCode::BAD_GATEWAY,
            Self::WorkerTimedOut | Self::TimedOut => StatusCode::GATEWAY_TIMEOUT,
            Self::QueueTimedOut | Self::QueueFull | Self::SpoolFull { .. } => StatusCode::SERVICE_UNAVAILABLE,
            Self::HeadTooLong => StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
            Self::RequestBody(_) => StatusCode::BAD_REQUEST,
            Self::Storage(_) => StatusCode::INSUFFICIENT_STORAGE,
        }
    }

    /// The response for the client; in development, with the exception of the application.
    pub(crate) fn respond(&self, request: &Headers, development: bool) -> Response {
        match self {
            Self::Application(text) if development => {
                let mut page = String::from(PAGE[0]);
                escape(text, &mut page);
                Response::html(page + PAGE[1]).status(self.status()).with(KnownHeader::CacheControl, "no-store")
            }
            _ => error_page(self.status(), request),
        }
    }

    /// Logs the error with its remedy.
    pub(crate) fn log(&self, application: &str, request: &str) {
        match self {
            // It is in the log already, by its worker's number.
            Self::Application(_) => {}
            Self::WorkerCrashed => {
                tracing::error!(application, "{request}: the worker crashed while handling the request")
            }
            Self::WorkerTimedOut => tracing::error!(application, "{request}: timed out; the worker is replaced"),
            Self::InvalidResponse(error) => {
                tracing::error!(application, "{request}: invalid application response: {error}")
            }
            Self::TimedOut => tracing::error!(application, "{request}: timed out and was cancelled"),
            Self::QueueTimedOut => {
                tracing::warn!(application, "{request}: timed out in the queue, all workers are busy")
            }
            Self::QueueFull => tracing::warn!(application, "{request}: the queue is full"),
            Self::HeadTooLong => tracing::warn!(
                application,
                "{request}: the request head is too long for a worker; set --max-head to 128k or less to refuse it earlier"
            ),
            Self::TooManyThreads => {
                tracing::error!(application, "{request}: came from more threads than the application was set up for")
            }
            Self::RequestBody(error) => tracing::debug!(application, %error, "{request}: request body incomplete"),
            Self::Storage(error) => {
                tracing::error!(application, "{request}: cannot buffer the request body: {error}; free disk space")
            }
            Self::SpoolFull { limit } => tracing::error!(
                application,
                "{request}: refused: buffered request bodies would exceed {limit} bytes of disk; --max-spool (max-spool) sets the limit"
            ),
        }
    }
}

fn escape(text: &str, output: &mut String) {
    for character in text.chars() {
        match character {
            '<' => output.push_str("&lt;"),
            '>' => output.push_str("&gt;"),
            '&' => output.push_str("&amp;"),
            other => output.push(other),
        }
    }
}

/// The page around the text of an exception.
const PAGE: [&str; 2] = [
    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
     <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>500 Internal Server Error</title>\n\
     <style>\nbody { font: 16px/1.5 system-ui, sans-serif; margin: 2rem; max-width: 70rem; color: #222; background: #fff }\n\
     pre { padding: 1rem; overflow: auto; background: #f4f2ee; border-left: 4px solid #b3261e }\n\
     @media (prefers-color-scheme: dark) { body { color: #ddd; background: #191919 } pre { background: #262626 } }\n\
     </style>\n</head>\n<body>\n<h1>The application failed</h1>\n<pre>",
    "</pre>\n<p>This page is shown in development only.</p>\n</body>\n</html>\n",
];
