//! CGI programs (RFC 3875) as a handler: a process for each request.
//!
//! # Life of a request
//!
//! | step | file |
//! | --- | --- |
//! | the path says which program runs, and what is left of it | `program_search.rs` |
//! | the body is read whole, and the request waits until a process may run for it | `handler.rs` |
//! | a thread of its own starts the program: processes end with the thread that started them | `starting.rs` |
//! | whatever happens, the process is killed in the end with its group, and reaped | `program.rs` |
//! | its output becomes the head of a response | `output.rs` |
//! | and its body, at the pace of the client or before it | `body_feed.rs` |
#![forbid(unsafe_code)]

mod body_feed;
mod handler;
mod output;
mod program;
mod program_search;
mod settings;
mod starting;

pub use self::{
    handler::Cgi,
    settings::{CgiSettings, Programs},
};
