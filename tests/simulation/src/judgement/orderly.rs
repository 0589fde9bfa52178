//! Orderly clients get what they ask for.

use std::time::Duration;

use super::Case;
use crate::{
    observations::End,
    origin::has_body,
    plan::{Conduct, Fault, Place, Version},
};

/// A client that does nothing wrong gets the response, unless its server fails.
pub(super) fn check(case: &Case<'_>, violations: &mut Vec<String>) {
    let Some((end, at)) = case.requested.end else {
        return violations.push("has no end".to_owned());
    };
    if case.request.conduct != Conduct::Orderly || matches!(end, End::Left) {
        return;
    }
    if end != End::Whole && (is_cut_by_server(case) || is_before_cut(case) || case.is_too_large()) {
        return;
    }
    if end == End::Unsent || end != End::Whole && is_behind_an_end(case) {
        if !case.seen.is_empty() {
            violations.push("got no response, since the connection had ended, and reached a server".to_owned());
        }
        return;
    }
    if end == End::Whole {
        return check_status(case, violations);
    }
    if is_drained(case, at) || is_displaced(case) || is_behind_large_body(case) {
        return;
    }
    violations.push(format!("got no response, but {end:?} ({:?})", case.requested.received.status));
}

/// Whether an earlier response of the connection was its last one.
fn is_behind_an_end(case: &Case<'_>) -> bool {
    let client = &case.plan.clients[case.request.id.client];
    if client.version == Version::Http2 {
        return false;
    }
    let requests = case.observations.requests.borrow();
    client.requests.iter().take_while(|other| other.id != case.request.id).any(|other| {
        requests.get(&other.id).is_some_and(|other| {
            other.end.is_some_and(|(end, _)| end != End::Whole)
                || other.received.value("connection").is_some_and(|value| value.eq_ignore_ascii_case("close"))
        })
    })
}

/// Whether an earlier request was answered before so much of its body was left unread that the connection ends.
fn is_behind_large_body(case: &Case<'_>) -> bool {
    let most = case.plan.settings.max_body.min(MOST_DRAINED);
    let is_large = case.others().0.filter_map(|other| other.body).any(|body| body.length > most);
    is_large && case.seen.is_empty()
}

/// Whether a response behind this one was cut: the reset of a connection also discards what the client has not received.
fn is_before_cut(case: &Case<'_>) -> bool {
    let seen = case.observations.seen.borrow();
    case.others()
        .1
        .any(|other| seen.iter().any(|seen| seen.id == other.id && other.answer(seen.attempt).fault.cut().is_some()))
}

/// Whether the server ended the connection because it stops: without the request, or when the grace period was over.
fn is_drained(case: &Case<'_>, at: Duration) -> bool {
    case.plan.stop.is_some_and(|stop| at >= stop && (case.seen.is_empty() || at >= stop + case.plan.settings.grace))
}

/// Whether the connection was closed before the request, so that another one has its place.
fn is_displaced(case: &Case<'_>) -> bool {
    let settings = &case.plan.settings;
    (settings.max_connections.is_some() || case.plan.exhaustion.is_some()) && case.seen.is_empty()
}

/// Whether the server behind the proxy cut the response.
fn is_cut_by_server(case: &Case<'_>) -> bool {
    let last = case.seen.last().map(|seen| case.request.answer(seen.attempt));
    let is_cut = last.is_some_and(|answer| answer.fault.cut().is_some() && has_body(answer.status));
    // A stored response, or one that others wait for, may be that of any of them.
    is_cut || matches!(case.request.place, Place::Cached(_)) && case.plan.is_cached_cut(case.request.place)
}

fn check_status(case: &Case<'_>, violations: &mut Vec<String>) {
    let Some(status) = case.requested.received.status else { return };
    let (began, end) =
        (case.requested.began.unwrap_or_default(), case.requested.end.map_or(Duration::ZERO, |end| end.1));
    let total = case.plan.settings.total_timeout.unwrap_or(Duration::MAX);
    if status == 504 && end.saturating_sub(began) >= total {
        return;
    }
    let is_own = case.requested.received.value("x-id").is_none();
    let is_too_large = case.is_too_large();
    let expected: &[u16] = match (case.request.place, case.seen.last()) {
        (Place::Denied, _) if is_too_large => &[403, 413],
        (Place::Denied, _) => &[403],
        (Place::Responded, _) if is_too_large => &[200, 413],
        (Place::Responded, _) => &[200],
        (_, _) if is_too_large && is_own => &[413, 502, 503, 504],
        _ if !is_own => return,
        (_, Some(seen)) => match case.request.answer(seen.attempt).fault {
            // The next attempt may not have reached a server.
            Fault::Hangs if case.plan.may_fail_unseen() => &[502, 503, 504],
            Fault::Hangs => &[504],
            fault if fault.prevents_response() || fault.is_close() => &[502],
            // It was retried, and no other server was reached.
            _ if case.was_retried(seen) && case.plan.may_fail_unseen() => &[502, 503, 504],
            _ => &[],
        },
        (_, None) if case.plan.may_fail_unseen() => &[502, 503, 504],
        (_, None) => &[],
    };
    if !expected.contains(&status) {
        violations.push(format!("has {status}, expected {expected:?}"));
    }
}

/// Bytes of a body that the server reads, and throws away, to keep the connection.
const MOST_DRAINED: usize = 64 * 1024;
