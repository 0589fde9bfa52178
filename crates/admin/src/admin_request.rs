//! The requests of the client of an admin endpoint.

use std::time::Duration;

use serow::{Headers, KnownHeader, Method, RequestHead, Target, Version};
use serow_config::AddedFileName;
use serow_supervisor::master::WantedProcess;

use super::{added_settings::Precondition, cache_inquiry::CacheInquiry};

/// A request of the client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum AdminRequest {
    Status,
    Cache(CacheInquiry),
    Reload(WantedProcess),
    Stop,
    /// A command for a server of an upstream, in JSON.
    Server(String),
    /// A command for a certificate, in JSON.
    Certificate(String),
    /// A command for bans, in JSON.
    Ban(String),
    /// A command for maintenance, in JSON.
    Maintenance(String),
    /// A command for the cache, in JSON.
    Purge(String),
    /// List the added settings files.
    ListFiles,
    /// Send an added settings file.
    GetFile(AddedFileName),
    /// Add or replace a settings file.
    PutFile {
        /// Its name.
        name: AddedFileName,
        /// Its new text.
        text: String,
        /// The version that it replaces.
        precondition: Precondition,
    },
    /// Remove an added settings file.
    DeleteFile {
        /// Its name.
        name: AddedFileName,
        /// The version that it removes.
        precondition: Precondition,
    },
}

impl AdminRequest {
    pub(super) fn head(&self, token: Option<&str>, is_for_fleet: bool) -> RequestHead {
        let mut headers = Headers::new();
        let mut set = |name, value: &str| {
            // Constants of this file are valid values; a token or a version that is not one cannot be right anyway.
            let _ = headers.insert(name, value);
        };
        set(KnownHeader::Host, "localhost");
        if let Some(token) = token {
            set(KnownHeader::Authorization, &format!("Bearer {token}"));
        }
        if let Self::PutFile { .. } = self {
            set(KnownHeader::ContentType, "application/toml");
        }
        if let Self::PutFile { precondition, .. } | Self::DeleteFile { precondition, .. } = self {
            match precondition {
                Precondition::None => {}
                Precondition::Absent => set(KnownHeader::IfNoneMatch, "*"),
                Precondition::Present => set(KnownHeader::IfMatch, "*"),
                Precondition::Version(etags) => set(KnownHeader::IfMatch, &etags.join(", ")),
            }
        }
        let (method, mut path) = self.target();
        if is_for_fleet && self.can_be_for_fleet() {
            path.push_str("?fleet");
        }
        let target = Target::parse(path.into(), false).unwrap_or_default();
        RequestHead { method, target, version: Version::HTTP_11, headers }
    }

    /// Whether it can be meant for all servers of a fleet.
    pub(super) fn can_be_for_fleet(&self) -> bool {
        matches!(
            self,
            Self::Server(_)
                | Self::Ban(_)
                | Self::Maintenance(_)
                | Self::Purge(_)
                | Self::PutFile { .. }
                | Self::DeleteFile { .. }
        )
    }

    fn target(&self) -> (Method, String) {
        let (method, path) = match self {
            Self::Status => (Method::GET, "/status"),
            Self::Cache(inquiry) => (Method::GET, inquiry.path()),
            Self::Reload(WantedProcess::IfNeeded) => (Method::POST, "/reload"),
            Self::Reload(WantedProcess::New) => (Method::POST, "/reload?process=new"),
            Self::Stop => (Method::POST, "/stop"),
            Self::Server(_) => (Method::POST, "/upstreams"),
            Self::Certificate(_) => (Method::POST, "/certificates"),
            Self::Ban(_) => (Method::POST, "/bans"),
            Self::Maintenance(_) => (Method::POST, "/maintenance"),
            Self::Purge(_) => (Method::POST, "/purge"),
            Self::ListFiles => (Method::GET, "/config"),
            Self::GetFile(name) => return (Method::GET, format!("/config/{name}")),
            Self::PutFile { name, .. } => return (Method::PUT, format!("/config/{name}")),
            Self::DeleteFile { name, .. } => return (Method::DELETE, format!("/config/{name}")),
        };
        (method, path.to_owned())
    }

    /// The JSON of a command, or the text of a file; empty for requests without a body.
    pub(super) fn body(&self) -> &[u8] {
        match self {
            Self::Server(json)
            | Self::Certificate(json)
            | Self::Ban(json)
            | Self::Maintenance(json)
            | Self::Purge(json) => json.as_bytes(),
            Self::PutFile { text, .. } => text.as_bytes(),
            Self::Status
            | Self::Cache(_)
            | Self::Reload(_)
            | Self::Stop
            | Self::ListFiles
            | Self::GetFile(_)
            | Self::DeleteFile { .. } => &[],
        }
    }

    /// How long the response may take. Before one for the fleet, there may be some that came from other servers.
    pub(super) fn timeout(&self, is_for_fleet: bool) -> Duration {
        match self {
            _ if is_for_fleet && self.can_be_for_fleet() => RELOAD_TIMEOUT,
            Self::Status
            | Self::Cache(_)
            | Self::Stop
            | Self::Server(_)
            | Self::Certificate(_)
            | Self::Ban(_)
            | Self::Maintenance(_)
            | Self::Purge(_)
            | Self::ListFiles
            | Self::GetFile(_) => TIMEOUT,
            Self::Reload(_) | Self::PutFile { .. } | Self::DeleteFile { .. } => RELOAD_TIMEOUT,
        }
    }
}

/// A server that has its turn answers within milliseconds.
pub(super) const TIMEOUT: Duration = Duration::from_secs(5);

/// A generation has half a minute to adopt the settings, and another one a minute to start; the reload may have to wait
/// for one that starts already. A change of an added file reloads, too.
const RELOAD_TIMEOUT: Duration = Duration::from_secs(170);
