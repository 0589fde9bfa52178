//! Access log and error log.

use clap::{
    Args, ValueEnum,
    builder::{OsStringValueParser, TypedValueParser},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    access_log::{AccessLogChoice, LogFormat},
    without_options,
};
use serow_document::values::choice;

/// Access log and error log.
#[derive(Clone, Debug, Args, Deserialize, Serialize, JsonSchema)]
#[serde(default = "without_options::<LoggingOptions>", rename_all = "kebab-case")]
#[command(next_help_heading = "Logs")]
pub struct LoggingOptions {
    /// Destination of the access log: off, - (standard output), a file, '| command' or 'syslog:...'.
    ///
    /// Serow appends to a file and reopens it on SIGUSR1. A command is run by the shell, reads lines from its
    /// standard input, and is restarted when it ends. syslog: is /dev/log, syslog:unix:/path another socket,
    /// syslog:udp://host:514 and syslog:tcp://host:601 another machine; options may follow, as in
    /// 'syslog:udp://host?facility=local7&severity=info&tag=serow' (and rfc=3164 for daemons that do not support RFC
    /// 5424).
    ///
    /// Lines are buffered for 20 ms at most. Requests never wait for the log: if the destination fails or is too
    /// slow, up to 16 MiB of lines are buffered and further ones are dropped; a warning reports it, and serow status
    /// counts them. In a settings file, sites and routes can have logs of their own. See docs/logs.md.
    #[arg(long, value_name = "DESTINATION", default_value = "off")]
    #[arg(value_parser = OsStringValueParser::new().try_map(AccessLogChoice::try_from))]
    pub access_log: AccessLogChoice,

    /// Format of the access log: combined, json, or a format with variables.
    ///
    /// combined is the format of nginx and Apache, with the time in UTC, and \xHH for bytes that could forge a line.
    /// json is an object with time, peer (the client; if a trusted proxy names it, proxy is the connection's peer), method, target, host, version, status, bytes, duration (in
    /// seconds), whole (false if the response was truncated), stream and urgency (over HTTP/2), upstream (the
    /// attempts, each with server,
    /// status, queue, connect, header and response), tls (its version), referer and user_agent.
    ///
    /// A text that contains $ is a format with nginx's variables, as in '$remote_addr "$request" $status
    /// $request_time $http_x_request_id'; $$ is a dollar sign. docs/logs.md lists the variables.
    #[arg(long, value_name = "FORMAT", default_value = "combined")]
    pub access_log_format: LogFormat,

    /// Log verbosity on standard error.
    #[arg(long, value_name = "LEVEL", default_value = "warn")]
    pub log_level: LevelChoice,
}

/// The least severe level that is logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[allow(missing_docs, reason = "everybody knows them")]
pub enum LevelChoice {
    Off,
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

choice!(LevelChoice, "Level");
