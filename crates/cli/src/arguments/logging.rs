//! What is logged, and where.

use std::{convert::Infallible, ffi::OsString, fmt, path::PathBuf, str::FromStr};

use clap::{Args, ValueEnum};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::without_options;
use crate::written::{Written, in_settings_file, word};

/// What is logged, and where.
#[derive(Debug, Args, Deserialize, Serialize, JsonSchema)]
#[serde(default = "without_options::<LoggingArguments>", rename_all = "kebab-case")]
#[command(next_help_heading = "Logs")]
pub(crate) struct LoggingArguments {
    /// Where a line is written for each request: off, - (standard output) or a file.
    ///
    /// A file is appended to. Lines wait a tenth of a second at most. Requests never wait for the log: where it cannot be
    /// written, or not fast enough, lines are lost and a warning says so.
    #[arg(long, value_name = "off|-|FILE", default_value = "off")]
    pub(crate) access_log: LogArgument,

    /// How such a line is written.
    ///
    /// combined is the format of nginx and Apache, with the time in UTC and \xHH for bytes that could forge a line.
    /// json is an object with time, peer, method, target, host, version, status, bytes, duration (in seconds), whole
    /// (false where the connection was cut), referer and user_agent.
    #[arg(long, value_name = "FORMAT", default_value = "combined")]
    pub(crate) access_log_format: LogFormatArgument,

    /// How much is said on standard error of what goes wrong and what happens.
    #[arg(long, value_name = "LEVEL", default_value = "warn")]
    pub(crate) log_level: LevelArgument,
}

/// Where the access log goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LogArgument {
    /// Nowhere.
    Off,
    /// To standard output.
    StandardOutput,
    /// To a file.
    File(PathBuf),
}

impl From<OsString> for LogArgument {
    fn from(text: OsString) -> Self {
        match text.to_str() {
            Some("off") => Self::Off,
            Some("-") => Self::StandardOutput,
            _ => Self::File(text.into()),
        }
    }
}

impl FromStr for LogArgument {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(Self::from(OsString::from(text)))
    }
}

impl fmt::Display for LogArgument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => f.write_str("off"),
            Self::StandardOutput => f.write_str("-"),
            Self::File(path) => path.display().fmt(f),
        }
    }
}

impl Written for LogArgument {
    fn expected() -> String {
        r#""off", "-" or a file in quotes"#.to_owned()
    }

    fn schema() -> Value {
        json!({ "type": "string", "minLength": 1 })
    }

    fn suggestion(bare: &str) -> Option<String> {
        (bare == "false").then(|| format!("{:?}", "off"))
    }
}

in_settings_file!(LogArgument, "AccessLog");

/// How a line of the access log is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[allow(missing_docs, reason = "explained at the option")]
pub(crate) enum LogFormatArgument {
    Combined,
    Json,
}

/// The least important thing that is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[allow(missing_docs, reason = "everybody knows them")]
pub(crate) enum LevelArgument {
    Off,
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

word!(LogFormatArgument, "AccessLogFormat");
word!(LevelArgument, "Level");
