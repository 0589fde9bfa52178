//! The proxy between real sockets: clients, and upstream servers that behave in every way.
#![allow(clippy::unwrap_used, reason = "a test may fail")]
#![allow(clippy::disallowed_methods, reason = "tests measure real time")]

mod balancing;
mod buffering;
mod cgi;
mod ejection;
mod expectations;
mod forwarding;
mod heads;
mod health;
mod http2;
mod http2_misbehaving;
mod names;
#[cfg(target_os = "linux")]
mod pipes;
mod response_buffering;
mod retries;
mod sessions;
mod support;
mod time_limits;
mod upgrades;
mod warnings;
