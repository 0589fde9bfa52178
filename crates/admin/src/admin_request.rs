//! The requests of the client of an admin endpoint.

use std::time::Duration;

use serow::{Headers, KnownHeader, Method, RequestHead, Target, Version};
use serow_supervisor::master::WantedProcess;

use super::cache_inquiry::CacheInquiry;

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
}

impl AdminRequest {
    pub(super) fn head(&self, token: Option<&str>) -> RequestHead {
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
        };
        let mut headers = Headers::new();
        // A constant of this file is a valid value.
        let _ = headers.insert(KnownHeader::Host, "localhost");
        if let Some(token) = token {
            // A token that cannot be in a header field is not valid anyway.
            let _ = headers.insert(KnownHeader::Authorization, format!("Bearer {token}"));
        }
        let target = Target::parse(path.into(), false).unwrap_or_default();
        RequestHead { method, target, version: Version::HTTP_11, headers }
    }

    /// The JSON of a command; empty for requests without a body.
    pub(super) fn body(&self) -> &[u8] {
        match self {
            Self::Server(json)
            | Self::Certificate(json)
            | Self::Ban(json)
            | Self::Maintenance(json)
            | Self::Purge(json) => json.as_bytes(),
            Self::Status | Self::Cache(_) | Self::Reload(_) | Self::Stop => &[],
        }
    }

    /// How long the response may take.
    pub(super) fn timeout(&self) -> Duration {
        match self {
            Self::Status
            | Self::Cache(_)
            | Self::Stop
            | Self::Server(_)
            | Self::Certificate(_)
            | Self::Ban(_)
            | Self::Maintenance(_)
            | Self::Purge(_) => TIMEOUT,
            Self::Reload(_) => RELOAD_TIMEOUT,
        }
    }
}

/// A server that has its turn answers within milliseconds.
pub(super) const TIMEOUT: Duration = Duration::from_secs(5);

/// A generation has half a minute to adopt the settings, and another one a minute to start; the reload may have to wait for
/// one that starts already.
const RELOAD_TIMEOUT: Duration = Duration::from_secs(170);
