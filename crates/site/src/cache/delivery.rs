//! The response that a client gets of a stored one.

use std::ops::Range;

use bytes::Bytes;
use serow::{Body, Headers, KnownHeader, Method, Response};
use serow_cache::{Selection, Stored, StoredBody, StoredContent, StoredHead, Time, select, select_of_part};
use serow_message::{FileRange, StatusCode};

/// Why a stored response is not sent.
#[derive(Debug)]
pub(super) enum NotDelivered {
    /// Its file is gone, or is not the one that was written.
    Gone,
    /// Its file cannot be opened.
    Unreadable,
    /// It is a part that has not all that the request wants.
    Lacking,
}

/// The response to a GET or HEAD with these headers, made of a stored one.
///
/// # Errors
///
/// Why there is none.
pub(super) fn deliver(
    method: &Method,
    request: &Headers,
    stored: &Stored,
    now: Time,
) -> Result<Response, NotDelivered> {
    deliver_as(method, request, &stored.head, &stored.body, now)
}

/// The same with this head, of a stored content.
///
/// # Errors
///
/// Why there is none.
pub(super) fn deliver_as(
    method: &Method,
    request: &Headers,
    head: &StoredHead,
    body: &StoredBody,
    now: Time,
) -> Result<Response, NotDelivered> {
    let length = body.complete_length();
    // Where the content that is there begins in the whole.
    let (content, start, selection) = match body {
        StoredBody::Whole(content) => (content, 0, select(method, request, head, Some(length))),
        StoredBody::Part(part) => {
            let selection = select_of_part(request, head, part.place()).ok_or(NotDelivered::Lacking)?;
            (part.content(), part.place().range().start, selection)
        }
    };
    Ok(match selection {
        Selection::Whole => with_head(head, now).body(part_of_content(content, 0..length)?),
        Selection::NotModified => not_modified(head, now),
        Selection::Part(range) => {
            let body = part_of_content(content, range.start - start..range.end - start)?;
            part_of(with_head(head, now), &range, length).body(body)
        }
        Selection::NotSatisfiable => not_satisfiable(length),
    })
}

/// A part that lies within a content.
fn part_of_content(content: &StoredContent, range: Range<u64>) -> Result<Body, NotDelivered> {
    match content {
        StoredContent::Memory(bytes) => Ok(bytes.slice(range.start as usize..range.end as usize).into()),
        StoredContent::File(file) => {
            let whole = file.open().map_err(|_| NotDelivered::Unreadable)?.ok_or(NotDelivered::Gone)?;
            Ok(Body::file(FileRange { offset: range.start, length: range.end - range.start, ..whole }))
        }
    }
}

/// 206 with the head of a whole response (RFC 9110 §15.3.7).
pub(super) fn part_of(mut response: Response, range: &Range<u64>, length: u64) -> Response {
    response.status = StatusCode::PARTIAL_CONTENT;
    let value = format!("bytes {}-{}/{length}", range.start, range.end - 1);
    // Digits: always a valid field.
    let _ = response.headers.insert(KnownHeader::ContentRange, value);
    response
}

/// 416 (RFC 9110 §15.5.17).
pub(super) fn not_satisfiable(length: u64) -> Response {
    let value = format!("bytes */{length}");
    Response::new(StatusCode::RANGE_NOT_SATISFIABLE).with(KnownHeader::ContentRange, value)
}

/// 304: without the fields that describe the content (RFC 9110 §15.4.5).
pub(super) fn not_modified(head: &StoredHead, now: Time) -> Response {
    let mut response = with_head(head, now);
    response.status = StatusCode::NOT_MODIFIED;
    response.headers.retain_known(|_, known, _| !known.is_some_and(|known| OF_THE_CONTENT.contains(&known)));
    response
}

/// The head of a stored response, with its age (RFC 9111 §5.1).
pub(super) fn with_head(head: &StoredHead, now: Time) -> Response {
    let mut headers = head.headers.to_headers();
    let (age, mut digits) = (head.freshness.age(now).as_secs(), [0; 20]);
    let _ = headers.append(KnownHeader::Age, serow_message::content::decimal(age, &mut digits));
    Response { headers, ..Response::new(head.status) }
}

/// The response to a GET that was forwarded, from which conditions and ranges were removed: it gets what it wanted of
/// the whole content.
pub(super) fn deliver_whole(request: &Headers, response: Response, head: &StoredHead, content: Bytes) -> Response {
    match select(&Method::GET, request, head, Some(content.len() as u64)) {
        Selection::Whole => response.body(content),
        Selection::NotModified => unmodified(response),
        Selection::Part(range) => {
            let part = content.slice(range.start as usize..range.end as usize);
            part_of(response, &range, content.len() as u64).body(part)
        }
        Selection::NotSatisfiable => {
            Response { extensions: response.extensions, ..not_satisfiable(content.len() as u64) }
        }
    }
}

/// 304 in place of a response that has arrived.
pub(super) fn unmodified(mut response: Response) -> Response {
    response.status = StatusCode::NOT_MODIFIED;
    response.headers.retain_known(|_, known, _| !known.is_some_and(|known| OF_THE_CONTENT.contains(&known)));
    response.body(Body::empty())
}

/// Fields that describe content, which a 304 does not have.
const OF_THE_CONTENT: [KnownHeader; 5] = [
    KnownHeader::ContentLength,
    KnownHeader::ContentType,
    KnownHeader::ContentEncoding,
    KnownHeader::ContentLanguage,
    KnownHeader::ContentRange,
];
