//! How an application is run.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serow_proxy::Network;

use super::without_options;
use crate::values::{Count, NetworkRule, Size, Span, Variable, choice};

/// How an application is run.
#[derive(Clone, Debug, PartialEq, Eq, Args, Deserialize, Serialize, JsonSchema)]
#[serde(default = "without_options::<ApplicationOptions>", rename_all = "kebab-case")]
#[command(next_help_heading = "Application")]
pub struct ApplicationOptions {
    /// How the application is called: auto, rack, psgi, wsgi or asgi.
    ///
    /// auto goes by the name: config.ru is rack, app.psgi is psgi, and what is Python's is wsgi or asgi, whichever it turns out to be
    /// when it is loaded; where its module is called asgi, as in project.asgi:application, asgi at once.
    #[arg(long, value_name = "auto|rack|psgi|wsgi|asgi", default_value = "auto", hide_possible_values = true)]
    pub interface: InterfaceChoice,

    /// How a program is reached: at a port that PORT says, a unix socket that SOCKET says, or one it inherits: port, unix or inherit.
    ///
    /// A port is one of 127.0.0.1 that was free; each copy has its own, as it has its unix socket. A socket that is inherited is
    /// one for all copies, by the protocols of Server::Starter (SERVER_STARTER_PORT) and systemd (LISTEN_FDS).
    #[arg(long, value_name = "port|unix|inherit", default_value = "port", hide_possible_values = true)]
    pub bind: BindChoice,

    /// A path that a program has to answer with a status below 400 before it counts as ready [default: a connection is enough]
    #[arg(long, value_name = "PATH")]
    pub check_path: Option<String>,

    /// Worker processes; copies of a program [default: as many as --workers; of a program 1]
    #[arg(long, value_name = "N")]
    pub processes: Option<Count<1, 1024>>,

    /// Requests that a worker answers at a time, on threads [default: 1; asgi: 1000; a program: any number]
    ///
    /// More than one only for applications that are made for it.
    #[arg(long, value_name = "N")]
    pub threads: Option<Count<1, 10_000>>,

    /// The folder the application runs in [default: that of the file]
    #[arg(long, value_name = "DIR")]
    pub chdir: Option<PathBuf>,

    /// The path that the application is mounted at, as /shop; its own paths begin behind that [default: none]
    ///
    /// It is SCRIPT_NAME, or root_path with ASGI, of which applications make their addresses.
    #[arg(long, value_name = "PATH")]
    pub root_path: Option<String>,

    /// Servers in front whose word is taken for who the client is: 127.0.0.1, 10.0.0.0/8 or unix (repeatable).
    ///
    /// The application sees what they say in X-Forwarded-For and -Proto as the client's address and scheme. What others say in
    /// such fields it does not see. unix are those that come over a unix socket.
    #[arg(long, value_name = "ADDRESS[/BITS]", default_values_t = Network::LOCAL.map(NetworkRule))]
    pub trust: Vec<NetworkRule>,

    /// Pass on to a program header fields of requests whose names have other characters than letters, digits and hyphens.
    ///
    /// By default they are dropped, as nginx does: CGI-like servers (WSGI, Rack, PHP) read X_Forwarded_For as the
    /// X-Forwarded-For that Serow vouches for. Names that would pass for such a field, or for a well-known one, are dropped in
    /// any case.
    #[arg(long)]
    pub underscores_in_headers: bool,

    /// A variable of its environment (repeatable).
    #[arg(long, value_name = "NAME=VALUE")]
    pub env: Vec<Variable>,

    /// The interpreter and what stands before it, as in 'bundle exec ruby' [default: what the folder says]
    #[arg(long, value_name = "COMMAND")]
    pub interpreter: Option<String>,

    /// Load the application once, and fork workers from it: they start at once and share its memory.
    ///
    /// What it opens while it loads, such as connections to a database, is shared as well; not every application is made for
    /// that.
    #[arg(long)]
    pub preload: bool,

    /// How long a worker may take for a request before it is ended and replaced; the client gets 504.
    #[arg(long, value_name = "TIME", default_value = "60s")]
    pub app_timeout: Span,

    /// How long the application may take to load.
    #[arg(long, value_name = "TIME", default_value = "60s")]
    pub start_timeout: Span,

    /// Requests that wait while all workers are busy; 503 beyond.
    #[arg(long, value_name = "N", default_value = "1024")]
    pub queue: Count<0, 0xffff_ffff>,

    /// How long each waits; then the answer is 503, with Retry-After.
    #[arg(long, value_name = "TIME", default_value = "30s")]
    pub queue_timeout: Span,

    /// Replace a worker after so many requests [default: never]
    #[arg(long, value_name = "N")]
    pub max_requests: Option<Count<1, 0xffff_ffff>>,

    /// Replace it after a random number between this and --max-requests, so that not all are replaced at once.
    #[arg(long, value_name = "N")]
    pub min_requests: Option<Count<1, 0xffff_ffff>>,

    /// The time between two workers' starts.
    #[arg(long, value_name = "TIME", default_value = "0")]
    pub spawn_interval: Span,

    /// Replace a worker that has more memory than this, when it has answered [default: no limit]
    #[arg(long, value_name = "SIZE")]
    pub memory_limit: Option<Size>,

    /// Ruby: a worker collects garbage after so many requests, while it and another one are idle, so that fewer requests wait for
    /// that [default: when Ruby wants to]
    ///
    /// With Ruby 3.4 or later, long collections happen behind responses only; before, they become rare among requests.
    #[arg(long, value_name = "N")]
    pub out_of_band_gc: Option<Count<1, 0xffff_ffff>>,

    /// Ruby, with --preload: fork workers anew from the one that has had so many requests, so that they share what it has warmed
    /// up (repeatable) [default: never]
    ///
    /// The first number is for the first time, the last for all that follow, as in 50,1000. Caches, compiled code and what is
    /// loaded late are shared memory then. What the application has open when a worker forks is shared as well, where
    /// config/serow.rb does not close it (before_fork).
    #[arg(long, value_name = "N,…", value_delimiter = ',')]
    pub refork_after: Vec<Count<1, 0xffff_ffff>>,

    /// ASGI: ask a WebSocket's client that says nothing for so long whether it is there, and give it up when it says nothing for as
    /// long again; 0: never [default: 20s]
    #[arg(long, value_name = "TIME")]
    pub websocket_ping: Option<Span>,

    /// ASGI: bytes of a WebSocket's message; it is closed with 1009 beyond [default: 16M]
    #[arg(long, value_name = "SIZE")]
    pub max_message: Option<Size>,

    /// For development: errors are shown to the client, and changed files reload the application.
    #[arg(long)]
    pub dev: bool,
}

/// How a program is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BindChoice {
    /// At a port of 127.0.0.1.
    #[value(help = None)]
    Port,
    /// At a unix socket.
    #[value(help = None)]
    Unix,
    /// At a socket that it inherits.
    #[value(help = None)]
    Inherit,
}

choice!(BindChoice, "Bind");

/// How an application is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum InterfaceChoice {
    /// As the file's name says.
    #[value(help = None)]
    Auto,
    /// Ruby's.
    #[value(help = None)]
    Rack,
    /// Perl's.
    #[value(help = None)]
    Psgi,
    /// Python's.
    #[value(help = None)]
    Wsgi,
    /// Python's for asyncio.
    #[value(help = None)]
    Asgi,
}

choice!(InterfaceChoice, "Interface");
