//! No timeout is early, and none is late.

use std::time::Duration;

use super::Case;
use crate::{
    origin::has_body,
    plan::{Conduct, Fault, Place, Version},
};

/// Checks the timeouts that this request meets, where nothing else delays it.
pub(super) fn check(case: &Case<'_>, violations: &mut Vec<String>) {
    let client = &case.plan.clients[case.request.id.client];
    let is_ideal = client.link.delay.is_zero() && client.link.rate.is_none() && case.plan.stop.is_none();
    let Some((_, end)) = case.requested.end else { return };
    let settings = &case.plan.settings;
    check_silence(case, end, violations);
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

/// A client learns that the rest of a body never comes, when the server has been silent for so long.
fn check_silence(case: &Case<'_>, end: Duration, violations: &mut Vec<String>) {
    let client = &case.plan.clients[case.request.id.client];
    let Some(seen) = case.seen.last() else { return };
    let answer = case.request.answer(seen.attempt);
    let is_silent = matches!(answer.fault, Fault::HangsInBody(_)) && has_body(answer.status) && case.request.method != "HEAD";
    let is_direct = matches!(case.request.place, Place::Proxied | Place::Buffered) && client.link.rate.is_none();
    if !is_silent || !is_direct || case.request.conduct != Conduct::Orderly || case.requested.received.status.is_none() {
        return;
    }
    let silent_since = seen.at + answer.delay + answer.pause + case.request.body.map_or(Duration::ZERO, |_| BODY);
    if end > silent_since + case.plan.settings.transfer_timeout + 2 * client.link.delay + LATE {
        violations.push(format!("learns {:?} after {:?} that its server is silent", end, silent_since));
    }
}

/// The longest time that the body of a request takes.
const BODY: Duration = Duration::from_millis(600);

/// One tick of the server's timers.
const LATE: Duration = Duration::from_millis(510);
