//! The load generator: runs against real servers, scripts and reports.
#![allow(clippy::unwrap_used, reason = "a test may fail")]
#![allow(clippy::disallowed_methods, reason = "tests measure real time")]

mod report;
mod runs;
mod script;
mod waterfall;
