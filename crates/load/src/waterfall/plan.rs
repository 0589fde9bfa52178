//! How resources are fetched.

use std::time::Duration;

use http::Version;
use serow_client::{Dialer, Origin};

use super::ResourceSpec;

/// The plan of a recording: the resources to fetch, and how.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The server, as the URLs name it.
    pub origin: Origin,
    /// How the connection is opened. It has to speak `version`.
    pub dialer: Dialer,
    /// The version of HTTP: 2 or 3.
    pub version: Version,
    /// The resources to request; those that are due at the same moment, in this order.
    pub specs: Vec<ResourceSpec>,
    /// Header fields of all requests, beside those that follow from the spec.
    pub headers: Vec<(String, String)>,
    /// The signals of priorities.
    pub signals: Signals,
    /// For how long nothing may come of what was asked for.
    pub timeout: Duration,
}

/// The signals of priorities.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Signals {
    /// The header field `priority`, and PRIORITY_UPDATE for what changes.
    #[default]
    Rfc9218,
    /// A tree of streams, as Chromium builds it, for servers that know no other. It cannot say what changes.
    Rfc7540,
}

impl Signals {
    /// As people write it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Rfc9218 => "RFC 9218",
            Self::Rfc7540 => "RFC 7540",
        }
    }
}
