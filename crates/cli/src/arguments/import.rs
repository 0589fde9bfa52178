//! The options of `serow import`.

use std::path::PathBuf;

use clap::Args;

/// The options of `serow import`.
#[derive(Debug, Args)]
pub(crate) struct ImportArguments {
    /// The configuration of nginx: /etc/nginx/nginx.conf, or a file with `server` blocks.
    #[arg(value_name = "NGINX_CONF")]
    pub(crate) file: PathBuf,

    /// Write the settings to this file, and the report to standard output. Without it, the settings go to standard output
    /// and the report to standard error.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Folder at which relative paths in the configuration start [default: the folder of NGINX_CONF]
    #[arg(long, value_name = "DIR")]
    pub(crate) prefix: Option<PathBuf>,

    /// Only the report: write no settings.
    #[arg(long, conflicts_with = "output")]
    pub(crate) check: bool,

    /// Start nginx and Serow with the configuration on ports of this machine's loopback, an echo in the place of all other
    /// servers, send both the requests that the configuration suggests, and report how the responses differ. With -o, the
    /// settings are written before.
    #[arg(long, conflicts_with = "check")]
    pub(crate) compare: bool,

    /// The nginx for `--compare`.
    #[arg(long, value_name = "PROGRAM", default_value = "nginx", requires = "compare")]
    pub(crate) nginx: PathBuf,

    /// List all directives in the report, with those that are translated or need no line.
    #[arg(long)]
    pub(crate) all: bool,
}
