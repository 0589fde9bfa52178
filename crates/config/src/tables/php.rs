//! A folder of PHP scripts, as it is written.

use std::{collections::BTreeMap, path::PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    options::{ApplicationOptions, CachingOptions, SymlinksChoice, without_options},
    tables::{FromTable, TableReading},
    values::{Count, MediaTypeRule, NetworkRule, ServerRule, Size, Span, Texts, Variable},
};

/// A folder of PHP scripts.
#[derive(Debug)]
pub struct PhpTable {
    /// Its own keys.
    pub settings: PhpSettings,
    /// How requests reach the scripts.
    pub requests: PhpRequestSettings,
    /// The processes that Serow starts, if it does.
    pub processes: PhpProcessSettings,
    /// How open files and responses are cached.
    pub caching: CachingOptions,
}

/// The folder, its scripts, and the php-fpm that runs them.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[allow(rustdoc::broken_intra_doc_links, reason = "the text is for readers of the file: `[[upstream]]` is a table")]
pub struct PhpSettings {
    /// Folder of the scripts and of the other files of the site. For Laravel and Symfony, it is `public`.
    pub root: PathBuf,

    /// The php-fpm that runs the scripts: unix:/run/php/php8.2-fpm.sock or 127.0.0.1:9000 (one, or several in an array)
    /// [default: Serow starts one]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub servers: Vec<ServerRule>,

    /// Name of an [[upstream]] with protocol = "fastcgi", in place of `servers`.
    #[serde(default)]
    pub upstream: Option<String>,

    /// Files that answer for a folder: the first that exists. Those that end in .php run, others are sent.
    #[serde(default = "index")]
    pub index: Vec<String>,

    /// Script that answers requests for which there is neither a script nor a file; "off" answers 404 [default: index.php,
    /// if the folder has it]
    ///
    /// WordPress, Laravel, Symfony and most applications of today have their addresses from it.
    #[serde(default)]
    pub front_controller: Option<String>,

    /// Scripts that requests may run: "/index.php", "/admin/*" (one, or several in an array) [default: all]
    ///
    /// Others are answered with 404, although scripts can include them.
    #[serde(default)]
    pub entry_points: Option<Texts>,

    /// Paths whose scripts never run: "/wp-content/uploads/*" (one, or several in an array). Letter case does not matter.
    ///
    /// Write here each folder to which visitors upload files.
    #[serde(default)]
    pub no_scripts: Option<Texts>,

    /// Paths that are answered with 404, whether they are scripts or files: "/data/*" (one, or several in an array). Letter
    /// case does not matter.
    #[serde(default)]
    pub hidden: Option<Texts>,

    /// The application, from which `entry-points`, `no-scripts`, `hidden` and `front-controller` follow where they are not
    /// written: auto, none, or one of wordpress, nextcloud, mediawiki, phpmyadmin, dokuwiki, roundcube, drupal and
    /// public-index [default: auto, which recognises it by its files]
    #[serde(default)]
    pub preset: Option<String>,

    /// The folder as php-fpm sees it, if that is another path, as in a container: /var/www/html [default: `root`, without
    /// symbolic links]
    #[serde(default)]
    pub root_in_php: Option<String>,

    /// Variables of scripts in addition to those of the request: { APP_ENV = "production" }. Values can have variables, as in
    /// "$host".
    ///
    /// They are those that fastcgi_param sets in nginx.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub variables: BTreeMap<String, String>,

    /// Symbolic links in the folder: within, owner, all or none, as in `files`.
    #[serde(default = "within")]
    pub symlinks: SymlinksChoice,

    /// Media types of files by their ending, as in `files`: md=text/markdown.
    #[serde(default, rename = "type")]
    pub media_type: Vec<MediaTypeRule>,

    /// File sent with the status 404, if no front controller answers.
    #[serde(default)]
    pub not_found: Option<String>,
}

/// How requests are passed on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct PhpRequestSettings {
    /// Time limit until the first byte of a response; a slower response becomes 504 [default: `response-timeout` of the
    /// upstream, 60s]
    pub response_timeout: Option<Span>,

    /// Time limit between two parts of a response [default: `transfer-timeout` of the upstream, 60s]
    pub transfer_timeout: Option<Span>,

    /// Time limit for the whole request, including the time in the queue [default: none]
    pub total_timeout: Option<Span>,

    /// Trusted proxies for these requests, in place of those of the root [default: `trust` at the root]
    ///
    /// REMOTE_ADDR and HTTPS describe the client that they name.
    pub trust: Option<Vec<NetworkRule>>,

    /// Whether responses with X-Accel-Redirect or X-Sendfile are replaced by what an internal route of the site responds
    /// [default: false]
    pub accel_redirect: Option<bool>,
}

/// How the php-fpm is run that Serow starts, where there is no other one.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct PhpProcessSettings {
    /// Processes that run scripts, at least 2 [default: twice the processors, 4 to 16]
    pub processes: Option<Count<2, 1024>>,

    /// Values of php.ini: { memory_limit = "256M" }.
    pub ini: BTreeMap<String, String>,

    /// Environment variables of the scripts, as in ["APP_ENV=prod"].
    pub env: Vec<Variable>,

    /// The program php-fpm: its name or its path [default: php-fpm, or the newest one that is installed]
    pub interpreter: Option<String>,

    /// Time limit for the start of php-fpm.
    pub start_timeout: Span,

    /// Requests that may wait while all processes are busy; further ones receive 503.
    pub queue: Count<0, 0xffff_ffff>,

    /// How long a request may wait for a process; after that it receives 503 with Retry-After.
    pub queue_timeout: Span,

    /// Replace a process after this many requests [default: never]
    pub max_requests: Option<Count<1, 0xffff_ffff>>,

    /// Replace a process after a random number of requests between this and `max-requests`.
    pub min_requests: Option<Count<1, 0xffff_ffff>>,

    /// Replace a process after the current request if it uses more memory than this, without the memory that all processes share
    /// [default: no limit]
    pub memory_limit: Option<Size>,

    /// Development mode: browsers see the errors of scripts, and changed files are used at once.
    pub dev: bool,
}

impl Default for PhpProcessSettings {
    fn default() -> Self {
        let ApplicationOptions { start_timeout, queue, queue_timeout, .. } = without_options();
        Self {
            processes: None,
            ini: BTreeMap::new(),
            env: Vec::new(),
            interpreter: None,
            start_timeout,
            queue,
            queue_timeout,
            max_requests: None,
            min_requests: None,
            memory_limit: None,
            dev: false,
        }
    }
}

impl PhpProcessSettings {
    /// Whether nothing is written.
    pub fn is_usual(&self) -> bool {
        *self == Self::default()
    }

    /// The options of an application that say the same.
    pub fn into_options(self) -> ApplicationOptions {
        ApplicationOptions {
            processes: self.processes.map(|count| Count::of(count.get())),
            ini: self.ini.into_iter().map(|(name, value)| Variable { name, value }).collect(),
            env: self.env,
            interpreter: self.interpreter,
            start_timeout: self.start_timeout,
            queue: self.queue,
            queue_timeout: self.queue_timeout,
            max_requests: self.max_requests,
            min_requests: self.min_requests,
            memory_limit: self.memory_limit,
            dev: self.dev,
            ..without_options()
        }
    }
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
            hidden: None,
            preset: None,
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
        let (settings, requests) = (table.settings(), table.settings());
        let (processes, caching) = (table.settings(), table.settings());
        Some(Self { settings: settings?, requests: requests?, processes: processes?, caching: caching? })
    }
}
