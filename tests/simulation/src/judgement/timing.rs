//! No timeout is early, and none is late.

use std::time::Duration;

use super::Case;
use crate::{
    observations::End,
    origin::has_body,
    plan::{Conduct, Fault, Place, Version},
};

/// Checks the timeouts that this request meets, where nothing else delays it.
pub(super) fn check(case: &Case<'_>, violations: &mut Vec<String>) {
    let client = &case.plan.clients[case.request.id.client];
    let is_ideal = client.link.delay.is_zero() && client.link.rate.is_none() && case.plan.stop.is_none();
    let Some((_, end)) = case.requested.end else { return };
    let settings = &case.plan.settings;
    // The connection may have to make room for another one.
    let is_ideal = is_ideal && settings.max_connections.is_none() && case.plan.exhaustion.is_none();
    check_silence(case, end, violations);
    if case.plan.stop.is_none() {
        check_idle(case, end, violations);
    }
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
        if time < settings.head_timeout && !case.request.is_pipelined {
            violations.push(format!("the timeout of a head ends it after {time:?}, early"));
        }
        if time > settings.head_timeout + LATE && !case.request.is_pipelined {
            violations.push(format!("the timeout of a head ends it after {time:?}, late"));
        }
    }
}

/// An idle connection is closed when it has been idle for so long.
fn check_idle(case: &Case<'_>, end: Duration, violations: &mut Vec<String>) {
    let client = &case.plan.clients[case.request.id.client];
    let is_last = client.requests.last().is_some_and(|last| last.id == case.request.id);
    let closed = case.observations.closed.borrow().get(&case.request.id.client).copied();
    let Some(closed) = closed.filter(|_| is_last && client.stays) else { return };
    let closes = case.requested.received.value("connection").is_some_and(|value| value.eq_ignore_ascii_case("close"));
    let is_orderly = client.requests.iter().all(|request| request.conduct == Conduct::Orderly);
    let is_whole = matches!(case.requested.end, Some((End::Whole, _)));
    let others = case.plan.settings.max_connections.is_some() || case.plan.exhaustion.is_some();
    let has_body = client.requests.iter().any(|request| request.body.is_some());
    if closes
        || client.link.rate.is_some()
        || client.version == Version::Http10
        || !is_orderly
        || !is_whole
        || others
        || has_body
    {
        return;
    }
    let requests = case.observations.requests.borrow();
    let ends = client.requests.iter().filter_map(|request| requests.get(&request.id)?.end);
    let end = ends.map(|(_, end)| end).max().unwrap_or(end);
    let (time, most) = (closed.saturating_sub(end), case.plan.settings.idle_timeout + LATE + 2 * client.link.delay);
    if time < case.plan.settings.idle_timeout || time > most {
        violations.push(format!("its connection is closed after it was idle for {time:?}"));
    }
}

/// A client learns that the rest of a body never comes, when the server has been silent for so long.
fn check_silence(case: &Case<'_>, end: Duration, violations: &mut Vec<String>) {
    let client = &case.plan.clients[case.request.id.client];
    let Some(seen) = case.seen.last() else { return };
    let answer = case.request.answer(seen.attempt);
    let is_silent =
        matches!(answer.fault, Fault::HangsInBody(_)) && has_body(answer.status) && case.request.method != "HEAD";
    let is_direct = matches!(case.request.place, Place::Proxied | Place::Buffered) && client.link.rate.is_none();
    if !is_silent || !is_direct || case.request.conduct != Conduct::Orderly || case.requested.received.status.is_none()
    {
        return;
    }
    let silent_since = seen.at + answer.delay + answer.pause + case.request.body.map_or(Duration::ZERO, |_| BODY);
    if end > silent_since + case.plan.settings.transfer_timeout + 2 * client.link.delay + LATE {
        violations.push(format!("learns {:?} after {:?} that its server is silent", end, silent_since));
    }
}

/// The longest time that the body of a request takes: for pauses, and for 100 Continue.
const BODY: Duration = Duration::from_millis(1_800);

/// One tick of the server's timers.
const LATE: Duration = Duration::from_millis(510);
