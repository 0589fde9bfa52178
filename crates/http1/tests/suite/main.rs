//! HTTP/1 from outside: bytes in, events out, without a network.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod both_directions;
mod cases;
mod conversation;
mod llhttp;
mod origins;
mod properties;
mod seeds;
mod splitter;
mod suites;
mod turns;
