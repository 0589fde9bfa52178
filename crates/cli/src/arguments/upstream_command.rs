//! The options of `serow upstream`: changes to the servers of an upstream while it runs.

use clap::{Args, Subcommand};
use serow_config::values::Count;

use super::{AdminClientArguments, FleetArguments};

/// The options of `serow upstream`.
#[derive(Debug, Args)]
#[command(disable_help_subcommand = true)]
pub(crate) struct UpstreamCommandArguments {
    #[command(subcommand)]
    pub(crate) command: UpstreamCommand,
}

/// A command for the upstreams of a running server.
#[derive(Debug, Subcommand)]
pub(crate) enum UpstreamCommand {
    /// List the servers of all upstreams, or of one.
    List(UpstreamListArguments),
    /// Put a server back into rotation.
    ///
    /// It cancels 'down' and 'drain'. With --slow-start, the share of a server that was down grows gradually
    /// to its full weight.
    Up(ServerChangeArguments),
    /// Take a server out of rotation.
    ///
    /// The server finishes its requests and receives no new ones, not even those of its sticky sessions.
    Down(ServerChangeArguments),
    /// Drain a server: it finishes its requests and keeps its sticky sessions, but gets no new clients.
    Drain(ServerChangeArguments),
    /// Change the weight of a server.
    Weight(ServerWeightArguments),
    /// Add a server to an upstream.
    ///
    /// SERVER has the syntax of the settings file: 127.0.0.1:9003,weight=2,max=50.
    Add(ServerChangeArguments),
    /// Remove a server from an upstream; it finishes its requests.
    Remove(ServerChangeArguments),
}

/// The options of `serow upstream list`.
#[derive(Debug, Args)]
pub(crate) struct UpstreamListArguments {
    /// Name of the upstream [default: all]
    pub(crate) name: Option<String>,

    /// Print the JSON of the admin socket.
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) client: AdminClientArguments,
}

/// A change to a server of an upstream.
#[derive(Debug, Args)]
pub(crate) struct ServerChangeArguments {
    /// Name of the upstream: 'upstream' for 'serow proxy', 'app' for a program of 'serow app'.
    pub(crate) name: String,

    /// Address of the server, as in 'serow status' or in the settings file, or its id.
    pub(crate) server: String,

    #[command(flatten)]
    pub(crate) persistence: PersistenceArguments,

    #[command(flatten)]
    pub(crate) fleet: FleetArguments,

    #[command(flatten)]
    pub(crate) client: AdminClientArguments,
}

/// The options of `serow upstream weight`.
#[derive(Debug, Args)]
pub(crate) struct ServerWeightArguments {
    #[command(flatten)]
    pub(crate) change: ServerChangeArguments,

    /// New weight.
    pub(crate) weight: Count<1, 65_535>,
}

/// Whether later generations keep a change.
#[derive(Debug, Args)]
#[command(next_help_heading = "Change")]
pub(crate) struct PersistenceArguments {
    /// Keep the change across reloads and crashes, until 'serow run' ends.
    #[arg(long)]
    pub(crate) persist: bool,
}
