//! HTTP/3 (RFC 9114) as a pure state machine, either role: bytes of QUIC streams in, events out; no I/O, no clock.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod qpack;

pub use serow_streams::{ReceivedRequest, ReceivedResponse, StreamId};
