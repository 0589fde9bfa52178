//! No timeout is early, and none is late.

use std::time::Duration;

use super::Case;
use crate::plan::{Conduct, Fault, Place, Version};

/// Checks the timeouts that this request meets, where nothing else delays it.
pub(super) fn check(case: &Case<'_>, violations: &mut Vec<String>) {
    let client = &case.plan.clients[case.request.id.client];
    let is_ideal = client.link.delay.is_zero() && client.link.rate.is_none() && case.plan.stop.is_none();
    let Some((_, end)) = case.requested.end else { return };
    let settings = &case.plan.settings;
    if case.request.conduct == Conduct::Orderly
        && case.requested.received.status == Some(504)
        && settings.total_timeout.is_none()
        && let Some(seen) = case.seen.last()
        && case.request.answer(seen.attempt).fault == Fault::Hangs
    {
        // A server may read a request some time after it was sent.
        let time = end.saturating_sub(case.requested.began.unwrap_or_default());
        if time < settings.response_timeout {
            violations.push(format!("504 after {time:?}, early"));
        }
        // Behind a body or in a queue of the connection, the response may come later.
        let is_alone = case.request.body.is_none() && client.version == Version::Http2 && is_ideal;
        if is_alone && case.request.place == Place::Proxied && end > seen.at + settings.response_timeout + LATE {
            violations.push(format!("504 after {:?}, late", end - seen.at));
        }
    }
    if let (Conduct::StallsInHead(_), Some(began), true) = (case.request.conduct, case.requested.began, is_ideal) {
        let time = end.saturating_sub(began);
        if time < settings.head_timeout {
            violations.push(format!("the timeout of a head ends it after {time:?}, early"));
        }
        if time > settings.head_timeout + LATE && !case.request.is_pipelined {
            violations.push(format!("the timeout of a head ends it after {time:?}, late"));
        }
    }
}

/// One tick of the server's timers.
const LATE: Duration = Duration::from_millis(510);
