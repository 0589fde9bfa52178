//! Where the server listens, and with how many threads.

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::without_options;
use crate::values::{Count, ListenRule, Mode};

/// Where the server listens, and with how many threads.
#[derive(Clone, Debug, Args, Deserialize, Serialize, JsonSchema)]
#[serde(default = "without_options::<ListeningOptions>", rename_all = "kebab-case")]
#[command(next_help_heading = "Listening")]
#[allow(rustdoc::broken_intra_doc_links, reason = "the text is help for a terminal: `[::1]` is an address")]
pub struct ListeningOptions {
    /// Where to listen (repeatable) [default: 127.0.0.1:8080]
    ///
    /// 8080 (on 127.0.0.1), 127.0.0.1:8080, [::1]:8080, :8080 (all addresses of the machine), unix:/path, or fd:3 for a
    /// listening socket that is handed over. Port 0 lets the system choose. A server that a supervisor started (serow
    /// supervise, start_server, systemd) listens at the sockets it was given, if nothing is said here.
    #[arg(long, value_name = "ADDR")]
    pub listen: Vec<ListenRule>,

    /// How many cores to use [default: all]
    #[arg(long, value_name = "N")]
    pub workers: Option<Count<1, 1024>>,

    /// Connections that may wait to be accepted, for each socket.
    ///
    /// The system lowers it to its own limit, the sysctl net.core.somaxconn.
    #[arg(long, value_name = "N", default_value = "4096")]
    pub backlog: Count<1, 0x7fff_ffff>,

    /// Permissions of the file of a unix socket, as chmod writes them, such as 660 [default: by umask]
    #[arg(long, value_name = "MODE")]
    pub unix_mode: Option<Mode>,

    /// Listen beside other programs of this user that share the port too, such as the next version of this one.
    ///
    /// The system deals the connections out among all (SO_REUSEPORT). To replace a server without a parent, start the new
    /// one beside it and stop the old one: when it is told to stop, its share of new connections goes to the others before
    /// it leaves, and none is lost. Without this option, a second start is told that the port is in use.
    #[arg(long)]
    pub reuse_port: bool,

    /// Expect the PROXY protocol (versions 1 and 2), in which the proxy in front says who the client is.
    ///
    /// Connections without it are closed. Only for addresses that nobody but the proxy reaches: whoever can write the
    /// header can be anybody.
    #[arg(long)]
    pub proxy_protocol: bool,
}
