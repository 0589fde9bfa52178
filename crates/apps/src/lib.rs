//! A handler for applications in Ruby (Rack), Perl (PSGI) and Python (WSGI, ASGI) and PHP, run by the installed interpreter.
//!
//! # Life of a request
//!
//! | step | file |
//! | --- | --- |
//! | its body is buffered, so that a slow client keeps no worker busy; concurrent workers get it as it arrives | `upload.rs` |
//! | it is encoded as its language decodes it fastest: one packet | `environment.rs`, `environment/` |
//! | the pool finds a worker that is idle, or will be first; otherwise the request waits in the only queue | `pool.rs`, `shared_state.rs` |
//! | the packet goes to the worker, whose bridge calls the application | `worker_link.rs`, `bridges/` |
//! | the worker's reply reaches the thread of the request; the worker gets its next request | `threads.rs`, `replies.rs`, `messages.rs` |
//! | the reply becomes the response | `exchange.rs`, `handler.rs`, `pending_response.rs`, `response_body.rs`, `response_fields.rs`, `chunks.rs` |
//! | or the application writes it to a hijacked socket | `hijack.rs`, `hijacked_socket.rs` |
//! | or the client gets an error response | `request_error.rs` |
//! | a WebSocket that the application accepts carries messages | `websocket.rs`, `websocket/session.rs` |
//! | its messages are compressed, if the client offers it | `websocket/compression.rs` |
//!
//! Besides, a thread of `serow-processes` starts, watches and replaces workers: `bridged_generation.rs`, `bridged_generation/`. Workers are
//! forked from a process that has the interpreter loaded, the template process (Pitchfork calls it *mold*); a template process and its
//! workers are a generation. A reload starts another generation.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests measure real time"))]

mod application;
mod attempt_notes;
mod bridged_generation;
mod chunks;
mod counters;
mod environment;
mod exchange;
mod handler;
mod hijack;
mod hijacked_socket;
mod interpreter;
mod locale;
mod messages;
mod outbox;
mod pending_response;
mod pool;
mod program;
mod replies;
mod report;
mod request_error;
mod request_start;
mod response_body;
mod response_fields;
mod settings;
mod shared_state;
mod threads;
mod ticket_sequence;
mod upload;
mod websocket;
mod worker_link;

pub use self::{
    application::Application,
    handler::ApplicationHandler,
    interpreter::Interpreter,
    pool::WorkerCounts,
    program::{Interface, Program},
    report::{ApplicationReport, MAX_RUNNING, RunningRequest},
    settings::{ApplicationSettings, WebSocketSettings},
};
