//! Keeps a server running, and replaces it without losing a connection: the protocol of Server::Starter.
//!
//! The supervisor binds the sockets and starts the server, the *worker*, which inherits them. For a new version it
//! starts another worker beside the old one, and ends the old one when the new one is up; connections wait in the
//! sockets, which stay open all the time.
//!
//! | step | file |
//! | --- | --- |
//! | the settings | `settings.rs`, `port.rs`, `signal_name.rs`, `health/url.rs` |
//! | sockets are bound, at the descriptors that workers expect | `sockets.rs` |
//! | the log, daemonizing, the pid file | `log.rs`, `supervisor.rs`, `pid_file.rs` |
//! | a state machine without I/O decides what to do | `machine.rs` |
//! | the driver waits for events, and executes the machine's actions | `driver.rs` |
//! | a worker is spawned, and becomes ready by a notification or a health check | `worker.rs`, `notifications.rs`, `health.rs` |
//! | the environment of workers, and settings that may change at run time | `environment.rs` |
//! | the status file | `status_file.rs` |
//! | restarting and stopping a running supervisor | `control.rs` |
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
