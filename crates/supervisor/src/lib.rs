//! Keeps a server running, and replaces it without losing a connection: the protocol of Server::Starter.
//!
//! The supervisor binds the sockets and starts the server, the *worker*, which inherits them. For a new version it starts
//! another worker beside the old one, and ends the old one when the new one is up; connections wait in the sockets, which
//! stay open all the time.
//!
//! | step | file |
//! | --- | --- |
//! | what is wanted | `settings.rs`, `port.rs`, `signal_name.rs`, `health/url.rs` |
//! | sockets are bound, and put where workers expect them | `sockets.rs` |
//! | the log, the background, the file with the process id | `log.rs`, `supervisor.rs`, `pid_file.rs` |
//! | what to do when: a state machine without I/O | `machine.rs` |
//! | events are waited for, and done is what the machine says | `driver.rs` |
//! | a worker is spawned, says that it is ready, or is asked | `worker.rs`, `notifications.rs`, `health.rs` |
//! | what workers are told, and what may change meanwhile | `environment.rs` |
//! | what others can read of it | `status_file.rs` |
//! | telling a running supervisor to restart or to stop | `control.rs` |
#![forbid(unsafe_code)]

mod control;
mod driver;
mod environment;
mod error;
mod health;
mod log;
pub mod machine;
pub mod master;
mod notifications;
mod pid_file;
mod port;
#[cfg(test)]
mod scenario;
mod settings;
mod signal_name;
mod signals;
mod sockets;
mod status_file;
mod supervisor;
mod worker;

pub use self::{
    control::{restart, stop},
    error::SupervisorError,
    health::{HealthUrl, HealthUrlError},
    log::LogDestination,
    notifications::tell_parent,
    port::{Port, PortError},
    settings::Settings,
    signal_name::{SignalName, SignalNameError},
    supervisor::run,
    worker::{become_program, become_worker},
};
