//! Why a request has no response of the application.

use std::io;

use serow_gateway::error_page;
use serow_message::{BoxError, Headers, Known, Response, StatusCode};

/// Why a request has no response of the application, or only a part of one.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The application raised something; this is what it said, with its backtrace.
    Application(String),
    /// The worker died with the request.
    Died,
    /// The worker was ended, since it took too long.
    Overdue,
    /// The worker said what makes no response.
    Nonsense(&'static str),
    /// The worker has others to answer, but this one took too long.
    Late,
    /// All workers were busy for too long.
    Impatient,
    /// So many wait already that this one may not.
    Full,
    /// The server was set up for fewer threads than ask.
    Threads,
    /// The request's head is longer than what a worker can be sent.
    Head,
    /// The client did not send its body.
    Client(BoxError),
    /// The body could not be kept.
    Storage(io::Error),
    /// Other bodies have taken the space that files may have together.
    SpoolFull {
        /// Bytes of all of them.
        limit: u64,
    },
}

impl Failure {
    fn status(&self) -> StatusCode {
        match self {
            Self::Application(_) | Self::Threads => StatusCode::INTERNAL_SERVER_ERROR,
            Self::Died | Self::Nonsense(_) => StatusCode::BAD_GATEWAY,
            Self::Overdue | Self::Late => StatusCode::GATEWAY_TIMEOUT,
            Self::Impatient | Self::Full | Self::SpoolFull { .. } => StatusCode::SERVICE_UNAVAILABLE,
            Self::Head => StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
            Self::Client(_) => StatusCode::BAD_REQUEST,
            Self::Storage(_) => StatusCode::INSUFFICIENT_STORAGE,
        }
    }

    /// What the client is told; in development, what the application said.
    pub(crate) fn respond(&self, request: &Headers, development: bool) -> Response {
        match self {
            Self::Application(text) if development => {
                let mut page = String::from(PAGE[0]);
                escape(text, &mut page);
                Response::html(page + PAGE[1]).status(self.status()).with(Known::CacheControl, "no-store")
            }
            _ => error_page(self.status(), request),
        }
    }

    /// Says in the log what happened, and what can be done about it.
    pub(crate) fn log(&self, application: &str, request: &str) {
        match self {
            // It is in the log already, by its worker's number.
            Self::Application(_) => {}
            Self::Died => tracing::error!(application, "{request}: the worker died with it"),
            Self::Overdue => tracing::error!(application, "{request}: took too long; the worker is replaced"),
            Self::Nonsense(error) => tracing::error!(application, "{request}: the application gave {error}"),
            Self::Late => tracing::error!(application, "{request}: took too long and was cancelled"),
            Self::Impatient => tracing::warn!(application, "{request}: all workers were busy for too long"),
            Self::Full => tracing::warn!(application, "{request}: the queue is full"),
            Self::Head => tracing::warn!(
                application,
                "{request}: its head is too long for a worker; set --max-head to 128k or less, and clients get 431 sooner"
            ),
            Self::Threads => tracing::error!(application, "{request}: came from a thread that was not counted"),
            Self::Client(error) => tracing::debug!(application, %error, "{request}: its body did not come whole"),
            Self::Storage(error) => {
                tracing::error!(application, "{request}: its body cannot be kept: {error}; make room")
            }
            Self::SpoolFull { limit } => tracing::error!(
                application,
                "{request}: refused: bodies of requests would take more than {limit} bytes of disk; --max-spool (max-spool) sets the limit"
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

/// Around what the application said.
const PAGE: [&str; 2] = [
    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
     <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>500 Internal Server Error</title>\n\
     <style>\nbody { font: 16px/1.5 system-ui, sans-serif; margin: 2rem; max-width: 70rem; color: #222; background: #fff }\n\
     pre { padding: 1rem; overflow: auto; background: #f4f2ee; border-left: 4px solid #b3261e }\n\
     @media (prefers-color-scheme: dark) { body { color: #ddd; background: #191919 } pre { background: #262626 } }\n\
     </style>\n</head>\n<body>\n<h1>The application failed</h1>\n<pre>",
    "</pre>\n<p>This page is shown in development only.</p>\n</body>\n</html>\n",
];
