//! Lines of the log about requests that are refused: by sites without a route for them, and because of an address.

use std::{
    collections::BTreeSet,
    net::IpAddr,
    sync::{Mutex, PoisonError},
};

use serow_gateway::{LogLimit, RequestSummary};
use serow_message::Request;

/// Logs a refusal: the first of a site as a warning, and then for those who want to know everything.
pub fn log_refusal(site: &str, request: &Request, cause: impl FnOnce() -> String) {
    static LIMIT: LogLimit = LogLimit::new();
    static TOLD: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    // Before the lock: a flood of requests does not wait for it.
    let Some(suppressed) = LIMIT.admit_now() else { return };
    let summary = RequestSummary { method: request.method.clone(), target: request.target.clone() };
    let is_first = TOLD.lock().unwrap_or_else(PoisonError::into_inner).insert(site.to_owned());
    let more = match (suppressed.0, is_first && !tracing::enabled!(tracing::Level::INFO)) {
        (0, false) => String::new(),
        (0, true) => "; log-level = \"info\" logs the next ones, too".to_owned(),
        (_, _) => format!("; {suppressed} more requests before"),
    };
    match is_first {
        true => tracing::warn!("{summary}: {}{more}", cause()),
        false => tracing::info!("{summary}: {}{more}", cause()),
    }
}

/// Logs that the address of a client is not allowed.
#[cold]
pub(crate) fn log_address(client: Option<IpAddr>, request: &Request) {
    log_refusal("addresses", request, || match client {
        Some(client) => format!("403, since `allow` and `deny` refuse the address {client}"),
        None => "403, since `allow` and `deny` refuse clients without an address".to_owned(),
    });
}
