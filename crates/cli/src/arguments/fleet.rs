//! The option of commands that can be given to all servers of a fleet.

use clap::Args;

/// The servers that a command is for.
#[derive(Clone, Copy, Debug, Args)]
#[command(next_help_heading = "Fleet")]
#[allow(rustdoc::broken_intra_doc_links, reason = "the text is help for a terminal: `[redis]` is a table")]
pub(crate) struct FleetArguments {
    /// Give the command to all servers that share the Redis of [redis]; to those that are away, once they are back.
    #[arg(long)]
    pub(crate) fleet: bool,
}
