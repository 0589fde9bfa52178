//! The header field Cache-Status (RFC 9211), which says what the cache did with a request.

use core::fmt;
use std::string::{String, ToString};

use crate::{StatusCode, content::decimal};

/// The outcome of a request in the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheStatus {
    /// A stored response was sent, which will be fresh for so many seconds.
    Hit {
        /// Seconds for which it is fresh; negative if it is stale.
        ttl: i64,
        /// Whether it is fresh.
        state: HitState,
    },
    /// The request was forwarded.
    Forwarded {
        /// Why.
        reason: ForwardReason,
        /// The status of the origin's response, if the client gets another one.
        status: Option<StatusCode>,
        /// Whether the response is stored.
        is_stored: bool,
        /// Whether the request waited for one that had been sent.
        is_collapsed: bool,
    },
    /// The request was not to be forwarded, and nothing is stored that may be sent.
    OnlyIfCached,
}

/// Whether a stored response that was sent is fresh: its seconds do not tell, since they are rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HitState {
    /// It is.
    Fresh,
    /// It is stale; this request has it validated, if anybody does.
    Stale,
    /// It is stale, and an earlier request has it validated.
    Updating,
}

/// Why a request was forwarded (RFC 9211 §2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForwardReason {
    /// The cache does not handle such requests.
    Bypass,
    /// The method.
    Method,
    /// Nothing is stored for the URI.
    UriMiss,
    /// The stored responses do not match the request's fields.
    VaryMiss,
    /// The stored response is a part that does not contain all that the request wants.
    Partial,
    /// The request wants a newer response.
    Request,
    /// The stored response is stale.
    Stale,
}

impl CacheStatus {
    /// A request that was forwarded for this reason, and whose response is not stored.
    #[must_use]
    pub const fn forwarded(reason: ForwardReason) -> Self {
        Self::Forwarded { reason, status: None, is_stored: false, is_collapsed: false }
    }

    /// nginx's word for it, in the variable `$upstream_cache_status`.
    #[must_use]
    pub const fn nginx_word(&self) -> &'static str {
        match self {
            Self::Hit { state: HitState::Fresh, .. } => "HIT",
            Self::Hit { state: HitState::Updating, .. } => "UPDATING",
            Self::Hit { state: HitState::Stale, .. } => "STALE",
            // nginx lets such requests wait for the stored response.
            Self::Forwarded { is_collapsed: true, .. } => "HIT",
            Self::Forwarded { status: Some(StatusCode::NOT_MODIFIED), .. } => "REVALIDATED",
            // In place of an error.
            Self::Forwarded { status: Some(_), .. } => "STALE",
            Self::Forwarded { reason, .. } => match reason {
                ForwardReason::Bypass | ForwardReason::Method | ForwardReason::Request => "BYPASS",
                ForwardReason::UriMiss | ForwardReason::VaryMiss | ForwardReason::Partial => "MISS",
                ForwardReason::Stale => "EXPIRED",
            },
            Self::OnlyIfCached => "MISS",
        }
    }

    /// The value of the field, without the parameters that some settings add. (A hit's is made without the machinery of
    /// formatting: it is a tenth of what the cache does for a hit.)
    #[must_use]
    pub fn value(&self) -> String {
        let Self::Hit { ttl, .. } = self else { return self.to_string() };
        let mut digits = [0; 20];
        let sign = if *ttl < 0 { "-" } else { "" };
        let number = core::str::from_utf8(decimal(ttl.unsigned_abs(), &mut digits)).unwrap_or_default();
        [NAME, "; hit; ttl=", sign, number].concat()
    }
}

/// The value of the field: a member of a list of structured fields (RFC 9211 §2).
impl fmt::Display for CacheStatus {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hit { .. } => formatter.write_str(&self.value()),
            Self::Forwarded { reason, status, is_stored, is_collapsed } => {
                write!(formatter, "{NAME}; fwd={reason}")?;
                if let Some(status) = status {
                    write!(formatter, "; fwd-status={}", status.as_str())?;
                }
                formatter.write_str(if *is_stored { "; stored" } else { "" })?;
                formatter.write_str(if *is_collapsed { "; collapsed" } else { "" })
            }
            Self::OnlyIfCached => write!(formatter, "{NAME}; detail=only-if-cached"),
        }
    }
}

impl fmt::Display for ForwardReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Bypass => "bypass",
            Self::Method => "method",
            Self::UriMiss => "uri-miss",
            Self::VaryMiss => "vary-miss",
            Self::Partial => "partial",
            Self::Request => "request",
            Self::Stale => "stale",
        })
    }
}

/// The name of this cache.
const NAME: &str = "Serow";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_the_field() {
        let stale = |status, is_stored, is_collapsed| CacheStatus::Forwarded {
            reason: ForwardReason::Stale,
            status,
            is_stored,
            is_collapsed,
        };
        let unmodified = Some(StatusCode::NOT_MODIFIED);
        for (status, text, word) in [
            (CacheStatus::Hit { ttl: 30, state: HitState::Fresh }, "Serow; hit; ttl=30", "HIT"),
            (CacheStatus::Hit { ttl: -3, state: HitState::Stale }, "Serow; hit; ttl=-3", "STALE"),
            (CacheStatus::Hit { ttl: -3, state: HitState::Updating }, "Serow; hit; ttl=-3", "UPDATING"),
            (CacheStatus::Hit { ttl: 0, state: HitState::Fresh }, "Serow; hit; ttl=0", "HIT"),
            (CacheStatus::forwarded(ForwardReason::UriMiss), "Serow; fwd=uri-miss", "MISS"),
            (CacheStatus::forwarded(ForwardReason::Partial), "Serow; fwd=partial", "MISS"),
            (CacheStatus::forwarded(ForwardReason::Method), "Serow; fwd=method", "BYPASS"),
            (stale(unmodified, true, true), "Serow; fwd=stale; fwd-status=304; stored; collapsed", "HIT"),
            (stale(unmodified, true, false), "Serow; fwd=stale; fwd-status=304; stored", "REVALIDATED"),
            (stale(Some(StatusCode::BAD_GATEWAY), false, false), "Serow; fwd=stale; fwd-status=502", "STALE"),
            (stale(None, true, false), "Serow; fwd=stale; stored", "EXPIRED"),
            (CacheStatus::OnlyIfCached, "Serow; detail=only-if-cached", "MISS"),
        ] {
            assert_eq!((status.to_string().as_str(), status.nginx_word()), (text, word));
            assert_eq!(status.value(), text);
        }
    }
}
