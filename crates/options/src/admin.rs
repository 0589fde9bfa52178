//! The admin endpoint of a server.

use std::path::PathBuf;

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::without_options;
use serow_document::values::AdminSocket;

/// Where a running server tells how it is.
#[derive(Clone, Debug, Args, Deserialize, Serialize, JsonSchema)]
#[serde(default = "without_options::<AdminOptions>", rename_all = "kebab-case")]
#[command(next_help_heading = "Administration")]
#[allow(rustdoc::broken_intra_doc_links, reason = "the text is help for a terminal: `[::1]` is an address")]
pub struct AdminOptions {
    /// Admin socket for serow status, reload, stop and upstream, and for metrics: unix:/path, or off [default: one for
    /// the settings file with serow run, none otherwise]
    ///
    /// serow run opens a socket below /run/serow for root, and below $RUNTIME_DIRECTORY or $XDG_RUNTIME_DIR/serow for
    /// others; serow status and the other commands find it by the settings file: -c FILE, or serow.toml in the current
    /// folder.
    ///
    /// Only this user and root can use the socket: its file has the mode 600, and Serow checks the user of the
    /// process at the other end. It refuses an abstract socket (unix:@name), which has no permissions. A local TCP
    /// port, such as 127.0.0.1:9000 or [::1]:9000, is possible too, but every user and program of the machine can
    /// connect to it. The socket serves HTTP/1.1: GET /status returns JSON with the fields that 'serow status --help'
    /// describes. It stays open until the server has ended. The error log records each change, with the user and
    /// process or the address that made it.
    #[arg(long, value_name = "ADDR")]
    pub admin: Option<AdminSocket>,

    /// File with the token that POST requests over TCP must send (Authorization: Bearer).
    ///
    /// Without it, a TCP port of --admin is read-only. A unix socket needs no token.
    #[arg(long, value_name = "FILE")]
    pub admin_token_file: Option<PathBuf>,
}
