//! The engine from outside: real sockets against servers in this process.
#![allow(clippy::unwrap_used)]

mod access;
mod adapters;
mod bodies;
mod descriptors;
mod disconnects;
mod encrypted;
mod expectations;
mod extensions;
mod fairness;
mod files;
mod http2;
mod http3;
mod informational;
mod isolation;
mod keep_alive;
mod limits;
mod listening;
mod panics;
mod pipelining;
mod proxy_header;
mod refusals;
mod request_bodies;
mod serve;
mod service_extensions;
mod shared_ports;
mod signals;
mod status;
mod stopping;
mod streaming;
mod support;
mod timeouts;
mod upgrades;
