//! The engine from outside: real sockets against servers in this process.
#![allow(clippy::unwrap_used)]
#![cfg_attr(not(all(feature = "http2", feature = "http3")), allow(dead_code, unused_imports))]
#![allow(clippy::disallowed_methods, reason = "tests measure real time")]

mod access;
mod adapters;
mod bodies;
mod descriptors;
mod disconnects;
#[cfg(all(feature = "http2", feature = "tls"))]
mod encrypted;
mod expectations;
mod extensions;
mod fairness;
mod files;
#[cfg(feature = "http2")]
mod http2;
#[cfg(all(feature = "http2", feature = "http3"))]
mod http3;
mod informational;
mod isolation;
mod keep_alive;
mod last_packet;
mod limits;
mod listening;
mod panics;
mod pipelining;
#[cfg(all(feature = "http2", feature = "proxy-protocol", feature = "tls"))]
mod proxy_header;
mod refusals;
mod request_bodies;
mod serve;
mod service_extensions;
mod shared_ports;
mod signals;
#[cfg(all(feature = "http2", feature = "proxy-protocol", feature = "tls"))]
mod status;
mod stopping;
mod streaming;
mod support;
mod timeouts;
mod upgrades;
