//! Which files of a folder are served, and how.

use clap::{Args, ValueEnum};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Switch, without_options};
use serow_document::values::{Codings, Count, MediaTypeRule, RewriteRule, Size, Unquoted, choice};

/// Which files of a folder are served, and how.
#[derive(Clone, Debug, Args, Deserialize, Serialize, JsonSchema)]
#[serde(default = "without_options::<ContentOptions>", rename_all = "kebab-case")]
#[command(next_help_heading = "Content")]
pub struct ContentOptions {
    /// Index file of a folder (repeatable: the first that exists is served).
    #[arg(long, value_name = "NAME", default_value = "index.html")]
    pub index: Vec<String>,

    /// Endings to try, in order, where a path names no file: with .html, /about is about.html (repeatable) [default: none]
    ///
    /// As nginx's try_files $uri $uri.html.
    #[arg(long, value_name = "ENDING")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub extensions: Vec<String>,

    /// Whether to list the contents of a folder that has no index file.
    ///
    /// on: as an HTML page, or as JSON for clients that prefer it (Accept: application/json, or ?format=json). html
    /// or json: always in this format.
    #[arg(long, value_name = "on|off|html|json", default_value = "on", hide_possible_values = true)]
    pub listing: ListingChoice,

    /// Maximum number of entries in a listing.
    #[arg(long, value_name = "N", default_value = "10000")]
    pub listing_limit: Count<1, 1_000_000>,

    /// Serve and list files whose names begin with a dot (.well-known is always served).
    #[arg(long)]
    pub hidden: bool,

    /// Serve and list source code and private keys: .php, .phtml, .phar, .inc, .env, .pem, .key, id_rsa and the like.
    ///
    /// Without it they answer 404, also as backups such as wp-config.php.bak. A media type for one of these endings serves
    /// its files as well: --type pem=application/x-pem-file. With --write, all files are served.
    #[arg(long)]
    pub sensitive: bool,

    /// Which symbolic links are followed: those that stay within the folder, those whose target has the same owner, all,
    /// or none.
    ///
    /// owner and all follow links that leave the folder, as nginx does: Capistrano's public/system, Laravel's
    /// public/storage. They cannot be combined with --write.
    #[arg(long, value_name = "within|owner|all|none", default_value = "within", hide_possible_values = true)]
    pub symlinks: SymlinksChoice,

    /// Fallback file for missing pages: the start page of a single-page application.
    ///
    /// It is sent with status 200 to clients that request a page. Missing scripts, styles and images still receive
    /// 404.
    #[arg(long, value_name = "FILE")]
    pub spa: Option<String>,

    /// File in the folder to send with status 404 when the requested file does not exist.
    #[arg(long, value_name = "FILE")]
    pub not_found: Option<String>,

    /// Serve a path from another one, without a redirect (repeatable: the first match applies).
    ///
    /// Each * matches any text and is inserted in the same position on the right: '/icon/*=/static/icon/*.png'.
    #[arg(long, value_name = "FROM=TO")]
    pub rewrite: Vec<RewriteRule>,

    /// Media type of a file extension, such as md=text/markdown (repeatable).
    #[arg(long = "type", value_name = "EXT=TYPE")]
    #[serde(rename = "type")]
    pub media_type: Vec<MediaTypeRule>,

    /// Media type of files with an unknown extension.
    #[arg(long, value_name = "TYPE", default_value = "application/octet-stream")]
    pub default_type: String,

    /// Whether to send site.css.br, .zst or .gz instead of site.css to clients that accept them.
    ///
    /// A compressed file must be at least as new as the original, so that a stale one is never served. br,gzip: only
    /// these encodings, and the first one if the client has no preference; on means br,zstd,gzip.
    #[arg(long, value_name = "on|off|CODINGS", default_value = "on")]
    pub precompressed: Codings,

    /// Whether to compress text on the fly with zstd, br or gzip, as the client prefers.
    ///
    /// br,gzip: only these encodings, and the first one if the client has no preference; on means zstd,br,gzip.
    #[arg(long, value_name = "on|off|CODINGS", default_value = "on")]
    pub compress: Codings,

    /// Minimum size of files to compress.
    #[arg(long, value_name = "SIZE", default_value = "1k")]
    pub compress_smallest: Size,

    /// Maximum size of files to compress; 64M takes one core about a second.
    #[arg(long, value_name = "SIZE", default_value = "64M")]
    pub compress_largest: Size,

    /// Whether clients may change the folder: form, put or dav.
    ///
    /// form: the listing has a form by which people upload new files; nothing is replaced or deleted. put: clients may
    /// upload, replace and delete files. dav: all of WebDAV. Everybody who can connect may then do so: restrict who can.
    /// Uploads may have any size, unless --max-body limits it.
    #[arg(long, value_name = "off|form|put|dav", default_value = "off", hide_possible_values = true)]
    pub write: WriteChoice,

    /// How many bytes the files of the folder may have together, with --write; further uploads get 507 [default: no limit]
    ///
    /// The files are counted at the first request, and what clients change is kept in the balance. Changes by others are
    /// noticed after a restart or reload.
    #[arg(long, value_name = "SIZE")]
    pub quota: Option<Size>,

    /// Whether to send large files with sendfile, which avoids copies.
    ///
    /// Turn it off if large files are overwritten in place while clients download them.
    #[arg(long, value_name = "on|off", default_value = "on", hide_possible_values = true)]
    pub sendfile: Switch,
}

/// Whether and in which format folders are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ListingChoice {
    /// In the format that the client prefers.
    #[value(help = None)]
    On,
    /// Never.
    #[value(help = None)]
    Off,
    /// As an HTML page.
    #[value(help = None)]
    Html,
    /// As JSON.
    #[value(help = None)]
    Json,
}

/// Which symbolic links are followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SymlinksChoice {
    /// Those that stay within the folder.
    #[value(help = None)]
    Within,
    /// Those whose target has the owner of the link, wherever it is.
    #[value(help = None)]
    Owner,
    /// All, wherever they lead.
    #[value(help = None)]
    All,
    /// None.
    #[value(help = None)]
    None,
}

/// Whether clients may change the files of a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum WriteChoice {
    /// They may only read.
    #[value(help = None)]
    Off,
    /// PUT of new files, by a form in the listing.
    #[value(help = None)]
    Form,
    /// PUT and DELETE.
    #[value(help = None)]
    Put,
    /// WebDAV.
    #[value(help = None)]
    Dav,
}

impl WriteChoice {
    /// Whether clients may change files.
    pub fn is_on(self) -> bool {
        self != Self::Off
    }
}

choice!(WriteChoice, "Write");
choice!(ListingChoice, "Listing", Unquoted::Switches);
choice!(SymlinksChoice, "Symlinks");
