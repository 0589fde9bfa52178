//! The options of `serow ban`.

use clap::{Args, Subcommand};
use serow_config::values::Span;
use serow_message::ClientNetwork;

use super::{AdminClientArguments, FleetArguments};

/// The options of `serow ban`.
#[derive(Debug, Args)]
#[command(disable_help_subcommand = true)]
pub(crate) struct BanArguments {
    #[command(subcommand)]
    pub(crate) command: BanSubcommand,
}

/// The subcommands of `serow ban`.
#[derive(Debug, Subcommand)]
pub(crate) enum BanSubcommand {
    /// List the banned clients, those that are banned for longest first.
    List(BanListArguments),
    /// Ban a client: its connections are closed at once, and its requests receive 403.
    ///
    /// Reloads and crashes do not end bans, the end of the server does. Proxies in `trust` cannot be banned.
    Add(BanAddArguments),
    /// Lift the ban of a client.
    Remove(BanRemoveArguments),
}

/// The options of `serow ban list`.
#[derive(Debug, Args)]
pub(crate) struct BanListArguments {
    /// Print the JSON of the admin socket.
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) client: AdminClientArguments,
}

/// The options of `serow ban add`.
#[derive(Debug, Args)]
pub(crate) struct BanAddArguments {
    /// Address of the client; an IPv6 address stands for its /64.
    pub(crate) address: ClientNetwork,

    /// How long the ban lasts: 90s, 10m, 1h, 7d.
    #[arg(long = "for", value_name = "TIME", default_value = "1h")]
    pub(crate) length: Span,

    /// Why, for those who list bans.
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,

    #[command(flatten)]
    pub(crate) fleet: FleetArguments,

    #[command(flatten)]
    pub(crate) client: AdminClientArguments,
}

/// The options of `serow ban remove`.
#[derive(Debug, Args)]
pub(crate) struct BanRemoveArguments {
    /// Address of the client.
    pub(crate) address: ClientNetwork,

    #[command(flatten)]
    pub(crate) fleet: FleetArguments,

    #[command(flatten)]
    pub(crate) client: AdminClientArguments,
}
