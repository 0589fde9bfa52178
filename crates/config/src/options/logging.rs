//! Access log and error log.

use std::{ffi::OsString, fmt, str::FromStr};

use clap::{
    Args, ValueEnum,
    builder::{OsStringValueParser, TypedValueParser},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use serow_access_log::{Destination, DestinationError, Format, FormatError};

use super::without_options;
use crate::values::{SettingValue, choice, in_settings_file};

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
    /// counts them. See docs/logs.md.
    #[arg(long, value_name = "DESTINATION", default_value = "off")]
    #[arg(value_parser = OsStringValueParser::new().try_map(LogDestination::try_from))]
    pub access_log: LogDestination,

    /// Format of the access log: combined, json, or a format with variables.
    ///
    /// combined is the format of nginx and Apache, with the time in UTC, and \xHH for bytes that could forge a line.
    /// json is an object with time, peer (the client; if a trusted proxy names it, proxy is the connection's peer), method, target, host, version, status, bytes, duration (in
    /// seconds), whole (false if the response was truncated), stream and urgency (over HTTP/2), upstream (the
    /// attempts, each with server,
    /// status, connect, header and response), tls (its version), referer and user_agent.
    ///
    /// A text that contains $ is a format with nginx's variables, as in '$remote_addr "$request" $status
    /// $request_time $http_x_request_id'; $$ is a dollar sign. docs/logs.md lists the variables.
    #[arg(long, value_name = "FORMAT", default_value = "combined")]
    pub access_log_format: LogFormat,

    /// Log verbosity on standard error.
    #[arg(long, value_name = "LEVEL", default_value = "warn")]
    pub log_level: LevelChoice,
}

/// Where the access log goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogDestination {
    /// Nowhere.
    Off,
    /// This destination.
    To(Destination),
}

impl TryFrom<OsString> for LogDestination {
    type Error = DestinationError;

    fn try_from(text: OsString) -> Result<Self, DestinationError> {
        if text == OFF { Ok(Self::Off) } else { Destination::try_from(text).map(Self::To) }
    }
}

impl FromStr for LogDestination {
    type Err = DestinationError;

    fn from_str(text: &str) -> Result<Self, DestinationError> {
        Self::try_from(OsString::from(text))
    }
}

/// As it is written.
impl fmt::Display for LogDestination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => f.write_str(OFF),
            Self::To(destination) => destination.fmt(f),
        }
    }
}

impl SettingValue for LogDestination {
    fn expected() -> String {
        r#""off", "-", a file, "| command" or "syslog:...", in quotes"#.to_owned()
    }

    fn schema() -> Value {
        json!({ "type": "string", "minLength": 1 })
    }

    fn suggestion(bare: &str) -> Option<String> {
        (bare == "false").then(|| format!("{OFF:?}"))
    }
}

in_settings_file!(LogDestination, "AccessLog");

/// The format of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogFormat(pub Format);

impl FromStr for LogFormat {
    type Err = FormatError;

    fn from_str(text: &str) -> Result<Self, FormatError> {
        text.parse().map(Self)
    }
}

impl fmt::Display for LogFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl SettingValue for LogFormat {
    fn expected() -> String {
        r#""combined", "json" or a text with variables, in quotes"#.to_owned()
    }

    fn schema() -> Value {
        json!({ "anyOf": [{ "enum": ["combined", "json"] }, { "type": "string", "pattern": r"\$" }] })
    }
}

in_settings_file!(LogFormat, "AccessLogFormat");

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

const OFF: &str = "off";
