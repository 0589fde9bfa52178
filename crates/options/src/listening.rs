//! Listening sockets and worker threads.

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::without_options;
use serow_document::values::{Cores, Count, ListenRule, Mode, NetworkRule};

/// Listening sockets and worker threads.
#[derive(Clone, Debug, Args, Deserialize, Serialize, JsonSchema)]
#[serde(default = "without_options::<ListeningOptions>", rename_all = "kebab-case")]
#[command(next_help_heading = "Listening")]
#[allow(rustdoc::broken_intra_doc_links, reason = "the text is help for a terminal: `[::1]` is an address")]
pub struct ListeningOptions {
    /// Address to listen on (repeatable) [default: 127.0.0.1:8080]
    ///
    /// 8080 (on 127.0.0.1), 127.0.0.1:8080, [::1]:8080, :8080 (all addresses), unix:/path, or fd:3 for an inherited
    /// listening socket. Port 0 lets the system choose. A server that was started by a supervisor (serow supervise,
    /// start_server, systemd) uses the sockets it inherited unless this option is given. Otherwise serow files, proxy and
    /// app listen on all addresses and the port in the environment variable PORT, if it is set, as hosting platforms
    /// require.
    #[arg(long, value_name = "ADDR")]
    pub listen: Vec<ListenRule>,

    /// Number of worker threads [default: one per core]
    #[arg(long, value_name = "N")]
    pub workers: Option<Count<1, 1024>>,

    /// Cores that worker threads are pinned to: auto, or a list, as in 0-3 or 0,2,4-7 [default: not pinned]
    ///
    /// auto takes the cores that the process may use (containers, cpusets and taskset limit them), one for each worker
    /// in turn. A list sets their order, and without --workers their number. Applications and threads that read files are
    /// not pinned. Measure before you use it: a pinned worker cannot move away from a core that another program occupies,
    /// and two servers with auto on one machine choose the same cores.
    #[arg(long, value_name = "CORES")]
    pub worker_cores: Option<Cores>,

    /// Maximum number of connections that wait to be accepted, for each socket.
    ///
    /// The kernel caps it at the sysctl net.core.somaxconn.
    #[arg(long, value_name = "N", default_value = "4096")]
    pub backlog: Count<1, 0x7fff_ffff>,

    /// Permissions of the unix socket file, as for chmod, such as 660 [default: set by the umask]
    #[arg(long, value_name = "MODE")]
    pub unix_mode: Option<Mode>,

    /// Share the port with other processes of this user, such as the next version of this server (SO_REUSEPORT).
    ///
    /// The kernel distributes connections among all of them. To replace a server without a parent process, start the
    /// new one beside it and stop the old one: before it closes its socket, it directs its share of new connections
    /// to the others, so none is lost. Without this option, a second start reports that the port is in use.
    #[arg(long)]
    pub reuse_port: bool,

    /// Expect the PROXY protocol (versions 1 and 2), in which the proxy in front passes on the client address.
    ///
    /// Connections without it are closed. Use it only on addresses that clients cannot reach directly: a
    /// client that can send this header can claim any address.
    #[arg(long)]
    pub proxy_protocol: bool,

    /// Trusted proxies in front of Serow: 127.0.0.1, 10.0.0.0/8 or unix (repeatable).
    ///
    /// The client of a request from a trusted proxy is the last address in X-Forwarded-For that is not itself trusted. It
    /// is $remote_addr in the access log and in routes, conditions of routes (when.client) and serow maintenance --allow
    /// compare it, it selects the server for hash balancing, and applications and upstream servers receive it.
    /// X-Forwarded-Proto of a trusted proxy is $scheme, and https there is not redirected to TLS. X-Forwarded-* and
    /// Forwarded of other clients are ignored and not passed on. unix stands for all clients on unix sockets. Without
    /// this option, applications (but nothing else) trust programs on this machine.
    #[arg(long, value_name = "ADDRESS[/BITS]")]
    pub trust: Vec<NetworkRule>,

    /// Header field in which trusted proxies name the client, such as CF-Connecting-IP or X-Real-IP [default:
    /// X-Forwarded-For]
    ///
    /// It has a single address; with another value, the proxy counts as the client. X-Forwarded-For of these proxies is
    /// ignored, and applications and upstream servers receive the client there as always. The field of clients that are not
    /// trusted is removed. It is for the proxies of --trust, not for those of `trust` in a route.
    #[arg(long, value_name = "FIELD", requires = "trust")]
    pub trust_header: Option<String>,
}
