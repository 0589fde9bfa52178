//! What programs for axum do, on `serow`: each test is one of axum's examples in short.
#![allow(clippy::unwrap_used)]

mod connections;
mod encrypted;
mod nested;
mod streams;
mod support;
mod web_sockets;
