//! Programs for axum, on `serow`: each test is a short version of one of axum's examples.
#![allow(clippy::unwrap_used)]

mod connections;
mod encrypted;
mod nested;
mod streams;
mod support;
mod web_sockets;
