//! The engine in simulated time and network: modules of the suite against servers in the test's own thread.
#![allow(clippy::unwrap_used, dead_code, unused_imports)]

#[path = "../suite/access.rs"]
mod access;
#[path = "../suite/bodies.rs"]
mod bodies;
#[path = "../suite/disconnects.rs"]
mod disconnects;
#[path = "../suite/expectations.rs"]
mod expectations;
#[path = "../suite/extensions.rs"]
mod extensions;
mod http2;
#[path = "../suite/informational.rs"]
mod informational;
#[path = "../suite/keep_alive.rs"]
mod keep_alive;
#[path = "../suite/panics.rs"]
mod panics;
#[path = "../suite/pipelining.rs"]
mod pipelining;
#[path = "../suite/refusals.rs"]
mod refusals;
#[path = "../suite/request_bodies.rs"]
mod request_bodies;
#[path = "../suite/stopping.rs"]
mod stopping;
#[path = "../suite/streaming.rs"]
mod streaming;
#[path = "../suite/support/mod.rs"]
mod support;
#[path = "../suite/timeouts.rs"]
mod timeouts;
#[path = "../suite/upgrades.rs"]
mod upgrades;
