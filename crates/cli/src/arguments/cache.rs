//! The options of `serow cache`.

use clap::{Args, ValueEnum};

use super::AdminClientArguments;

/// The options of `serow cache`.
#[derive(Debug, Args)]
pub(crate) struct CacheArguments {
    /// Entries to list: the URLs or hosts that take the most memory, the URLs requested most, or the tags that the most
    /// responses have.
    #[arg(long, value_name = "WHAT", default_value = "largest")]
    pub(crate) by: CacheOrderChoice,

    /// Print the JSON of the admin socket.
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) client: AdminClientArguments,
}

/// By what the contents of a cache are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CacheOrderChoice {
    /// URLs.
    #[value(help = None)]
    Largest,
    /// URLs, by their requests.
    #[value(help = None)]
    Requested,
    /// Hosts.
    #[value(help = None)]
    Host,
    /// Tags.
    #[value(help = None)]
    Tag,
}
