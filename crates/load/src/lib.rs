//! A load generator for HTTP/1.1 and HTTP/2 over TCP, TLS and unix sockets.
//!
//! | what | file |
//! | --- | --- |
//! | wrk's scripts | `script.rs` |
//! | what is printed of a run | `report.rs` |
//! | what a run brought | `results.rs`, `distribution.rs` |
#![forbid(unsafe_code)]

mod distribution;
pub mod report;
mod results;
pub mod script;

pub use self::{
    distribution::{Bucket, Distribution},
    results::{Errors, Interval, Results},
};
