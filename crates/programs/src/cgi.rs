//! CGI programs (RFC 3875) as a handler: a process for each request.
//!
//! # Life of a request
//!
//! | step | file |
//! | --- | --- |
//! | the path says which program runs, and what is left of it | `cgi/program_search.rs` |
//! | the body is read whole, and the request waits until a process may run for it | `cgi/handler.rs` |
//! | a thread of its own starts the program: processes end with the thread that started them | `cgi/starting.rs` |
//! | whatever happens, the process is killed in the end with its group, and reaped | `cgi/program.rs` |
//! | its output becomes the head of a response | `cgi/output.rs` |
//! | and its body, at the pace of the client or before it | `cgi/body_feed.rs` |

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
