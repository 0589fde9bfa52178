//! What HTTP/2 and HTTP/3 have in common: the order in which streams are served, the fields of messages and their
//! compression, and the judgement of requests and responses. No I/O, no clock.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod compression;
mod event;
pub mod fields;
mod message;
pub mod request;
pub mod response;
pub mod scheduler;
mod stream_id;

pub use self::{
    event::{ClientEvent, Event, ReceivedRequest, ReceivedResponse},
    message::{Content, Exchange, MessageLimits, QueuedHead, Sending, WrongLength},
    stream_id::StreamId,
};
