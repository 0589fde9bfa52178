//! The options of `serow config`: settings files that are added to a running server.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serow_admin::AddedFileName;

use super::{AdminClientArguments, FleetArguments};

/// The options of `serow config`.
#[derive(Debug, Args)]
#[command(disable_help_subcommand = true)]
pub(crate) struct ConfigArguments {
    #[command(subcommand)]
    pub(crate) command: ConfigSubcommand,
}

/// The subcommands of `serow config`.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigSubcommand {
    /// List the added files.
    List(ConfigListArguments),
    /// Print an added file.
    Get(ConfigGetArguments),
    /// Add a file, or replace one, and wait until its settings are in effect.
    ///
    /// A file has the tables site, upstream, map and limit, as one that 'include' names; paths in it are relative to the
    /// folder of the main settings file. If it has an error, the command prints it and the server keeps its configuration.
    Put(ConfigPutArguments),
    /// Remove an added file, and wait until the server serves without it.
    Delete(ConfigDeleteArguments),
}

/// The options of `serow config list`.
#[derive(Debug, Args)]
pub(crate) struct ConfigListArguments {
    /// Print the JSON of the admin socket, with the version of each file.
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) client: AdminClientArguments,
}

/// The options of `serow config get`.
#[derive(Debug, Args)]
pub(crate) struct ConfigGetArguments {
    /// Name of the added file.
    pub(crate) name: AddedFileName,

    #[command(flatten)]
    pub(crate) client: AdminClientArguments,
}

/// The options of `serow config put`.
#[derive(Debug, Args)]
pub(crate) struct ConfigPutArguments {
    /// Name of the added file: letters, digits, '.', '-' and '_'.
    pub(crate) name: AddedFileName,

    /// File with the settings, in TOML; - is standard input.
    pub(crate) file: PathBuf,

    /// Add the file only if there is none of this name.
    #[arg(long, conflicts_with = "etag")]
    pub(crate) new: bool,

    /// Replace only this version, which 'serow config list --json' prints as the ETag.
    #[arg(id = "etag", long = "version", value_name = "ETAG")]
    pub(crate) etag: Option<String>,

    #[command(flatten)]
    pub(crate) fleet: FleetArguments,

    #[command(flatten)]
    pub(crate) client: AdminClientArguments,
}

/// The options of `serow config delete`.
#[derive(Debug, Args)]
pub(crate) struct ConfigDeleteArguments {
    /// Name of the added file.
    pub(crate) name: AddedFileName,

    /// Remove only this version, which 'serow config list --json' prints as the ETag.
    #[arg(id = "etag", long = "version", value_name = "ETAG")]
    pub(crate) etag: Option<String>,

    #[command(flatten)]
    pub(crate) fleet: FleetArguments,

    #[command(flatten)]
    pub(crate) client: AdminClientArguments,
}
