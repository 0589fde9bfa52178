//! The admin endpoint of a server.

use std::path::PathBuf;

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::without_options;
use crate::values::AdminAddress;

/// Where a running server tells how it is.
#[derive(Clone, Debug, Args, Deserialize, Serialize, JsonSchema)]
#[serde(default = "without_options::<AdminOptions>", rename_all = "kebab-case")]
#[command(next_help_heading = "Administration")]
#[allow(rustdoc::broken_intra_doc_links, reason = "the text is help for a terminal: `[::1]` is an address")]
pub struct AdminOptions {
    /// Where 'serow status' finds out how the server is doing: unix:/path [default: nowhere]
    ///
    /// Only this user and root can use the socket: its file has the mode 600, and the user at the other end is checked.
    /// An abstract socket (unix:@name), which has no permissions, is refused. A port of the machine itself is possible too, such
    /// as 127.0.0.1:9000 or [::1]:9000; every user and program of the machine reaches that. It speaks HTTP/1.1: GET
    /// /status is JSON with the fields that 'serow status --help' explains. It goes on until the server has ended. Each change that is made there is
    /// logged, with the user and the process that made it, or the address it came from.
    #[arg(long, value_name = "ADDR")]
    pub admin: Option<AdminAddress>,

    /// A file with a token that those who change something over TCP have to show (Authorization: Bearer).
    ///
    /// Without one, a port of --admin is for reading only. At a unix socket nobody needs it.
    #[arg(long, value_name = "FILE")]
    pub admin_token_file: Option<PathBuf>,
}
