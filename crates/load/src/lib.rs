//! A load generator for HTTP/1.1 and HTTP/2 over TCP, TLS and unix sockets, and for HTTP/3 over QUIC.
//!
//! | what | file |
//! | --- | --- |
//! | what a run is to do | `plan.rs` |
//! | requests as they are sent, and how they take turns | `batch.rs`, `mix.rs`, `source.rs` |
//! | when a request may be sent | `schedule.rs` |
//! | a run: its threads, and what they report | `run.rs`, `sender.rs`, `collection.rs` |
//! | what the connections of a thread share, and count | `thread.rs`, `statistics.rs` |
//! | a connection's place in the run | `http1.rs`, `multiplexed.rs` |
//! | wrk's scripts | `script.rs` |
//! | what is printed of a run | `report.rs` |
//! | what a run brought | `results.rs`, `distribution.rs` |
//! | why it could not go on | `failure.rs` |
//! | who gets which bytes when, over one connection | `waterfall.rs` |
#![forbid(unsafe_code)]

mod batch;
mod collection;
mod distribution;
mod error;
mod http1;
mod mix;
mod multiplexed;
mod plan;
pub mod report;
mod results;
mod run;
mod schedule;
pub mod script;
mod sender;
mod source;
mod statistics;
mod thread;
pub mod waterfall;

pub use self::{
    batch::{Batch, BatchError, Parts, Written},
    distribution::{Bucket, Distribution},
    error::LoadError,
    plan::{Plan, Requests},
    results::{Errors, Interval, Results},
    run::{Run, Stopper},
};
