//! A folder of PHP scripts, as it is written.

use std::{collections::BTreeMap, path::PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    tables::{FromTable, TableReading, texts::Texts},
    values::{MediaTypeRule, NetworkRule, ServerRule, Span},
};
use serow_settings::options::{CachingOptions, SymlinksChoice};

/// A folder of PHP scripts.
#[derive(Debug)]
pub(crate) struct PhpTable {
    pub(crate) settings: PhpSettings,
    pub(crate) requests: PhpRequestSettings,
    pub(crate) caching: CachingOptions,
}

/// The folder, its scripts, and the php-fpm that runs them.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[allow(rustdoc::broken_intra_doc_links, reason = "the text is for readers of the file: `[[upstream]]` is a table")]
pub(crate) struct PhpSettings {
    /// Folder of the scripts and of the other files of the site. For Laravel and Symfony, it is `public`.
    pub(crate) root: PathBuf,

    /// The php-fpm that runs the scripts: unix:/run/php/php8.2-fpm.sock or 127.0.0.1:9000 (one, or several in an array).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) servers: Vec<ServerRule>,

    /// Name of an [[upstream]] with protocol = "fastcgi", in place of `servers`.
    #[serde(default)]
    pub(crate) upstream: Option<String>,

    /// Files that answer for a folder: the first that exists. Those that end in .php run, others are sent.
    #[serde(default = "index")]
    pub(crate) index: Vec<String>,

    /// Script that answers requests for which there is neither a script nor a file; "off" answers 404 [default: index.php,
    /// if the folder has it]
    ///
    /// WordPress, Laravel, Symfony and most applications of today have their addresses from it.
    #[serde(default)]
    pub(crate) front_controller: Option<String>,

    /// Scripts that requests may run: "/index.php", "/admin/*" (one, or several in an array) [default: all]
    ///
    /// Others are answered with 404, although scripts can include them.
    #[serde(default)]
    pub(crate) entry_points: Option<Texts>,

    /// Paths whose scripts never run: "/wp-content/uploads/*" (one, or several in an array). Letter case does not matter.
    ///
    /// Write here each folder to which visitors upload files.
    #[serde(default)]
    pub(crate) no_scripts: Option<Texts>,

    /// The folder as php-fpm sees it, if that is another path, as in a container: /var/www/html [default: `root`, without
    /// symbolic links]
    #[serde(default)]
    pub(crate) root_in_php: Option<String>,

    /// Variables of scripts in addition to those of the request: { APP_ENV = "production" }. Values can have variables, as in
    /// "$host".
    ///
    /// They are those that fastcgi_param sets in nginx.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) variables: BTreeMap<String, String>,

    /// Symbolic links in the folder: within, owner, all or none, as in `files`.
    #[serde(default = "within")]
    pub(crate) symlinks: SymlinksChoice,

    /// Media types of files by their ending, as in `files`: md=text/markdown.
    #[serde(default, rename = "type")]
    pub(crate) media_type: Vec<MediaTypeRule>,

    /// File sent with the status 404, if no front controller answers.
    #[serde(default)]
    pub(crate) not_found: Option<String>,
}

/// How requests are passed on.
#[derive(Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub(crate) struct PhpRequestSettings {
    /// Time limit until the first byte of a response; a slower response becomes 504 [default: `response-timeout` of the
    /// upstream, 60s]
    pub(crate) response_timeout: Option<Span>,

    /// Time limit between two parts of a response [default: `transfer-timeout` of the upstream, 60s]
    pub(crate) transfer_timeout: Option<Span>,

    /// Time limit for the whole request, including the time in the queue [default: none]
    pub(crate) total_timeout: Option<Span>,

    /// Trusted proxies for these requests, in place of those of the root [default: `trust` at the root]
    ///
    /// REMOTE_ADDR and HTTPS describe the client that they name.
    pub(crate) trust: Option<Vec<NetworkRule>>,

    /// Whether responses with X-Accel-Redirect or X-Sendfile are replaced by what an internal route of the site responds
    /// [default: false]
    pub(crate) accel_redirect: Option<bool>,
}

fn index() -> Vec<String> {
    ["index.php", "index.html"].map(str::to_owned).to_vec()
}

fn within() -> SymlinksChoice {
    SymlinksChoice::Within
}

impl Default for PhpSettings {
    fn default() -> Self {
        Self {
            root: PathBuf::new(),
            servers: Vec::new(),
            upstream: None,
            index: index(),
            front_controller: None,
            entry_points: None,
            no_scripts: None,
            root_in_php: None,
            variables: BTreeMap::new(),
            symlinks: within(),
            media_type: Vec::new(),
            not_found: None,
        }
    }
}

impl FromTable for PhpTable {
    fn read(table: &mut TableReading<'_, '_>) -> Option<Self> {
        let (settings, requests, caching) = (table.settings(), table.settings(), table.settings());
        Some(Self { settings: settings?, requests: requests?, caching: caching? })
    }
}
