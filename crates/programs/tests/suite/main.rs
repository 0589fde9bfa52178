//! Programs as their clients see them, through servers in this process.
#![allow(clippy::unwrap_used, reason = "a test may fail")]
#![allow(clippy::disallowed_methods, reason = "tests measure real time")]

#[path = "../../../apps/tests/suite/support/answering.rs"]
mod answering;
mod cgi;
mod commands;
mod php;
