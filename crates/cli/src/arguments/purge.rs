//! The options of `serow purge`.

use clap::{ArgGroup, Args};

use super::{AdminClientArguments, FleetArguments};

/// The options of `serow purge`.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("purged").args(["urls", "prefixes", "tags", "all"]).required(true).multiple(true))]
pub(crate) struct PurgeArguments {
    /// URLs whose responses are removed, as `https://example.com/page`; without https:// and http://, both are meant.
    #[arg(value_name = "URL")]
    pub(crate) urls: Vec<String>,

    /// Remove the responses of all URLs that begin so; a host alone stands for its whole site.
    #[arg(long = "prefix", value_name = "URL")]
    pub(crate) prefixes: Vec<String>,

    /// Remove the responses that have this tag in Surrogate-Key, xkey or Cache-Tag.
    #[arg(long = "tag", value_name = "NAME")]
    pub(crate) tags: Vec<String>,

    /// Remove all responses.
    #[arg(long)]
    pub(crate) all: bool,

    /// Make responses stale instead: they are validated before they are sent, or sent while they are validated
    /// (stale-while-revalidate), or in place of an error (stale-if-error).
    #[arg(long)]
    pub(crate) soft: bool,

    #[command(flatten)]
    pub(crate) fleet: FleetArguments,

    #[command(flatten)]
    pub(crate) client: AdminClientArguments,
}
