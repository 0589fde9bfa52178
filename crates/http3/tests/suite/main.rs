//! HTTP/3 from outside: frames, streams and their order, without a network.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod get;
