//! The client against real servers.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod connections;
mod http2;
mod idle;
mod truncation;
