//! HTTP/2 from outside: frames, HPACK, streams and their order, without a network.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod attacks;
mod cases;
mod client;
#[path = "../../../streams/tests/machine/described.rs"]
mod described;
mod frames;
mod frames_settings;
mod frames_suite;
mod frames_written;
mod hpack;
mod hpack_stories;
#[path = "../../../streams/tests/machine/mod.rs"]
mod machine;
mod protocol;
mod seeds;
#[path = "../../../http1/tests/suite/suites/mod.rs"]
mod suites;
mod turns;
