//! The engine over HTTP/2: what it promises over HTTP/1 holds here too, stream by stream.

mod access;
mod bodies;
mod expectations;
mod fairness;
mod files;
mod interim;
mod limits;
mod panics;
mod refusals;
mod request_bodies;
mod stopping;
mod streaming;
mod timeouts;
mod tunnels;
