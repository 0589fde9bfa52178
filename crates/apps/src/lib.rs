//! Applications in Ruby (Rack), Perl (PSGI) and Python (WSGI, ASGI), run by the interpreter that is there, as a handler.
//!
//! # The way of a request
//!
//! | step | file |
//! | --- | --- |
//! | its body is taken whole, so that a slow client keeps no worker busy; workers that answer many at once get it as it comes | `upload.rs` |
//! | it is laid out as its language unpacks it fastest: one packet | `environment.rs`, `environment/` |
//! | the pool finds a worker that is idle, or will be first; otherwise it waits in the one queue | `pool.rs`, `application.rs` |
//! | the packet goes to the worker; the bridge in it calls the application | `link.rs`, `bridges/` |
//! | what the worker says comes to the thread that asked; the worker gets its next request | `threads.rs`, `replies.rs`, `words.rs` |
//! | it becomes the response | `exchange.rs`, `handler.rs`, `chunks.rs` |
//! | or the application writes it to a socket of its own | `takeover.rs` |
//! | or the client is told why there is none | `failure.rs` |
//! | a WebSocket that the application accepts carries messages | `websocket.rs`, `websocket/conversation.rs` |
//!
//! Beside the requests, a thread starts workers, watches and replaces them: `keeper.rs`, `keeper/`. Workers are forked from a
//! process that has the interpreter loaded, the mold; a mold and its workers are a crew. A reload is another crew. In
//! development, files that change are a reason for one: `watching.rs`.
//!
//! Any other program that serves HTTP is an application as well: `command.rs`, `command/`.
#![forbid(unsafe_code)]

mod application;
mod chunks;
mod command;
mod environment;
mod exchange;
mod file_watcher;
mod handler;
mod hijack;
mod interpreter;
mod locale;
mod messages;
mod outbox;
mod pool;
mod program;
mod replies;
mod report;
mod request_error;
mod settings;
mod shared_state;
mod threads;
mod ticket_sequence;
mod upload;
mod websocket;
mod worker_link;
mod worker_manager;

pub use self::{
    application::{Application, Reloader, Workers},
    command::{Binding, CommandApplication, CommandSettings},
    handler::ApplicationHandler,
    interpreter::Interpreter,
    pool::WorkerCounts,
    program::{Interface, Program},
    report::ApplicationReport,
    settings::{ApplicationSettings, Lifetime, Output, RunSettings, WebSocketSettings},
};
