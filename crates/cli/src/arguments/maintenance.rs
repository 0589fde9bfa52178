//! The options of `serow maintenance`.

use clap::{Args, Subcommand};
use serow_config::values::{NetworkRule, Span};

use super::{AdminClientArguments, FleetArguments};

/// The options of `serow maintenance`.
#[derive(Debug, Args)]
#[command(disable_help_subcommand = true)]
pub(crate) struct MaintenanceArguments {
    #[command(subcommand)]
    pub(crate) command: MaintenanceSubcommand,
}

/// The subcommands of `serow maintenance`.
#[derive(Debug, Subcommand)]
pub(crate) enum MaintenanceSubcommand {
    /// Begin maintenance, or change it: clients receive 503 and Retry-After.
    ///
    /// Requests in progress are finished. Reloads and crashes do not end maintenance, the end of 'serow run' does.
    On(MaintenanceOnArguments),
    /// End maintenance: clients are served.
    Off(MaintenanceOffArguments),
}

/// The options of `serow maintenance on`.
#[derive(Debug, Args)]
pub(crate) struct MaintenanceOnArguments {
    /// When clients may ask again: 90s, 5m, 1h.
    #[arg(long, value_name = "TIME", default_value = "5m")]
    pub(crate) retry_after: Span,

    /// Clients that are served as usual: 192.0.2.7, 10.0.0.0/8, or unix for clients at unix sockets. Repeatable.
    ///
    /// Behind a proxy, it is the address of the proxy, unless `trust` names the proxy.
    #[arg(long, value_name = "NETWORK")]
    pub(crate) allow: Vec<NetworkRule>,

    #[command(flatten)]
    pub(crate) fleet: FleetArguments,

    #[command(flatten)]
    pub(crate) client: AdminClientArguments,
}

/// The options of `serow maintenance off`.
#[derive(Debug, Args)]
pub(crate) struct MaintenanceOffArguments {
    #[command(flatten)]
    pub(crate) fleet: FleetArguments,

    #[command(flatten)]
    pub(crate) client: AdminClientArguments,
}
