//! The admin socket of a server, and the commands that use it.

use std::path::PathBuf;

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serow::Address;

use super::without_options;
use crate::{admin::AdminAddress, written::Count};

/// The admin socket of a server.
#[derive(Clone, Debug, Args, Deserialize, Serialize, JsonSchema)]
#[serde(default = "without_options::<AdminArguments>", rename_all = "kebab-case")]
#[command(next_help_heading = "Administration")]
#[allow(rustdoc::broken_intra_doc_links, reason = "the text is help for a terminal: `[::1]` is an address")]
pub(crate) struct AdminArguments {
    /// Admin socket, for 'serow status' and other commands: unix:/path [default: none]
    ///
    /// Only this user and root can use the socket: its file has mode 600, and Serow checks the user of the client.
    /// Abstract sockets (unix:@name) have no permissions and are refused. A loopback port such as 127.0.0.1:9000 or
    /// [::1]:9000 is possible too, but every local user and program can reach it. The admin socket speaks HTTP/1.1:
    /// GET /status returns JSON with the fields that 'serow status --help' explains. It is available until the server
    /// has ended. Each change is logged, with the user and the process of the client, or its address.
    #[arg(long, value_name = "ADDR")]
    pub(crate) admin: Option<AdminAddress>,

    /// File with a token that clients must present to make changes over TCP (Authorization: Bearer).
    ///
    /// Without it, a TCP admin socket is read-only. A unix socket does not need it.
    #[arg(long, value_name = "FILE")]
    pub(crate) admin_token_file: Option<PathBuf>,
}

/// The options of `serow status`.
#[derive(Debug, Args)]
pub(crate) struct StatusArguments {
    #[command(flatten)]
    pub(crate) door: DoorArguments,

    /// Print the JSON of the admin socket.
    #[arg(long)]
    pub(crate) json: bool,
}

/// The admin socket of a running server.
#[derive(Debug, Args)]
#[command(next_help_heading = "Admin socket")]
pub(crate) struct DoorArguments {
    /// Admin socket of the server: the value of its --admin, or of 'admin' in its settings file [default:
    /// unix:/run/serow/admin.sock]
    #[arg(long, value_name = "ADDR")]
    pub(crate) admin: Option<Address>,

    /// Settings file of the server, which names the admin socket.
    #[arg(short, long, value_name = "FILE", conflicts_with = "admin")]
    pub(crate) config: Option<PathBuf>,

    /// File with the token for changes over TCP.
    #[arg(long, value_name = "FILE")]
    pub(crate) admin_token_file: Option<PathBuf>,
}

/// What is wanted of a server that is asked.
#[derive(Debug, Args)]
pub(crate) struct ServerWishArguments {
    /// Name of the upstream; that of 'serow proxy' is upstream.
    pub(crate) upstream: String,

    /// Server, as in the status or in the settings file, or its id.
    pub(crate) server: String,

    #[command(flatten)]
    pub(crate) remembering: RememberingArguments,

    #[command(flatten)]
    pub(crate) door: DoorArguments,
}

/// The options of `weight`.
#[derive(Debug, Args)]
pub(crate) struct WeightArguments {
    #[command(flatten)]
    pub(crate) wish: ServerWishArguments,

    /// New weight.
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

/// Whether later generations keep a change.
#[derive(Debug, Args)]
#[command(next_help_heading = "Change")]
pub(crate) struct RememberingArguments {
    /// Keep the change across reloads and restarts of a generation of 'serow run'.
    #[arg(long)]
    pub(crate) persist: bool,
}
