//! `serow run`: everything a settings file says, supervised.
//!
//! | step | file |
//! | --- | --- |
//! | the master starts generations and answers those who run the server | `run/master.rs` |
//! | as which program | `run/program.rs` |
//! | a generation reads the file, gets its sockets, serves | `run/server_generation.rs` |
//! | it opens sockets, and gives up its rights one after the other | `run/sockets.rs`, `run/rights.rs` |
//! | it warns of what the settings probably do not mean | `run/warnings.rs` |
//! | it leaves its bans for later generations | `run/ban_storage.rs` |
//! | it does what the master says | `run/orders.rs` |
//! | it asks the master for changes of added files, for containers and for its fleet | `run/requested_change.rs`, `run/container_watch.rs` |
//! | it executes the commands of its fleet | `run/fleet_commands.rs`, `run/fleet_commands/` |
//! | it serves with other settings, as far as one process can | `run/live_settings.rs`, `run/access_threads.rs` |

mod access_threads;
mod ban_storage;
mod container_watch;
mod fleet_commands;
mod live_settings;
mod master;
mod orders;
mod program;
mod requested_change;
mod rights;
mod server_generation;
mod shared_bans;
mod sockets;
mod warnings;

use std::process::ExitCode;

use crate::{arguments::RunArguments, command_error::exit_code};

/// Runs what the file says until TERM, INT or QUIT.
pub(crate) fn run(arguments: RunArguments) -> ExitCode {
    match arguments.generation {
        true => server_generation::run(&arguments.settings.file),
        false => exit_code(master::run(arguments)),
    }
}
