//! The fuzz targets. Each module has a function `target`, which panics if a crate breaks a promise for the input.
//!
//! `fuzz/run` builds a fuzzer of each. The tests of this crate run them with the seeds in `fuzz/seeds` and with mutations.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "a fuzz target is a test")]

use arbitrary::{Arbitrary, Unstructured};

pub mod cgi_response;
pub mod chunked;
pub mod client_hello;
pub mod client_split;
pub mod dns;
pub mod dns_updates;
pub mod fastcgi_request;
pub mod fastcgi_response;
pub mod files;
pub mod frames;
pub mod headers;
pub mod hpack_decode;
pub mod hpack_roundtrip;
pub mod http3_connection;
pub mod http3_streams;
pub mod nginx;
pub mod operations;
pub mod priority;
pub mod proxy_protocol;
pub mod qpack_decode;
pub mod qpack_roundtrip;
pub mod roundtrip;
pub mod routes;
pub mod scheduler;
pub mod server_split;
pub mod target;
pub mod tls_records;
pub mod variables;
pub mod webdav_destination;
pub mod webdav_if;
pub mod webdav_xml;

#[path = "../../../crates/fastcgi/tests/suite/readers/mod.rs"]
mod cgi_readers;
#[path = "../../../crates/http1/tests/suite/conversation/mod.rs"]
mod conversation;
#[path = "../../../crates/streams/tests/machine/described.rs"]
mod described;
#[path = "../../../crates/message/tests/suite/structured_fields/reference.rs"]
mod reference;
#[path = "../../../crates/streams/tests/suite/scheduler_model/mod.rs"]
mod scheduler_model;
#[path = "../../../crates/http1/tests/suite/splitter/mod.rs"]
mod splitter;
#[path = "../../../crates/http2/tests/suite/frames/taken.rs"]
mod taken_frames;
#[path = "../../../crates/http3/tests/suite/taken/mod.rs"]
mod taken_streams;

/// Runs a target whose input is a value. Bytes that are too short for one are not an input.
fn with_value<'a, T: Arbitrary<'a>>(data: &'a [u8], target: impl FnOnce(T)) {
    if data.len() >= T::size_hint(0).0
        && let Ok(value) = T::arbitrary_take_rest(Unstructured::new(data))
    {
        target(value);
    }
}
