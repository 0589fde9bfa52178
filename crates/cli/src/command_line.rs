//! The commands, and which one is meant.

use std::{ffi::OsString, path::Path};

use clap::{CommandFactory, Parser, Subcommand};

use crate::{
    arguments::{
        AcmeArguments, AppArguments, BanArguments, CacheArguments, CheckArguments, CompleteArguments,
        CompletionsArguments, ConfigArguments, FilesArguments, ImportArguments, InitArguments, MaintenanceArguments,
        ManArguments, PasswordArguments, ProxyArguments, PurgeArguments, ReloadArguments, RouteArguments, RunArguments,
        ServerStatusArguments, StatusArguments, StopArguments, SuperviseArguments, UpstreamCommandArguments,
    },
    command_error::CommandError,
    usage,
};

/// A web server, reverse proxy, application server and load generator.
#[derive(Debug, Parser)]
#[command(
    name = "serow",
    version,
    override_usage = "serow [DIR] [OPTIONS]\n       serow <COMMAND>",
    max_term_width = 100,
    subcommand_required = true,
    after_help = EXAMPLES
)]
pub(crate) struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

/// A command.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve a folder; `serow DIR` is short for `serow files DIR`.
    ///
    /// By default Serow listens on http://127.0.0.1:8080/, uses all cores, serves index files, lists folders
    /// without an index file,
    /// and compresses responses. It prints the folder and the URLs on standard error; standard output
    /// contains only the
    /// access log, with `--access-log -`.
    #[command(override_usage = "serow [files] [DIR] [OPTIONS]", after_help = FILES_EXAMPLES)]
    Files(Box<FilesArguments>),
    /// Reverse proxy and load balancer for one or more servers.
    ///
    /// By default Serow listens on http://127.0.0.1:8080/ and uses all cores. It ejects failing servers for a
    /// time, and retries
    /// their requests on others where that is safe. It answers 502 if no server can be reached or the response is
    /// invalid, 503 if all servers are down or busy, and 504 if a server is too slow.
    #[command(override_usage = "serow proxy [OPTIONS] UPSTREAM...", after_help = PROXY_EXAMPLES)]
    Proxy(Box<ProxyArguments>),
    /// Run an application in Ruby (Rack), Perl (PSGI) or Python (WSGI, ASGI) with the installed interpreter,
    /// or any program.
    ///
    /// By default Serow listens on http://127.0.0.1:8080/ and starts one worker per core. It buffers request
    /// bodies before it passes a request to a worker, so slow clients do not occupy workers (ASGI workers
    /// receive long bodies as they arrive). HUP reloads the application: new workers take over
    /// when all of them are ready; if they fail to start, Serow logs the error and keeps the old ones. For a
    /// program that serves
    /// HTTP itself, write its command after --: Serow starts copies of it, tells them where to listen, and
    /// proxies requests to them.
    #[command(
        override_usage = "serow app [OPTIONS] FILE\n       serow app [OPTIONS] -- COMMAND [ARGUMENT...]",
        after_help = APP_EXAMPLES
    )]
    App(Box<AppArguments>),
    /// Benchmark an HTTP server, with the options and the report of wrk, and more.
    ///
    /// Each connection sends the next request as soon as it has received a response; with -R, requests are
    /// sent at a constant
    /// rate. Ctrl-C ends the run early and prints the report.
    #[cfg(feature = "bench")]
    #[command(override_usage = "serow bench [OPTIONS] URL\n       serow bench waterfall [OPTIONS] URL...", after_help = BENCH_EXAMPLES)]
    Bench(Box<crate::arguments::BenchArguments>),
    /// The load generator, which this build does not contain.
    #[cfg(not(feature = "bench"))]
    #[command(hide = true, disable_help_flag = true)]
    Bench(crate::bench_missing::BenchArguments),
    /// Supervise a server and restart it without losing a connection, with the command line of start_server.
    ///
    /// Binds the sockets, starts the command, which inherits them, and starts it again when it exits. On HUP
    /// it starts
    /// a new process, and stops the old one when the new one is ready. If the binary is named start_server,
    /// it runs this command.
    #[command(override_usage = "serow supervise [OPTIONS] -- COMMAND [ARGUMENT...]", after_help = SUPERVISE_HELP)]
    Supervise(Box<SuperviseArguments>),
    /// Write a settings file for what a folder contains: a static site or an application.
    ///
    /// It looks for config.ru, app.psgi, manage.py, wsgi.py, asgi.py, app.py and main.py, Procfile, a package.json with a
    /// script 'start', and index.html, also in dist, build, public, _site and out. If there are several, the others are
    /// commented out. An existing file is never changed.
    Init(InitArguments),
    /// Translate the configuration of nginx into a settings file, with a report about each of its lines.
    ///
    /// It reads the included files as well. The report names each directive that has no counterpart or differs, with its
    /// file and line and the reason. The exit status is 0 only if each directive is translated, or needs no line in Serow.
    /// An existing file is never changed.
    Import(ImportArguments),
    /// Check a settings file, and report each error with its position.
    ///
    /// Like 'serow run', it checks that folders, certificates and the user exist, but it does not open any sockets.
    Check(CheckArguments),
    /// Run the server that a settings file describes.
    ///
    /// HUP or 'serow reload' reloads the file: the running process takes over the new settings, or a new
    /// one serves on the same sockets, and the old one finishes its requests. If the file has an error,
    /// Serow reports it and changes nothing.
    #[command(after_help = RUN_HELP)]
    Run(RunArguments),
    /// Reload a running server's configuration.
    ///
    /// The running process takes over changed sites, routes, maps and upstreams where it can; otherwise a new process
    /// starts, and the answer says why. A changed program always gets a new process. If the settings file has an error, the
    /// command prints it and the server keeps its configuration.
    Reload(ReloadArguments),
    /// Stop a running server gracefully, and wait until it has ended.
    ///
    /// The server stops listening, finishes the requests in progress, and ends after --grace at the latest.
    /// The exit code is 0
    /// when it has ended, and 1 if it still runs after --timeout.
    Stop(StopArguments),
    /// List, add and lift bans: clients that a running server refuses for a time.
    #[command(after_help = BAN_EXAMPLES)]
    Ban(BanArguments),
    /// Begin or end maintenance of a running server: clients receive 503.
    Maintenance(MaintenanceArguments),
    /// Show what the cache of a running server holds, and what it has counted.
    ///
    /// With 'serow run', it is the cache of the generation that serves.
    Cache(CacheArguments),
    /// Remove responses from the cache of a running server, by URL, prefix or tag.
    ///
    /// Responses that are on their way from the application or server are not stored, either. With 'serow run', the caches of
    /// generations that finish their requests are purged, too.
    #[command(
        override_usage = "serow purge [OPTIONS] URL...\n       serow purge [OPTIONS] --prefix URL | --tag NAME | --all",
        after_help = PURGE_EXAMPLES
    )]
    Purge(PurgeArguments),
    /// List and change the servers of an upstream while the server runs.
    ///
    /// Changes last until a reload changes the upstream or starts a new process, unless --persist is given.
    #[command(after_help = UPSTREAM_EXAMPLES)]
    Upstream(UpstreamCommandArguments),
    /// Add, change, remove and list routes of a running server, without editing a settings file.
    ///
    /// They are in effect at once, stay after reloads, crashes and restarts, and are in added files, one for each host:
    /// 'serow config' shows and changes those. The server must be one of 'serow run'.
    #[command(after_help = ROUTE_EXAMPLES)]
    Route(RouteArguments),
    /// List, print, add, replace and remove settings files that are added to a running server.
    ///
    /// An added file is in effect at once, and is kept by its name: it outlives reloads, crashes and restarts. The server must
    /// be one of 'serow run'.
    #[command(after_help = CONFIG_EXAMPLES)]
    Config(ConfigArguments),
    /// Print a line of a password file, for `basic` in a settings file: a name and the hash of a password.
    ///
    /// It asks for the password, or reads the first line of standard input.
    #[command(after_help = PASSWORD_EXAMPLES)]
    Password(PasswordArguments),
    /// Print the JSON schema of settings files, for completion and documentation in editors.
    Schema,
    /// Print the status of a running server.
    ///
    /// The server needs an admin socket, as in `serow files --admin unix:/run/serow/admin.sock`. 'queue
    /// delay' is how long HTTP/2 data waits in the kernel before it is sent.
    #[command(after_help = "See --help for the fields of the JSON.", after_long_help = serow_admin::FIELDS)]
    Status(ServerStatusArguments),
    /// List the automatic certificates (ACME) of a running server: issuer, expiry, next order and last error.
    ///
    /// The server needs an admin socket, as in `serow files --acme example.com --admin unix:/run/serow/admin.sock`.
    Certificates(StatusArguments),
    /// Renew or revoke an automatic certificate of a running server.
    Acme(AcmeArguments),
    /// Print a completion script for a shell.
    ///
    /// The script calls 'serow' for each completion, so it stays valid when a new version is installed.
    #[command(after_help = COMPLETIONS_EXAMPLES)]
    Completions(CompletionsArguments),
    /// Internal: print what the last word can be completed to, for the script of 'serow completions'.
    #[command(name = "__complete", hide = true)]
    Complete(CompleteArguments),
    /// Print the reference of settings files, in Markdown.
    Reference,
    /// Print the manual of all options, in Markdown.
    #[command(hide = true)]
    Manual,
    /// Write the manual as man pages: serow.1, one for each command, and serow.toml.5.
    ///
    /// They bear the date of SOURCE_DATE_EPOCH, if that is set.
    Man(ManArguments),
}

impl CommandLine {
    /// Reads the arguments of the process, its own name first.
    pub(crate) fn read(arguments: impl Iterator<Item = OsString>) -> Result<Command, CommandError> {
        let mut arguments: Vec<OsString> = arguments.collect();
        if arguments.first().is_some_and(is_start_server) {
            arguments.insert(1, "supervise".into());
        } else if !arguments.get(1).is_some_and(names_command) {
            arguments.insert(1.min(arguments.len()), "files".into());
        }
        let command = match [1, 2].map(|place| arguments.get(place).and_then(|word| word.to_str()).unwrap_or_default())
        {
            ["bench", "waterfall"] => "bench waterfall".to_owned(),
            [group @ ("upstream" | "acme" | "config" | "route"), word] if !names_command_of(group, word) => {
                group.to_owned()
            }
            [group @ ("upstream" | "acme" | "config" | "route"), command] => {
                format!("{group} {command}").trim_end().to_owned()
            }
            [command, _] => command.to_owned(),
        };
        let parsed = Self::try_parse_from(&arguments).map(|line| line.command);
        parsed.map_err(|error| usage::error_of(&command, &arguments, error))
    }
}

/// Whether a command has this one below it.
fn names_command_of(command: &str, word: &str) -> bool {
    CommandLine::command().find_subcommand(command).is_some_and(|command| command.find_subcommand(word).is_some())
}

/// Whether the program was called by the name of Server::Starter's.
fn is_start_server(program: &OsString) -> bool {
    Path::new(program).file_name().is_some_and(|name| name == "start_server")
}

/// Whether the first argument chooses a command; otherwise it belongs to `serow files`.
fn names_command(argument: &OsString) -> bool {
    let command = CommandLine::command();
    let is_command = |text: &str| command.get_subcommands().any(|command| command.get_name() == text);
    argument
        .to_str()
        .is_some_and(|text| matches!(text, "help" | "-h" | "--help" | "-V" | "--version") || is_command(text))
}

const EXAMPLES: &str = "\
Examples:
  serow                      serve this folder on http://127.0.0.1:8080/
  serow public --listen :80  serve another folder, on all addresses
  serow ./files              serve a folder that is named like a command
  serow proxy app:9000       forward requests to another server
  serow init                 write a settings file for what this folder contains
  serow run                  run the server that the settings file describes
  serow files -h             list the options (--help: with details)";

const FILES_EXAMPLES: &str = "\
Examples:
  serow
      serve this folder on http://127.0.0.1:8080/
  serow public --listen :80 --access-log -
      listen on all addresses, and print the access log
  serow dist --spa index.html --expires '/assets/*=365d'
      a single-page application with hashed names below /assets
  serow public --listen :443 --tls site.pem,site.key --redirect-http :80
      with TLS, and a redirect from http
  serow public --listen unix:/run/site.sock --unix-mode 660
      behind a proxy

Values:
  durations: 500ms 10s 5m 24h 30d; sizes: 500 64k 1M 2G
  PATTERN: one with a slash, such as /assets/*, matches the whole path; *.css matches the file name

Status:
  serow --admin unix:/run/user/1000/serow.sock
  serow status --admin unix:/run/user/1000/serow.sock

Signals:
  TERM, INT  stop gracefully: finish requests in progress; a second signal stops at once
  USR1       reopen the access log file, after rotation";

const PROXY_EXAMPLES: &str = "\
Examples:
  serow proxy 127.0.0.1:9000
      one server, on http://127.0.0.1:8080/
  serow proxy 127.0.0.1:9000,weight=2 127.0.0.1:9001 127.0.0.1:9002,backup --listen :80
      three servers: the first gets twice as many requests as the second, the last is a backup
  serow proxy unix:/run/app.sock,max=20 --buffer-requests --strip-prefix /app
      an application server with twenty processes: further requests queue here, and bodies of slow clients are buffered
  serow proxy app1:9000 app2:9000 --check http --check-path /up --sticky insert
      with health checks and sticky sessions
  serow proxy https://app1 https://app2 --balance latency --host server --retry-on connect,timeout,5xx
      the faster of two servers, over HTTP/2; failed requests are retried
  serow proxy h2c://127.0.0.1:50051 --listen :443 --tls site.pem,site.key --check grpc
      gRPC

Values:
  durations: 500ms 10s 5m 24h 30d; sizes: 500 64k 1M 2G

Status, and changes at run time:
  serow proxy app1:9000 app2:9000 --admin unix:/run/user/1000/serow.sock
  serow status --admin unix:/run/user/1000/serow.sock
  serow upstream drain upstream app2:9000 --admin unix:/run/user/1000/serow.sock
  serow upstream up upstream app2:9000 --admin unix:/run/user/1000/serow.sock

Signals:
  TERM, INT  stop gracefully: finish requests in progress; a second signal stops at once
  USR1       reopen the access log file, after rotation";

const APP_EXAMPLES: &str = "\
Examples:
  serow app config.ru
      Rails, Sinatra and other Rack applications
  serow app app.psgi --processes 8 --listen :80 --max-requests 1000 --min-requests 800
      Perl, eight workers, each replaced after 800 to 1,000 requests
  serow app project.wsgi:application --chdir /srv/project --env DJANGO_SETTINGS_MODULE=project.settings
      Django
  serow app main:app --listen :443 --tls site.pem,site.key
      FastAPI, with TLS and HTTP/2
  serow app --processes 4 -- node server.js
      any program: four copies, each listening on the port in PORT
  serow app --bind inherit -- puma --bind-to-activated-sockets only config.ru
      a program that inherits a socket, as from systemd or Server::Starter
  serow app config.ru --dev
      development mode: errors are shown in the browser

Values:
  durations: 500ms 10s 5m 24h 30d; sizes: 500 64k 1M 2G

Signals:
  TERM, INT  stop gracefully: finish requests in progress; a second signal stops at once
  HUP        reload the application
  USR1       reopen the access log file, after rotation";

#[cfg(feature = "bench")]
const BENCH_EXAMPLES: &str = "\
Examples:
  serow bench http://127.0.0.1:8080/
      ten connections for ten seconds
  serow bench -t2 -c100 -d30s --latency http://127.0.0.1:8080/
      as with wrk, with the latency distribution
  serow bench -P /run/app.sock --no-keepalive http://localhost/
      an application server on a unix socket, a new connection for each request
  serow bench --http2 -m 32 -k https://127.0.0.1:8443/
      32 concurrent requests on each connection
  serow bench -R 2000 -d 1m --html report.html http://127.0.0.1:8080/
      2,000 requests per second, latencies without coordinated omission, charts
  serow bench -n 1000 --body-file new.json -H 'Content-Type: application/json' --fail-on-error http://127.0.0.1:8080/api
      a thousand POST requests, and exit code 1 if one fails
  serow bench -s post.lua http://127.0.0.1:8080/ -- one two
      wrk's scripts
  serow bench waterfall https://example.com/picture.png,u=5 /script.js,u=1,after=10s
      a waterfall of concurrent responses on one connection: serow bench waterfall --help

Values:
  numbers: 100 1k 2M; times: 10 500ms 90s 5m 1h";

const RUN_HELP: &str = "\
Signals:
  HUP              reload the settings file
  TERM, INT, QUIT  stop gracefully: finish requests in progress; a second signal stops at once
  USR1             reopen the log files, after rotation";

const PASSWORD_EXAMPLES: &str = "\
Examples:
  serow password alice >> users.htpasswd
      asks twice for the password of alice
  printf %s \"$PASSWORD\" | serow password ci --hash bcrypt
      the password of a program, for servers that do not know argon2id";

const UPSTREAM_EXAMPLES: &str = "\
Examples:
  serow upstream list
      all servers, with state, weight and requests
  serow upstream drain app 127.0.0.1:9001
      no new clients for this server of the upstream app; its sticky sessions continue
  serow upstream up app 127.0.0.1:9001
      back into rotation
  serow upstream weight app 127.0.0.1:9001 3 --persist
      another weight, also after a reload
  serow upstream add app 127.0.0.1:9003,weight=2,max=50
  serow upstream remove app 127.0.0.1:9003";

const ROUTE_EXAMPLES: &str = "\
Examples:
  serow route add shop.example 127.0.0.1:9000
      all requests for shop.example go to this server
  serow route add shop.example/api http://10.0.0.5:80,http://10.0.0.6:80
      those for /api and everything below it go to two servers
  serow route add shop.example/docs files:/srv/docs
  serow route add '*.old.example' 'redirect:https://shop.example{path}'
  serow route list
  serow route remove shop.example/api";

const CONFIG_EXAMPLES: &str = "\
Examples:
  serow config list
  serow config put shop shop.toml
      adds or replaces the file shop
  serow config get shop > shop.toml
  serow config put shop - --new < shop.toml
      fails if there is a file shop
  serow config delete shop";

const BAN_EXAMPLES: &str = "\
Examples:
  serow ban list
  serow ban add 192.0.2.7 --for 1d --reason 'scans for logins'
      refused for a day
  serow ban add 2001:db8:0:7::1
      its /64, for an hour
  serow ban remove 192.0.2.7";

const PURGE_EXAMPLES: &str = "\
Examples:
  serow purge https://example.com/news
      the responses of one URL
  serow purge --prefix example.com/shop/
      those of all URLs below it, for http and https
  serow purge --tag product-17 --tag category-3
      those that have one of these tags in Surrogate-Key, xkey or Cache-Tag
  serow purge --all --soft
      all become stale: they are validated, and meanwhile sent as far as stale-while-revalidate allows";

const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  serow completions bash > ~/.local/share/bash-completion/completions/serow
      needs the package bash-completion; without it, put this into ~/.bashrc: source <(serow completions bash)
  serow completions zsh > ~/.zfunc/_serow
      with these lines in ~/.zshrc: fpath+=~/.zfunc; autoload -Uz compinit; compinit
  serow completions fish > ~/.config/fish/completions/serow.fish";

const SUPERVISE_HELP: &str = "\
Examples:
  serow supervise --port 8080 -- plackup -s Starlet app.psgi
      any server that supports the protocol of Server::Starter or systemd
  serow supervise --port 80 --port '[::]:80' --path /run/app.sock --pid-file app.pid --status-file app.status -- ./app
  serow supervise --pid-file app.pid --status-file app.status --restart
      replaces the server, and waits until the new one has taken over
  serow supervise --port 8080 --health-url 'http://127.0.0.1:8080/up?{generation}' -- ./app
      a new server must answer before the old one is stopped

Ports:
  8080 (all IPv4 addresses), 127.0.0.1:8080, [::1]:8080; u53, 127.0.0.1:u53 (UDP); 8080=5 (as descriptor 5)

Times:
  a number of seconds, or 500ms 5m 24h

Environment of the command:
  SERVER_STARTER_PORT        PORT=FD, joined by ';', as in 8080=3;[::1]:8080=4;/run/app.sock=5
  SERVER_STARTER_GENERATION  the number of this start, from 1
  LISTEN_FDS, LISTEN_PID, LISTEN_FDNAMES  the sockets in systemd's format; without =FD they begin at descriptor 3
  NOTIFY_SOCKET              READY=1 sent there (sd_notify) marks the process as started before --interval is over
  ENVDIR, ENABLE_AUTO_RESTART, KILL_OLD_DELAY, AUTO_RESTART_INTERVAL  the values of these options; also read at the start, as defaults for them

Signals:
  HUP              replace the server
  TERM, INT, QUIT  stop the server, and then the supervisor";

#[cfg(test)]
mod tests {
    use super::*;

    fn read(arguments: &[&str]) -> Result<Command, CommandError> {
        CommandLine::read(std::iter::once("serow").chain(arguments.iter().copied()).map(OsString::from))
    }

    #[test]
    fn the_definition_is_consistent() {
        CommandLine::command().debug_assert();
    }

    #[test]
    fn files_is_meant_where_no_command_is_named() {
        for arguments in [&[][..], &["public"], &["--workers", "2", "public"], &["files", "public"], &["./files"]] {
            assert!(matches!(read(arguments), Ok(Command::Files(_))), "{arguments:?}");
        }
        assert!(matches!(read(&["manual"]), Ok(Command::Manual)));
        assert!(matches!(read(&["status"]), Ok(Command::Status(_))));
        for arguments in [&["help"][..], &["--help"], &["-V"], &["files", "-h"], &["public", "--help"]] {
            assert!(matches!(read(arguments), Err(CommandError::Help(_))), "{arguments:?}");
        }
    }
}
