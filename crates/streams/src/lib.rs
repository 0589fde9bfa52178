//! The common part of HTTP/2 and HTTP/3: the order in which streams are served, the fields of messages and their
//! compression, and the judgement of requests and responses. No I/O, no clock.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod budget;
pub mod compression;
mod counters;
mod event;
pub mod fields;
mod follows;
mod message;
mod protocol_error;
pub mod request;
pub mod response;
pub mod scheduler;
mod sent_fields;
mod sent_request;
mod show_by_name;
mod stream_id;
mod turn;

pub use self::{
    budget::Budget,
    counters::Counters,
    event::{ClientEvent, Event, ReceivedRequest, ReceivedResponse},
    follows::Follows,
    message::{Content, MessageLimits, QueuedHead, ResponseContext, Sending, WrongLength},
    protocol_error::ProtocolError,
    sent_fields::{has_trailers, show_headers, show_length},
    sent_request::{BodyOrder, FieldEncoder, OpenError, SentRequest},
    stream_id::StreamId,
    turn::Turn,
};
