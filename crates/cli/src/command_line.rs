//! The commands, and which one is meant.

use std::{ffi::OsString, path::Path};

use clap::{CommandFactory, Parser, Subcommand};

use crate::{
    arguments::{
        AdminClientArguments, AppArguments, BenchArguments, CheckArguments, DrainArguments, FilesArguments,
        ProxyArguments, RunArguments, ServerCommandArguments, StatusArguments, SuperviseArguments, WeightArguments,
    },
    command_error::CommandError,
    usage,
};

/// A web server.
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

/// What is to be done.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve a folder; `serow DIR` is short for `serow files DIR`.
    ///
    /// Without any option: at http://127.0.0.1:8080/, on all cores, with index files, listings of folders without one,
    /// and compression. The folder and the URLs are printed on standard error; standard output carries nothing but the
    /// access log, where that is asked for with `--access-log -`.
    #[command(override_usage = "serow [files] [DIR] [OPTIONS]", after_help = FILES_EXAMPLES)]
    Files(Box<FilesArguments>),
    /// Hand requests to other servers, and share them out among several.
    ///
    /// At http://127.0.0.1:8080/, on all cores, without another option. Servers that fail are left alone for a time, and
    /// their requests go to others where that is safe. Errors of its own are 502 (no server could be reached, or what it said
    /// was no response), 503 (all are down or busy) and 504 (too slow).
    #[command(override_usage = "serow proxy [OPTIONS] UPSTREAM...", after_help = PROXY_EXAMPLES)]
    Proxy(Box<ProxyArguments>),
    /// Run an application: in Ruby (Rack), Perl (PSGI) or Python (WSGI, ASGI) by the interpreter that is there, or any program.
    ///
    /// At http://127.0.0.1:8080/, as many workers as there are cores, without another option. Bodies of requests are taken whole
    /// before a worker is asked, so slow clients keep none of them busy. HUP loads the application anew: new workers take over
    /// when all are ready; where they cannot be, that is said, and the old ones stay. A program that serves HTTP itself stands behind
    /// --: copies of it are started, told where to listen, and asked.
    #[command(
        override_usage = "serow app [OPTIONS] FILE\n       serow app [OPTIONS] -- COMMAND [ARGUMENT...]",
        after_help = APP_EXAMPLES
    )]
    App(Box<AppArguments>),
    /// Make load for a web server and measure how it answers; the options and the report are wrk's, and more.
    ///
    /// Each connection sends the next request as soon as it has its response; with -R, requests are sent at planned
    /// moments. Ctrl-C ends it early, with the report of what was done.
    #[command(override_usage = "serow bench [OPTIONS] URL\n       serow bench waterfall [OPTIONS] URL...", after_help = BENCH_EXAMPLES)]
    Bench(Box<BenchArguments>),
    /// Keep a server running, and replace it without losing a connection; start_server's command line.
    ///
    /// Binds the sockets, starts the command, which inherits them, and starts it again when it dies. After HUP it starts
    /// another one, and ends the old one when the new one is up. A binary that is called start_server means this command.
    #[command(override_usage = "serow supervise [OPTIONS] -- COMMAND [ARGUMENT...]", after_help = SUPERVISE_HELP)]
    Supervise(Box<SuperviseArguments>),
    /// Say whether a settings file is right, and if not, what is wrong where.
    ///
    /// Reads it as 'serow run' does: folders and certificates have to be there, and the user. Nothing is listened at.
    Check(CheckArguments),
    /// Run everything a settings file says.
    ///
    /// HUP, or 'serow reload', reads the file anew: a new process serves with it, on the same sockets, and the old one finishes
    /// what it has begun. Where something is wrong with the file, that is said, and nothing changes.
    #[command(after_help = RUN_HELP)]
    Run(RunArguments),
    /// Read the settings file of a running server anew.
    ///
    /// Prints what is wrong with it, if anything is; the server goes on as it was then.
    Reload(AdminClientArguments),
    /// End a running server when it has finished what it has begun; or give one that it asks nothing new.
    ///
    /// With an upstream and a server, that one finishes what it has, and keeps its sessions, until 'serow up'.
    #[command(override_usage = "serow drain [OPTIONS]\n       serow drain UPSTREAM SERVER [OPTIONS]")]
    Drain(DrainArguments),
    /// Have a server of an upstream asked again.
    Up(ServerCommandArguments),
    /// Have a server of an upstream not asked any more, until 'serow up'.
    Down(ServerCommandArguments),
    /// Give a server of an upstream another share.
    Weight(WeightArguments),
    /// Add a server to an upstream.
    Add(ServerCommandArguments),
    /// Take a server out of an upstream.
    Remove(ServerCommandArguments),
    /// Print the JSON schema of settings files, for editors that complete and explain while you write.
    Schema,
    /// Print how a running server is doing.
    ///
    /// The server has to have a door for that: `serow files --admin unix:/run/serow/admin.sock`. 'queue delay' is how long
    /// bytes of HTTP/2 wait in the system before they are sent, where they wait at all.
    #[command(after_help = "See --help for the fields of the JSON.", after_long_help = serow_admin::FIELDS)]
    Status(StatusArguments),
    /// Print the reference of settings files, in Markdown.
    #[command(hide = true)]
    Reference,
    /// Print the manual of all options, in Markdown.
    #[command(hide = true)]
    Manual,
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
            [command, _] => command.to_owned(),
        };
        let parsed = Self::try_parse_from(arguments).map(|line| line.command);
        parsed.map_err(|error| usage::error_of(&command, error))
    }
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
  serow                      serve this folder at http://127.0.0.1:8080/
  serow public --listen :80  serve another one to everybody
  serow ./files              serve a folder that is named like a command
  serow proxy app:9000       hand requests to another server
  serow files -h             all options in short (--help: at length)";

const FILES_EXAMPLES: &str = "\
Examples:
  serow
      this folder, at http://127.0.0.1:8080/
  serow public --listen :80 --access-log -
      to everybody, showing the requests
  serow dist --spa index.html --expires '/assets/*=365d'
      a single-page application with hashed names below /assets
  serow public --listen :443 --tls site.pem,site.key --redirect-http :80
      with TLS, also for those who come without
  serow public --listen unix:/run/site.sock --unix-mode 660
      behind a proxy

Values:
  durations: 500ms 10s 5m 24h 30d; sizes: 500 64k 1M 2G
  PATTERN: /assets/* is compared with the whole path, *.css with its last name

Asking how it is:
  serow --admin unix:/run/user/1000/serow.sock
  serow status --admin unix:/run/user/1000/serow.sock

Signals:
  TERM, INT  stop: finish what runs, then end; a second one ends at once
  USR1       open the file of the access log anew, after it was moved away";

const PROXY_EXAMPLES: &str = "\
Examples:
  serow proxy 127.0.0.1:9000
      one server, seen at http://127.0.0.1:8080/
  serow proxy 127.0.0.1:9000,weight=2 127.0.0.1:9001 127.0.0.1:9002,backup --listen :80
      three, of which the first gets twice as much, and the last only what the others cannot take
  serow proxy unix:/run/app.sock,max=20 --buffer-requests --strip-prefix /app
      an application server with twenty processes: what is more waits here, and so do slow clients
  serow proxy app1:9000 app2:9000 --check http --check-path /up --sticky insert
      servers are asked whether they are well, and clients stay with theirs
  serow proxy https://app1 https://app2 --balance latency --host server --retry-on connect,timeout,5xx
      the better of two, over HTTP/2; what fails is tried again
  serow proxy h2c://127.0.0.1:50051 --listen :443 --tls site.pem,site.key --check grpc
      gRPC

Values:
  durations: 500ms 10s 5m 24h 30d; sizes: 500 64k 1M 2G

Asking how it is, and changing it while it runs:
  serow proxy app1:9000 app2:9000 --admin unix:/run/user/1000/serow.sock
  serow status --admin unix:/run/user/1000/serow.sock
  serow drain upstream app2:9000 --admin unix:/run/user/1000/serow.sock
  serow up upstream app2:9000 --admin unix:/run/user/1000/serow.sock

Signals:
  TERM, INT  stop: finish what runs, then end; a second one ends at once
  USR1       open the file of the access log anew, after it was moved away";

const APP_EXAMPLES: &str = "\
Examples:
  serow app config.ru
      Rails, Sinatra and whatever else speaks Rack
  serow app app.psgi --processes 8 --listen :80 --max-requests 1000 --min-requests 800
      Perl, eight workers, each replaced from time to time
  serow app project.wsgi:application --chdir /srv/project --env DJANGO_SETTINGS_MODULE=project.settings
      Django
  serow app main:app --listen :443 --tls site.pem,site.key
      FastAPI, with TLS and HTTP/2
  serow app --processes 4 -- node server.js
      any program: four copies of it, each at the port that PORT says
  serow app --bind inherit -- puma --bind-to-activated-sockets only config.ru
      one that takes a socket as systemd or Server::Starter gives it
  serow app config.ru --dev
      errors are shown in the browser

Values:
  durations: 500ms 10s 5m 24h 30d; sizes: 500 64k 1M 2G

Signals:
  TERM, INT  stop: finish what runs, then end; a second one ends at once
  HUP        load the application anew
  USR1       open the file of the access log anew, after it was moved away";

const BENCH_EXAMPLES: &str = "\
Examples:
  serow bench http://127.0.0.1:8080/
      ten connections for ten seconds
  serow bench -t2 -c100 -d30s --latency http://127.0.0.1:8080/
      as with wrk
  serow bench -P /run/app.sock --no-keepalive http://localhost/
      an application server on its unix socket, a connection for each request
  serow bench --http2 -m 32 -k https://127.0.0.1:8443/
      32 requests at a time on each connection
  serow bench -R 2000 -d 1m --html report.html http://127.0.0.1:8080/
      2,000 requests each second, honest latencies, charts
  serow bench -n 1000 --body-file new.json -H 'Content-Type: application/json' --fail-on-error http://127.0.0.1:8080/api
      a thousand POST requests, and exit code 1 if one fails
  serow bench -s post.lua http://127.0.0.1:8080/ -- one two
      wrk's scripts
  serow bench waterfall https://example.com/picture.png,u=5 /script.js,u=1,after=10s
      who gets which bytes when, over one connection: serow bench waterfall --help

Values:
  numbers: 100 1k 2M; times: 10 500ms 90s 5m 1h";

const RUN_HELP: &str = "\
Signals:
  HUP              read the file anew
  TERM, INT, QUIT  end: finish what runs; a second one ends at once
  USR1             open the logs anew, after they were moved away";

const SUPERVISE_HELP: &str = "\
Examples:
  serow supervise --port 8080 -- plackup -s Starlet app.psgi
      any server that knows Server::Starter's protocol or systemd's
  serow supervise --port 80 --port '[::]:80' --path /run/app.sock --pid-file app.pid --status-file app.status -- ./app
  serow supervise --pid-file app.pid --status-file app.status --restart
      replaces the server, and waits until the new one has taken over
  serow supervise --port 8080 --health-url 'http://127.0.0.1:8080/up?{generation}' -- ./app
      a new server has to answer before the old one is ended

Ports:
  8080 (all addresses of IPv4), 127.0.0.1:8080, [::1]:8080; u53, 127.0.0.1:u53 (UDP); 8080=5 (as descriptor 5)

Times:
  a number of seconds, or 500ms 5m 24h

What the command finds in its environment:
  SERVER_STARTER_PORT        PORT=FD, joined by ';', as in 8080=3;[::1]:8080=4;/run/app.sock=5
  SERVER_STARTER_GENERATION  which start this is, from 1
  LISTEN_FDS, LISTEN_PID, LISTEN_FDNAMES  the sockets in systemd's words; without a wished number they begin at 3
  NOTIFY_SOCKET              READY=1 sent there (sd_notify) ends the waiting for --interval
  ENVDIR, ENABLE_AUTO_RESTART, KILL_OLD_DELAY, AUTO_RESTART_INTERVAL  the options of these names; they may be set so too

Signals:
  HUP              replace the server
  TERM, INT, QUIT  end the server, and then the supervisor";

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
