//! The options of the commands that talk to the admin endpoint of a running server.

use std::path::PathBuf;

use clap::Args;
use serow::Address;
use serow_config::values::Count;

/// Who asks a running server how it is.
#[derive(Debug, Args)]
pub(crate) struct StatusArguments {
    #[command(flatten)]
    pub(crate) client: AdminClientArguments,

    /// Print the JSON as the server gives it.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Where a running server is reached.
#[derive(Debug, Args)]
pub(crate) struct AdminClientArguments {
    /// What the server was given as --admin, or has in its settings file as 'admin' [default:
    /// unix:/run/serow/admin.sock]
    #[arg(long, value_name = "ADDR")]
    pub(crate) admin: Option<Address>,

    /// The settings file of the server, which says where it is reached.
    #[arg(short, long, value_name = "FILE", conflicts_with = "admin")]
    pub(crate) config: Option<PathBuf>,

    /// The file with the token that the server wants from those who change something over TCP.
    #[arg(long, value_name = "FILE")]
    pub(crate) admin_token_file: Option<PathBuf>,
}

/// What is wanted of a server that is asked.
#[derive(Debug, Args)]
pub(crate) struct ServerCommandArguments {
    /// The upstream; that of 'serow proxy' is called upstream.
    pub(crate) upstream: String,

    /// The server, as the status or the settings have it, or its id.
    pub(crate) server: String,

    #[command(flatten)]
    pub(crate) persist: PersistArguments,

    #[command(flatten)]
    pub(crate) client: AdminClientArguments,
}

/// Which share a server is to get.
#[derive(Debug, Args)]
pub(crate) struct WeightArguments {
    #[command(flatten)]
    pub(crate) command: ServerCommandArguments,

    /// Its share among the others.
    pub(crate) weight: Count<1, 65_535>,
}

/// What is to be drained.
#[derive(Debug, Args)]
pub(crate) struct DrainArguments {
    /// The upstream whose server is to get nothing new; without it, the whole server ends.
    #[arg(requires = "server")]
    pub(crate) upstream: Option<String>,

    /// The server of that upstream.
    pub(crate) server: Option<String>,

    #[command(flatten)]
    pub(crate) persist: PersistArguments,

    #[command(flatten)]
    pub(crate) client: AdminClientArguments,
}

/// For how long something is so.
#[derive(Debug, Args)]
pub(crate) struct PersistArguments {
    /// Say so to later generations of 'serow run' as well: those of a reload, and those in the place of a crashed one.
    #[arg(long)]
    pub(crate) persist: bool,
}
