//! Warnings about requests to a server.

use std::fmt::Arguments;

use serow_net::Moment;

use crate::server::Server;

/// Logs a warning about a request to a server, or counts it where there were too many in this second.
pub(crate) fn warn_of_server(upstream: &str, server: &Server, now: Moment, message: Arguments<'_>) {
    if let Some(suppressed) = server.warnings.admit(now) {
        if suppressed.0 > 0 {
            tracing::warn!(upstream, server = server.name(), "and {suppressed} more warnings before");
        }
        tracing::warn!(upstream, server = server.name(), "{message}");
    }
}
