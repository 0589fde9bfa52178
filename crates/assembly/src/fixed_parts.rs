//! The parts of a configuration that a server has from its start to its end.

use std::{
    fs,
    net::SocketAddr,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use serow_access_log::LogRules;
use serow_config::{
    options::GeneralOptions, paths::resolved, site_addresses::SiteAddresses, tables::redis::RedisTable,
};
use serow_document::{Document, SettingsValues};
use serow_site::CountedRoute;

use crate::{applications::KeptApplications, descriptor_shares::Shares};

/// The parts of a configuration that a server has from its start to its end: others need another process.
#[derive(Clone, Debug, Default)]
pub struct FixedParts {
    /// The keys at the root, except for those that other settings may change.
    pub(crate) root: SettingsValues,
    /// The options of the server, with what sites add to them: listeners, names of certificates, the longest body.
    pub(crate) general: String,
    pub(crate) addresses: Vec<SocketAddr>,
    /// Bytes that bodies of requests may have.
    pub(crate) largest_body: u64,
    /// How the descriptors of the process are divided, if there are too few for all files that folders want to keep open.
    pub(crate) scarce: Option<Shares>,
    pub(crate) has_proxy: bool,
    pub(crate) has_cgi: bool,
    pub(crate) logs: LogRules,
    pub(crate) counted_routes: Option<Vec<CountedRoute>>,
    /// The rules of the access log about clients, as text.
    pub(crate) clients: String,
    /// Files that are read once: their identities and times.
    pub(crate) files: Vec<(PathBuf, Option<FileStamp>)>,
    /// Whether there are parts that ask other servers in threads of their own: identity providers, issuers of keys.
    pub(crate) asks_providers: bool,
    /// The applications, which processes of this server run.
    pub(crate) applications: KeptApplications,
    /// The limits, and the maps that their keys may name, if other servers share them, as text.
    pub(crate) shared_limits: String,
    /// Whether the attempts on servers are noted.
    pub(crate) notes_attempts: bool,
}

/// Tells a version of a file from others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileStamp {
    device: u64,
    inode: u64,
    size: u64,
    seconds: i64,
    nanoseconds: i64,
}

impl FixedParts {
    /// Why a server with these parts cannot adopt a configuration with others; none if it can.
    pub fn reason_for_process(&self, others: &Self) -> Option<String> {
        if let Some(key) = self.root.first_difference(&others.root) {
            return Some(format!("`{key}` has another value"));
        }
        let reasons = [
            (!self.applications.are_those_of(&others.applications), "applications start again"),
            (self.asks_providers || others.asks_providers, "there are logins, or tokens whose keys are fetched"),
            (self.addresses != others.addresses, "sites have other addresses in `listen`"),
            (self.largest_body != others.largest_body, "the largest `max-body` is larger than that of the server"),
            (self.general != others.general, "sites need other settings of the whole server"),
            (
                self.has_cgi != others.has_cgi,
                "the first CGI program needs other rights, and so does a server without any",
            ),
            (self.scarce != others.scarce, "the limit of open files is divided in another way"),
            (self.has_proxy != others.has_proxy, "connections to servers need their part of the limit of open files"),
            (self.logs != others.logs, "there are other access logs, or other routes with logs of their own"),
            (self.counted_routes != others.counted_routes, "there are other routes for `route-metrics`"),
            (self.clients != others.clients, "other routes have `trust`, or name clients in the access log"),
            (self.notes_attempts != others.notes_attempts, "attempts on servers are noted from now on, or no longer"),
            (self.shared_limits != others.shared_limits, "there are other limits to share with servers"),
            (self.files != others.files, "a file that is read at the start has changed"),
        ];
        reasons.into_iter().find(|(is_other, _)| *is_other).map(|(_, why)| why.to_owned())
    }
}

/// The values at the root that only another process can have.
pub(crate) fn root_values(document: &Document<'_>) -> SettingsValues {
    SettingsValues::without(document, &ADOPTED_KEYS)
}

/// The addresses of single sites.
pub(crate) fn addresses(addresses: &SiteAddresses) -> Vec<SocketAddr> {
    [&addresses.own[..], &addresses.of_root].concat()
}

/// The options of the server as text.
pub(crate) fn general(options: &GeneralOptions) -> String {
    format!("{options:?}")
}

/// The files that are read once, with their present stamps.
pub(crate) fn files(
    redis: Option<&RedisTable>,
    options: &GeneralOptions,
    folder: &Path,
) -> Vec<(PathBuf, Option<FileStamp>)> {
    let of_redis = redis.into_iter().flat_map(|table| table.settings.password_file.iter().chain(&table.settings.ca));
    let paths = of_redis.chain(&options.admin.admin_token_file).map(|path| resolved(path, folder));
    paths.map(|path| (path.clone(), FileStamp::of(&path))).collect()
}

impl FileStamp {
    fn of(path: &Path) -> Option<Self> {
        let metadata = fs::metadata(path).ok()?;
        Some(Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.size(),
            seconds: metadata.mtime(),
            nanoseconds: metadata.mtime_nsec(),
        })
    }
}

/// The keys at the root of what is exchanged while the server serves.
const ADOPTED_KEYS: [&str; 5] = ["include", "limit", "map", "site", "upstream"];
