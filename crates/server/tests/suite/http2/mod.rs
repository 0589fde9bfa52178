//! Tests of HTTP/2 alone, stream by stream; those of both versions stand in the modules of the same names above.

mod access;
mod arrival;
mod bodies;
mod expectations;
mod fairness;
mod files;
mod informational;
mod limits;
mod panics;
mod refusals;
mod request_bodies;
mod stopping;
mod streaming;
mod timeouts;
mod tunnels;
