//! The protocols from outside: bytes in, events out, without a network.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod cgi_responses;
mod readers;
mod requests;
mod responses;
mod round_trips;
