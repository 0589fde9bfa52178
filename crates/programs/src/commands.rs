//! Any program that serves HTTP as an application: starts copies of it and forwards requests to them.
//!
//! | subject | file |
//! | --- | --- |
//! | the application, and its handler | `commands/application.rs` |
//! | settings | `commands/settings.rs` |
//! | the socket of a copy: a port, a unix socket, an inherited socket | `commands/program_socket.rs` |
//! | one copy: its process, its output, its readiness | `commands/program_copy.rs` |
//! | the copies of one generation: started, watched, replaced | `commands/command_generation.rs` |
//!
//! Requests are forwarded by the proxy, whose servers the copies are.

mod application;
mod command_generation;
mod program_copy;
mod program_socket;
mod settings;

pub use self::{
    application::CommandApplication,
    settings::{Binding, CommandSettings},
};
