//! What is served of a folder, and how.

use clap::{Args, ValueEnum};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Switch, without_options};
use crate::values::{Codings, Count, MediaTypeRule, RewriteRule, Size, Unquoted, choice};

/// What is served of a folder, and how.
#[derive(Clone, Debug, Args, Deserialize, Serialize, JsonSchema)]
#[serde(default = "without_options::<ContentOptions>", rename_all = "kebab-case")]
#[command(next_help_heading = "Content")]
pub struct ContentOptions {
    /// The file served where a folder is asked for (repeatable: the first that exists).
    #[arg(long, value_name = "NAME", default_value = "index.html")]
    pub index: Vec<String>,

    /// Whether a folder without an index file shows what is in it.
    ///
    /// on: as a page, or as json to clients that prefer it (Accept: application/json, or ?format=json). html or json:
    /// always so, whatever the client says.
    #[arg(long, value_name = "on|off|html|json", default_value = "on", hide_possible_values = true)]
    pub listing: ListingChoice,

    /// How many entries a listing shows at most.
    #[arg(long, value_name = "N", default_value = "10000")]
    pub listing_limit: Count<1, 1_000_000>,

    /// Serve and list names that begin with a dot too (.well-known always is).
    #[arg(long)]
    pub hidden: bool,

    /// Which symbolic links are followed: those that stay within the folder, or none.
    #[arg(long, value_name = "within|none", default_value = "within", hide_possible_values = true)]
    pub symlinks: SymlinksChoice,

    /// A file of the folder sent where a page is missing: the start page of a single-page application.
    ///
    /// With status 200, to clients that ask for a page. Missing scripts, styles and pictures remain missing.
    #[arg(long, value_name = "FILE")]
    pub spa: Option<String>,

    /// A file of the folder sent with status 404 where something is missing.
    #[arg(long, value_name = "FILE")]
    pub not_found: Option<String>,

    /// Serve paths from another place, unseen by the client (repeatable: the first that fits counts).
    ///
    /// Each * stands for any text, the same on both sides: '/icon/*=/static/icon/*.png'.
    #[arg(long, value_name = "FROM=TO")]
    pub rewrite: Vec<RewriteRule>,

    /// The media type of files with an ending, such as md=text/markdown (repeatable).
    #[arg(long = "type", value_name = "EXT=TYPE")]
    #[serde(rename = "type")]
    pub media_type: Vec<MediaTypeRule>,

    /// The media type of files whose ending says nothing.
    #[arg(long, value_name = "TYPE", default_value = "application/octet-stream")]
    pub default_type: String,

    /// Whether site.css.br, .zst and .gz are sent in place of site.css to clients that take them.
    ///
    /// They must be at least as new as site.css, so that a forgotten one is never served. br,gzip: only these are looked
    /// for, and the first is sent where the client likes both alike; on means br,zstd,gzip.
    #[arg(long, value_name = "on|off|CODINGS", default_value = "on")]
    pub precompressed: Codings,

    /// Whether text is compressed while it is sent: zstd, br or gzip, as the client likes.
    ///
    /// br,gzip: only in these, and in the first where the client likes both alike; on means zstd,br,gzip.
    #[arg(long, value_name = "on|off|CODINGS", default_value = "on")]
    pub compress: Codings,

    /// The smallest file that is compressed.
    #[arg(long, value_name = "SIZE", default_value = "1k")]
    pub compress_smallest: Size,

    /// The largest file that is compressed; a core takes about a second for 64M.
    #[arg(long, value_name = "SIZE", default_value = "64M")]
    pub compress_largest: Size,

    /// Whether the system sends large files by itself (sendfile), which copies nothing.
    ///
    /// Turn it off where large files are rewritten in place while they are downloaded.
    #[arg(long, value_name = "on|off", default_value = "on", hide_possible_values = true)]
    pub sendfile: Switch,
}

/// Whether and as what folders are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ListingChoice {
    /// As the client likes.
    #[value(help = None)]
    On,
    /// Not at all.
    #[value(help = None)]
    Off,
    /// As a page.
    #[value(help = None)]
    Html,
    /// As json.
    #[value(help = None)]
    Json,
}

/// Which symbolic links are followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SymlinksChoice {
    /// Those that stay within the folder.
    #[value(help = None)]
    Within,
    /// None.
    #[value(help = None)]
    None,
}

choice!(ListingChoice, "Listing", Unquoted::Switches);
choice!(SymlinksChoice, "Symlinks");
