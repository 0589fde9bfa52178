//! php-fpm as an application: starts it, watches its children and replaces them; requests reach them by FastCGI.
//!
//! Each child has a pool, and so a socket, of its own, all below one master: the process behind a socket is known, so that
//! limits of memory and time hit the right one, and all children share one opcache.
//!
//! | subject | file |
//! | --- | --- |
//! | the application, and the proxy for its requests | `fpm/application.rs` |
//! | settings | `fpm/settings.rs` |
//! | the program: where it is found, its version | `fpm/executable.rs` |
//! | the configuration that it is started with | `fpm/configuration.rs` |
//! | the master: its process, its lines, its children | `fpm/master.rs`, `fpm/output_lines.rs` |
//! | the sockets: which child has accepted its connections, and connections that are taken back | `fpm/pool_sockets.rs` |
//! | one child: when it gets requests, when it is idle, when it is replaced | `fpm/pool.rs` |
//! | one php-fpm with all of its children | `fpm/instance.rs` |
//! | the opcache of a new php-fpm is filled | `fpm/warm_up.rs` |
//! | the children of one generation | `fpm/fpm_generation.rs` |
//!
//! # When a child is idle
//!
//! A response does not show that its child is idle: a script may go on after `fastcgi_finish_request`, and one whose client
//! has left goes on until it writes. A child that is idle accepts a connection at once. So a connection of the server's own
//! that a child has accepted *holds* this child: it is idle, and stays so until that connection is closed. A child is stopped
//! only while it is held. A request that came to a child which is not idle is taken back from its socket, and goes to
//! another child.

mod application;
mod configuration;
mod executable;
mod fpm_generation;
mod instance;
mod master;
mod output_lines;
mod pool;
mod pool_sockets;
mod settings;
mod warm_up;

pub use self::{
    application::FpmApplication,
    configuration::is_ini_setting,
    executable::{Executable, ExecutableError},
    settings::FpmSettings,
};
