//! HTTP/2 (RFC 9113) as a pure state machine, either role: bytes in, events out; no I/O, no clock.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod error;
pub mod frame;
pub mod hpack;
pub mod scheduler;
mod settings;
mod stream_id;

pub use self::{
    error::{ErrorCode, ProtocolError},
    settings::{Applied, Sender, Settings, SettingsUpdate},
    stream_id::StreamId,
};
