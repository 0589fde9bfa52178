//! Whose bytes a response has.

use super::Case;
use crate::{
    observations::End,
    origin::has_body,
    plan::{Answer, Fault, Id, Place, ResponseFraming, Version, pattern},
    settings::RESPONDED,
};

/// A response belongs to its request, whatever else happened.
pub(super) fn check(case: &Case<'_>, violations: &mut Vec<String>) {
    let received = &case.requested.received;
    let Some(status) = received.status else {
        if case.requested.end.is_some_and(|(end, _)| end == End::Whole) {
            violations.push("ended without a response".to_owned());
        }
        return;
    };
    let is_whole = matches!(case.requested.end, Some((End::Whole, _)));
    match received.value("x-id").map(str::parse::<Id>) {
        None => check_own(case, status, is_whole, violations),
        Some(Ok(id)) if id == case.request.id => {
            // A stored response may be that of an earlier attempt.
            let answers = case.seen.iter().rev().map(|seen| case.request.answer(seen.attempt));
            let Some(answer) = answers.into_iter().next() else {
                return violations.push("has a response of a server that it has not reached".to_owned());
            };
            check_answer(case, id, answer, is_whole, violations);
        }
        Some(Ok(id)) => check_shared(case, id, is_whole, violations),
        Some(Err(())) => violations.push("has a response without a number".to_owned()),
    }
}

/// A response that the server itself has made.
fn check_own(case: &Case<'_>, status: u16, is_whole: bool, violations: &mut Vec<String>) {
    let received = &case.requested.received;
    let is_possible = match case.request.place {
        Place::Responded => status == 200 || status >= 400,
        _ => status >= 400,
    };
    if !is_possible {
        violations.push(format!("has a response {status} from nowhere"));
    }
    let is_responded = case.request.place == Place::Responded && status == 200;
    if is_responded && is_whole && case.request.method != "HEAD" && received.body != RESPONDED.as_bytes() {
        violations.push("has another body than the router's".to_owned());
    }
}

/// The response of a server to this request.
fn check_answer(case: &Case<'_>, id: Id, answer: &Answer, is_whole: bool, violations: &mut Vec<String>) {
    let received = &case.requested.received;
    if received.status != Some(answer.status) {
        return violations.push(format!("has {:?} in place of the server's {}", received.status, answer.status));
    }
    check_hints(case, answer, violations);
    let has_body = has_body(answer.status) && case.request.method != "HEAD";
    let expected = pattern('d', id, if has_body { answer.length } else { 0 });
    if !expected.starts_with(&received.body) {
        return violations.push("has a body of other bytes".to_owned());
    }
    let end = end_of_body(answer);
    if is_whole && has_body && end != Some(received.body.len()) {
        violations.push(format!("is whole with {} bytes, and the server sent {answer:?}", received.body.len()));
    }
}

/// Early hints reach the client, each once.
fn check_hints(case: &Case<'_>, answer: &Answer, violations: &mut Vec<String>) {
    let version = case.plan.clients[case.request.id.client].version;
    let is_direct = matches!(case.request.place, Place::Proxied | Place::Buffered) && case.seen.len() == 1;
    let is_expected = case.request.body.is_some_and(|body| body.is_expected);
    let hints = case.requested.received.hints;
    if is_direct && version != Version::Http10 && !is_expected && hints != answer.hints {
        violations.push(format!("has {hints} early hints of {}", answer.hints));
    }
}

/// The length of a whole body, as far as its receiver can tell; `None` if it sees that the body is cut.
fn end_of_body(answer: &Answer) -> Option<usize> {
    let Some(cut) = answer.fault.cut() else { return Some(answer.length) };
    match answer.framing {
        ResponseFraming::Length => (cut >= answer.length).then_some(answer.length),
        ResponseFraming::Chunked => None,
        // Its end is the end of the connection.
        ResponseFraming::UntilClose => matches!(answer.fault, Fault::CutsBody(_)).then_some(cut.min(answer.length)),
    }
}

/// The response to another request, out of the cache.
fn check_shared(case: &Case<'_>, id: Id, is_whole: bool, violations: &mut Vec<String>) {
    let other = case.plan.request(id).filter(|other| matches!(other.place, Place::Cached(_)));
    let Some(other) = other.filter(|other| other.place == case.request.place) else {
        return violations.push(format!("has the response to request {id}"));
    };
    let seen = case.observations.seen.borrow();
    let attempts = seen.iter().filter(|seen| seen.id == id).map(|seen| other.answer(seen.attempt));
    let answers: Vec<_> = attempts.filter(|answer| answer.is_fresh).collect();
    if other.method == "HEAD" {
        // RFC 9111 §4.3.5: it brings the fields of a stored response up to date, whose content is that of another one.
        let all =
            case.plan.clients.iter().flat_map(|client| &client.requests).filter(|known| known.place == other.place);
        let length = case.requested.received.body.len();
        if !all.map(|known| pattern('d', known.id, length)).any(|content| content == case.requested.received.body) {
            violations.push(format!("has the fields of request {id}, and content of another place"));
        }
        return;
    }
    if answers.is_empty() {
        return violations.push(format!("has the response to request {id}, which may not be stored"));
    }
    if !answers.iter().any(|answer| {
        let mut found = Vec::new();
        check_answer(case, id, answer, is_whole, &mut found);
        found.is_empty()
    }) {
        violations.push(format!("has a response to request {id} that no server has sent: {answers:?}"));
    }
}
