//! The options of the commands that talk to the admin socket of a running server.

use std::path::PathBuf;

use clap::Args;
use serow::Address;

/// The options of `serow status`.
#[derive(Debug, Args)]
#[allow(rustdoc::broken_intra_doc_links, reason = "the text is help for a terminal: `[redis]` is a table")]
pub(crate) struct ServerStatusArguments {
    /// List the servers that share the Redis of [redis], instead of the status of this one.
    #[arg(long)]
    pub(crate) fleet: bool,

    #[command(flatten)]
    pub(crate) status: StatusArguments,
}

/// The options of commands that print a part of the status.
#[derive(Debug, Args)]
pub(crate) struct StatusArguments {
    /// Print the JSON of the admin socket.
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) client: AdminClientArguments,
}

/// The admin socket of a running server.
#[derive(Debug, Args)]
#[command(next_help_heading = "Admin socket")]
pub(crate) struct AdminClientArguments {
    /// Admin socket of the server: the value of its --admin, or of 'admin' in its settings file [default: that of
    /// --config, or unix:/run/serow/admin.sock]
    #[arg(long, value_name = "ADDR")]
    pub(crate) admin: Option<Address>,

    /// Settings file of the server, which names the admin socket or has one of its own [default: serow.toml, if it is in
    /// the current folder]
    #[arg(short, long, value_name = "FILE", conflicts_with = "admin")]
    pub(crate) config: Option<PathBuf>,

    /// File with the token for changes over TCP.
    #[arg(long, value_name = "FILE")]
    pub(crate) admin_token_file: Option<PathBuf>,
}
