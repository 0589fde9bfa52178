//! CGI programs as clients see them, and as the system does.
#![allow(clippy::unwrap_used, reason = "a test may fail")]
#![allow(clippy::disallowed_methods, reason = "tests measure real time")]

#[path = "../../../apps/tests/suite/support/answering.rs"]
mod answering;
mod limits;
mod places;
mod processes;
mod requests;
mod responses;
