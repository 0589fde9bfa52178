//! The text that a server of a fleet tells the others about itself.

use std::sync::{Mutex, PoisonError};

use serde_json::json;
use serow::Status;
use serow_fleet::JournalCounts;
use serow_net::monotonic;

/// Writes reports of the server with this status, for all servers of its fleet.
pub(super) fn own_report(name: Option<&str>, status: Status) -> super::Report {
    let name = name.map_or_else(|| rustix::system::uname().nodename().to_string_lossy().into_owned(), str::to_owned);
    let before = Mutex::new((monotonic(), requests(&status), 0.0));
    Box::new(move |counts: &JournalCounts| {
        let mut before = before.lock().unwrap_or_else(PoisonError::into_inner);
        let (now, count) = (monotonic(), requests(&status));
        let seconds = now.saturating_sub(before.0).as_secs_f64();
        // Of a whole second at least: the first reports come one after the other.
        if seconds >= 1.0 {
            *before = (now, count, count.saturating_sub(before.1) as f64 / seconds);
        }
        let refusal =
            counts.last_refusal.as_ref().map(|(subject, reason)| beginning(&format!("{subject}: {reason}"), 200));
        json!({
            "name": beginning(&name, 64),
            "version": env!("CARGO_PKG_VERSION"),
            "requests_per_second": (before.2 * 10.0).round() / 10.0,
            "commands": counts.entries,
            "behind": counts.behind,
            "unsent": counts.unsent,
            "refused": counts.refused,
            "last_refusal": refusal,
        })
        .to_string()
    })
}

fn requests(status: &Status) -> u64 {
    status.report().requests.total
}

fn beginning(text: &str, most: usize) -> String {
    text.chars().take(most).collect()
}
