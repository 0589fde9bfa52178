//! The application that `serow app` runs, and how.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::without_options;
use serow_document::values::{Count, NetworkRule, Size, Span, Variable, choice};

/// How the application runs.
#[derive(Clone, Debug, PartialEq, Eq, Args, Deserialize, Serialize, JsonSchema)]
#[serde(default = "without_options::<ApplicationOptions>", rename_all = "kebab-case")]
#[command(next_help_heading = "Application")]
pub struct ApplicationOptions {
    /// The interface of the application: auto, rack, psgi, wsgi, asgi or php-worker.
    ///
    /// auto decides by the name: config.ru is rack, app.psgi is psgi. A Python application is asgi if its
    /// module is named asgi, as in project.asgi:application; otherwise Serow loads it and detects whether it
    /// is wsgi or asgi. php-worker is for PHP applications that are loaded once and respond to many requests:
    /// PSR-15, PSR-7, Symfony, Laravel with Octane, or a function.
    #[arg(
        long,
        value_name = "auto|rack|psgi|wsgi|asgi|php-worker",
        default_value = "auto",
        hide_possible_values = true
    )]
    pub interface: InterfaceChoice,

    /// How Serow reaches the program: on the TCP port in PORT, on the unix socket in SOCKET, or on a socket that the
    /// program inherits: port, unix or inherit.
    ///
    /// With port and unix each copy of the program has a free port of 127.0.0.1, or a socket, of its own. With
    /// inherit all copies share one socket, passed as by Server::Starter (SERVER_STARTER_PORT) and
    /// systemd (LISTEN_FDS).
    #[arg(long, value_name = "port|unix|inherit", default_value = "port", hide_possible_values = true)]
    pub bind: BindChoice,

    /// A path for readiness checks: the program is ready once it responds to this path with a status below
    /// 400 [default:
    /// ready once it accepts a connection]
    #[arg(long, value_name = "PATH")]
    pub check_path: Option<String>,

    /// Worker processes, or copies of the program [default: the number of --workers; 1 for a program]
    ///
    /// `serow app` takes the variable WEB_CONCURRENCY of the environment before the default.
    #[arg(long, value_name = "N")]
    pub processes: Option<Count<1, 1024>>,

    /// Maximum number of requests that a worker handles at the same time, on threads or, with ASGI, on its
    /// event loop [default: 1; asgi: 1000; a program: no limit]
    ///
    /// Except for ASGI, use more than one only if the application is thread-safe.
    #[arg(long, value_name = "N")]
    pub threads: Option<Count<1, 10_000>>,

    /// Working directory of the application [default: the folder of the file]
    #[arg(long, value_name = "DIR")]
    pub chdir: Option<PathBuf>,

    /// The path prefix where the application is mounted, such as /shop [default: none]
    ///
    /// The application receives it as SCRIPT_NAME, or as root_path with ASGI, and generates its URLs from it.
    #[arg(long, value_name = "PATH")]
    pub root_path: Option<String>,

    /// Tell the application when each request was passed to it, in X-Request-Start: agents for performance compute the
    /// time in the queue from it
    ///
    /// The value is as nginx's t=$msec. Not for programs.
    #[arg(long)]
    pub request_start: bool,

    /// Whether responses with X-Accel-Redirect or X-Sendfile are replaced by what an internal route of the site responds
    /// (`internal` in [[site.route]]) [default: true, if the site has such a route]
    ///
    /// X-Accel-Limit-Rate of such responses applies, too. Clients never receive these fields, nor other X-Accel-* fields; a
    /// trusted proxy in front of Serow does.
    // A command line has no routes.
    #[arg(skip)]
    pub accel_redirect: Option<bool>,

    /// Trusted proxies for these requests, in place of those of the root: 127.0.0.1, 10.0.0.0/8 or unix [default: `trust`
    /// at the root, or else programs on this machine]
    ///
    /// From a trusted proxy, X-Forwarded-For and X-Forwarded-Proto set the client address and the scheme that the
    /// application sees; if `trust` is given, the access log shows this address, too. Serow drops these headers from the
    /// requests of other clients. An empty list trusts nobody. Conditions and variables of routes follow the root.
    // On a command line, the option of the server.
    #[arg(skip)]
    pub trust: Option<Vec<NetworkRule>>,

    /// Pass request headers to a program even if their names contain characters other than letters, digits and
    /// hyphens.
    ///
    /// By default they are dropped, as nginx does: CGI-like servers (WSGI, Rack, PHP) cannot distinguish
    /// X_Forwarded_For from X-Forwarded-For, which Serow sets. Names that could be mistaken for such a header or for
    /// another well-known one are always dropped.
    #[arg(long)]
    pub underscores_in_headers: bool,

    /// Set an environment variable of the application (repeatable).
    #[arg(long, value_name = "NAME=VALUE")]
    pub env: Vec<Variable>,

    /// PHP: set a value of php.ini, as in memory_limit=256M (repeatable).
    // In a settings file, it is in the table `php`.
    #[arg(long, value_name = "NAME=VALUE")]
    #[serde(skip)]
    pub ini: Vec<Variable>,

    /// The command that starts the interpreter, as in 'bundle exec ruby'; for PHP, the program php-fpm [default: detected
    /// from the application's folder]
    #[arg(long, value_name = "COMMAND")]
    pub interpreter: Option<String>,

    /// Load the application once and fork the workers from that process: they start at once and share its memory.
    ///
    /// Resources that the application opens while it loads, such as database connections, are shared as well; not
    /// every application supports that.
    #[arg(long)]
    pub preload: bool,

    /// Time limit until the response begins; after that, the client receives 504.
    ///
    /// The worker is killed and replaced when its other threads have finished their requests. With ASGI, it is killed
    /// only if its event loop is blocked.
    #[arg(long, value_name = "TIME", default_value = "60s")]
    pub app_timeout: Span,

    /// Time limit between two parts of a response [default: 5m; 1m for programs]
    ///
    /// The time that a worker waits for a slow client does not count. Not for ASGI, whose event loop waits for the next
    /// part of a response without blocking others.
    #[arg(long, value_name = "TIME")]
    pub app_transfer_timeout: Option<Span>,

    /// Time limit for loading the application.
    #[arg(long, value_name = "TIME", default_value = "60s")]
    pub start_timeout: Span,

    /// Requests that may wait while all workers are busy; further ones receive 503.
    #[arg(long, value_name = "N", default_value = "1024")]
    pub queue: Count<0, 0xffff_ffff>,

    /// How long a request may wait for a worker; after that it receives 503 with Retry-After.
    #[arg(long, value_name = "TIME", default_value = "30s")]
    pub queue_timeout: Span,

    /// Replace a worker after this many requests [default: never]
    #[arg(long, value_name = "N")]
    pub max_requests: Option<Count<1, 0xffff_ffff>>,

    /// Replace a worker after a random number of requests between this and --max-requests, so that workers are not
    /// all replaced at the same time.
    #[arg(long, value_name = "N")]
    pub min_requests: Option<Count<1, 0xffff_ffff>>,

    /// Pause between the starts of two workers.
    #[arg(long, value_name = "TIME", default_value = "0")]
    pub spawn_interval: Span,

    /// Replace a worker after the current request if it uses more memory than this [default: no limit]
    #[arg(long, value_name = "SIZE")]
    pub memory_limit: Option<Size>,

    /// Ruby: run the garbage collector between requests, each time after this many, while this worker and another one
    /// are idle [default: when Ruby decides]
    ///
    /// With Ruby 3.4 or later, major collections then happen only between requests; with earlier versions,
    /// they rarely happen during requests.
    #[arg(long, value_name = "N")]
    pub out_of_band_gc: Option<Count<1, 0xffff_ffff>>,

    /// Ruby, with --preload: fork the workers again from the worker that has handled this many requests, so that they
    /// share its warmed-up memory (repeatable) [default: never]
    ///
    /// The first number applies to the first refork, the last one to all that follow, as in 50,1000. Caches, compiled
    /// code and lazily loaded code are then in shared memory. Resources that are open when the worker forks
    /// are shared
    /// as well, unless config/serow.rb closes them (before_fork).
    #[arg(long, value_name = "N,…", value_delimiter = ',')]
    pub refork_after: Vec<Count<1, 0xffff_ffff>>,

    /// ASGI: ping idle WebSocket clients after this long, and close the connection if there is no reply within the
    /// same time; 0 disables pings [default: 20s]
    #[arg(long, value_name = "TIME")]
    pub websocket_ping: Option<Span>,

    /// ASGI: maximum size of a WebSocket message; a larger one closes the connection with 1009 [default: 16M]
    #[arg(long, value_name = "SIZE")]
    pub max_message: Option<Size>,

    /// ASGI: compress WebSocket messages for clients that support it (permessage-deflate): true or false [default: true]
    #[arg(long, value_name = "true|false", hide_possible_values = true)]
    pub websocket_compression: Option<bool>,

    /// Development mode: show errors in the browser, and reload the application when a file changes.
    #[arg(long)]
    pub dev: bool,
}

/// How Serow reaches a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BindChoice {
    /// On a TCP port of 127.0.0.1.
    #[value(help = None)]
    Port,
    /// On a unix socket.
    #[value(help = None)]
    Unix,
    /// On a socket that the program inherits.
    #[value(help = None)]
    Inherit,
}

choice!(BindChoice, "Bind");

/// The interface of an application.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum InterfaceChoice {
    /// Detected.
    #[value(help = None)]
    Auto,
    /// Ruby.
    #[value(help = None)]
    Rack,
    /// Perl.
    #[value(help = None)]
    Psgi,
    /// Python.
    #[value(help = None)]
    Wsgi,
    /// Python with asyncio.
    #[value(help = None)]
    Asgi,
    /// PHP, loaded once.
    #[value(help = None)]
    PhpWorker,
}

choice!(InterfaceChoice, "Interface");
