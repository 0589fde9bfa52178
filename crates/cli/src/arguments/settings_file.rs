//! The settings file.

use std::path::PathBuf;

use clap::Args;

/// The settings file of commands that name none: in the current folder.
pub(crate) const DEFAULT_SETTINGS_FILE: &str = "serow.toml";

/// The settings file.
#[derive(Debug, Args)]
pub(crate) struct SettingsFileArguments {
    /// Settings file; paths in it are relative to its folder.
    #[arg(short = 'c', long = "config", value_name = "FILE", default_value = DEFAULT_SETTINGS_FILE)]
    pub(crate) file: PathBuf,
}

/// The options of `serow check`.
#[derive(Debug, Args)]
pub(crate) struct CheckArguments {
    #[command(flatten)]
    pub(crate) settings: SettingsFileArguments,

    /// Print the settings in effect that differ from the defaults, each in its shortest form.
    #[arg(long)]
    pub(crate) explain: bool,

    /// Say what would become of this request, in place of checking: `GET /static/a.css`, `GET https://example.com/`.
    ///
    /// Site, route, access and content are named in the order of a request, and the file that would be sent. Serow starts
    /// nothing, runs no script, and asks no other server. The client is on this machine; without a host in the
    /// request or in --header, the host is the first one of the settings.
    #[arg(long, value_name = "REQUEST", conflicts_with_all = ["explain", "script_test"])]
    pub(crate) request: Option<String>,

    /// Header field of that request (repeatable): 'Cookie: beta=1'.
    #[arg(long, value_name = "FIELD", requires = "request")]
    pub(crate) header: Vec<String>,

    /// Run the cases of this test of a script, in place of checking a settings file; can be repeated.
    ///
    /// A case is a request and what is expected of the response; docs/scripts.md shows how a test is written.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["file", "explain"])]
    pub(crate) script_test: Vec<PathBuf>,
}
