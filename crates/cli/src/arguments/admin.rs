//! Where a running server tells how it is, and who asks it.

use std::path::PathBuf;

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serow::Address;

use super::without_options;
use crate::{admin::AdminAddress, written::Count};

/// Where a running server tells how it is.
#[derive(Clone, Debug, Args, Deserialize, Serialize, JsonSchema)]
#[serde(default = "without_options::<AdminArguments>", rename_all = "kebab-case")]
#[command(next_help_heading = "Administration")]
#[allow(rustdoc::broken_intra_doc_links, reason = "the text is help for a terminal: `[::1]` is an address")]
pub(crate) struct AdminArguments {
    /// Where 'serow status' finds out how the server is doing: unix:/path [default: nowhere]
    ///
    /// Only this user and root can use the socket: its file has the mode 600, and the user at the other end is checked.
    /// An abstract socket (unix:@name), which has no permissions, is refused. A port of the machine itself is possible too, such
    /// as 127.0.0.1:9000 or [::1]:9000; every user and program of the machine reaches that. It speaks HTTP/1.1: GET
    /// /status is JSON with the fields that 'serow status --help' explains. It goes on until the server has ended. Each change that is made there is
    /// logged, with the user and the process that made it, or the address it came from.
    #[arg(long, value_name = "ADDR")]
    pub(crate) admin: Option<AdminAddress>,

    /// A file with a token that those who change something over TCP have to show (Authorization: Bearer).
    ///
    /// Without one, a port of --admin is for reading only. At a unix socket nobody needs it.
    #[arg(long, value_name = "FILE")]
    pub(crate) admin_token_file: Option<PathBuf>,
}

/// Who asks a running server how it is.
#[derive(Debug, Args)]
pub(crate) struct StatusArguments {
    #[command(flatten)]
    pub(crate) door: DoorArguments,

    /// Print the JSON as the server gives it.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Where a running server is reached.
#[derive(Debug, Args)]
pub(crate) struct DoorArguments {
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
pub(crate) struct ServerWishArguments {
    /// The upstream; that of 'serow proxy' is called upstream.
    pub(crate) upstream: String,

    /// The server, as the status or the settings have it, or its id.
    pub(crate) server: String,

    #[command(flatten)]
    pub(crate) remembering: RememberingArguments,

    #[command(flatten)]
    pub(crate) door: DoorArguments,
}

/// Which share a server is to get.
#[derive(Debug, Args)]
pub(crate) struct WeightArguments {
    #[command(flatten)]
    pub(crate) wish: ServerWishArguments,

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
    pub(crate) remembering: RememberingArguments,

    #[command(flatten)]
    pub(crate) door: DoorArguments,
}

/// For how long something is so.
#[derive(Debug, Args)]
pub(crate) struct RememberingArguments {
    /// Say so to later generations of 'serow run' as well: those of a reload, and those in the place of a crashed one.
    #[arg(long)]
    pub(crate) persist: bool,
}
