//! The common parts of handlers that pass requests on, to servers (`serow-proxy`) or to applications (`serow-apps`).
//!
//! | what | file |
//! | --- | --- |
//! | headers that describe the client: `X-Forwarded-*`, `Forwarded` | `forwarded.rs` |
//! | responses that name what the server is to send in their place | `internal_redirect.rs` |
//! | responses that say how fast they are sent, and how long they are stored | `limit_rate.rs`, `accel_expires.rs` |
//! | which names header fields may have | `field_names.rs` |
//! | fields of a request that only this server sets | `reserved_fields.rs` |
//! | request bodies that are buffered before they are passed on, in memory or on disk | `buffering.rs`, `buffering/` |
//! | responses that wait in memory and files for slow clients | `buffering/buffered_sender.rs`, `buffering/backlog.rs`, `buffering/overflow.rs` |
//! | values that applications inherit from CGI, and the script of a request | `cgi_values.rs` |
//! | the variables of a request for FastCGI and its kin | `cgi_variables.rs` |
//! | responses whose end is not marked | `unframed_body.rs` |
//! | the body of a request, whose beginning can be sent again | `request_body.rs` |
//! | requests that wait for room, in their order; the limits of that | `waiting_queue.rs`, `queue.rs` |
//! | requests that crash the process that answers them | `crashing_requests.rs` |
//! | cookies, as they are written | `cookies.rs` |
//! | the names of a path for programs and scripts, decoded once | `path_names.rs` |
//! | the path for servers: without a prefix, with another | `path_prefix.rs` |
//! | error responses: HTML, JSON, text or gRPC | `error_page.rs` |
//! | at most ten log lines a second about one subject | `log_limit.rs` |
#![forbid(unsafe_code)]

mod accel_expires;
mod buffering;
mod cgi_values;
mod cgi_variables;
pub mod cookies;
mod crashing_requests;
mod error_page;
mod field_names;
mod forwarded;
mod internal_redirect;
mod limit_rate;
mod log_limit;
mod path_names;
mod path_prefix;
mod queue;
mod request_body;
mod reserved_fields;
mod trailers;
mod unframed_body;
mod waiting_queue;

pub use self::{
    accel_expires::AccelExpires,
    buffering::{
        BufferError, BufferSettings, BufferedBody, BufferedContent, BufferedSender, OverflowFile, OverflowPart,
        ResponseBuffering, SpoolSpace, SpooledFile,
    },
    cgi_values::{CgiScript, decoded_path, host_and_port},
    cgi_variables::cgi_variables,
    crashing_requests::{CrashingRequests, RequestLine},
    error_page::{ErrorReason, PROBLEM_DETAILS, error_page, prefers_problem_details, problem_details},
    field_names::{FieldNames, TrailerRule},
    forwarded::{Forwarded, ForwardedFields, ForwardedValues},
    internal_redirect::{
        InternalRedirect, InternalRedirects, NamesReplacement, is_for_server, remove_fields_for_server,
        send_informational,
    },
    limit_rate::LimitRate,
    log_limit::{LogLimit, RequestSummary, Suppressed},
    path_names::{MalformedPath, PathName, PathNames},
    path_prefix::with_prefixes,
    queue::QueueSettings,
    request_body::{Piece, RequestBody},
    reserved_fields::ReservedFields,
    trailers::with_trailers,
    unframed_body::UnframedBody,
    waiting_queue::{Demand, WaitingQueue},
};
pub use serow_message::{Attempt, Attempts};
/// Trusted proxies, and their networks.
pub use serow_message::{Network, NetworkError, TrustedProxies};
