//! HTTP/3 from outside: frames, QPACK, streams and their order, without a network.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod attacks;
mod cases;
mod client;
#[path = "../../../streams/tests/machine/described.rs"]
mod described;
#[path = "../../../streams/tests/machine/mod.rs"]
mod machine;
mod protocol;
mod qifs;
mod qpack;
mod qpack_connection;
mod qpack_order;
mod seeds;
#[path = "../../../http1/tests/suite/suites/mod.rs"]
mod suites;
mod taken;
mod turns;
