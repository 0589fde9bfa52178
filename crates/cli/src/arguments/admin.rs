//! The admin socket of a server, and the commands that use it.

use std::path::PathBuf;

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serow::Address;

use super::without_options;
use crate::admin::AdminAddress;

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
    pub(crate) admin_socket: AdminSocketArguments,

    /// Print the JSON of the admin socket.
    #[arg(long)]
    pub(crate) json: bool,
}

/// The admin socket of a running server.
#[derive(Debug, Args)]
#[command(next_help_heading = "Admin socket")]
pub(crate) struct AdminSocketArguments {
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
