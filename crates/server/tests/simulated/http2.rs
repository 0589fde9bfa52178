//! The modules that are particular to HTTP/2.

#[path = "../suite/http2/access.rs"]
mod access;
#[path = "../suite/http2/arrival.rs"]
mod arrival;
#[path = "../suite/http2/bodies.rs"]
mod bodies;
#[path = "../suite/http2/expectations.rs"]
mod expectations;
#[path = "../suite/http2/informational.rs"]
mod informational;
#[path = "../suite/http2/panics.rs"]
mod panics;
#[path = "../suite/http2/refusals.rs"]
mod refusals;
#[path = "../suite/http2/request_bodies.rs"]
mod request_bodies;
#[path = "../suite/http2/stopping.rs"]
mod stopping;
#[path = "../suite/http2/streaming.rs"]
mod streaming;
#[path = "../suite/http2/timeouts.rs"]
mod timeouts;
#[path = "../suite/http2/tunnels.rs"]
mod tunnels;
