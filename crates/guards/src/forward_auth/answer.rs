//! The meaning of the other server's response.

use std::sync::Arc;

use bytes::Bytes;
use serow_gateway::{ErrorReason, remove_fields_for_server};
use serow_message::{Body, Headers, KnownHeader, Response, StatusCode, User};

use super::ForwardAuthSettings;
use crate::identity::Identity;

/// The meaning of the other server's response.
#[derive(Debug)]
pub(super) enum Answer {
    /// The request goes on. The body means nothing.
    Passed(Identity, Body),
    /// This is the response to the client.
    Refused(Response),
    /// It does not decide, so the request is refused: the reason for the client, and for the log.
    Error(ErrorReason, String),
}

/// Reads a response. The request goes on only if the response clearly says that it may.
pub(super) async fn read(mut response: Response, settings: &ForwardAuthSettings) -> Answer {
    if let Some(reason) = response.extensions.get::<ErrorReason>() {
        return Answer::Error(*reason, format!("no response: {reason}"));
    }
    let status = response.status;
    if status.is_success() {
        return match identity(&response.headers, settings) {
            Ok(identity) => Answer::Passed(identity, response.body),
            Err(problem) => Answer::Error(StatusCode::BAD_GATEWAY.into(), problem.to_owned()),
        };
    }
    let is_redirect = REDIRECTS.contains(&status) && response.headers.contains(KnownHeader::Location);
    if !is_redirect && !matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
        let text = format!("the response has the status {}, and not 2xx, 401, 403 or a redirect", status.as_u16());
        return Answer::Error(StatusCode::BAD_GATEWAY.into(), text);
    }
    match std::mem::take(&mut response.body).collect(MAX_BODY).await {
        Ok(body) => response.body = if body.is_empty() { Body::empty() } else { body.into() },
        Err(error) => {
            return Answer::Error(StatusCode::BAD_GATEWAY.into(), format!("the body of the response: {error}"));
        }
    }
    remove_fields_for_server(&mut response.headers);
    Answer::Refused(response)
}

/// The user, from the fields that are copied.
fn identity(headers: &Headers, settings: &ForwardAuthSettings) -> Result<Identity, &'static str> {
    let request_fields = copied(headers, &settings.copy)?;
    let response_fields = copied(headers, &settings.copy_response)?;
    let user = match settings.user.as_deref() {
        None => None,
        Some(name) => match &headers.get_all(name).collect::<Vec<_>>()[..] {
            [] | [b""] => None,
            [name] => Some(User(std::str::from_utf8(name).map_err(|_| "the name of the user is not UTF-8")?.into())),
            _ => return Err("the response names several users"),
        },
    };
    Ok(Identity { user, request_fields, response_fields, ..Identity::default() })
}

fn copied(headers: &Headers, names: &[Arc<str>]) -> Result<Vec<(Arc<str>, Bytes)>, &'static str> {
    let (mut fields, mut length) = (Vec::new(), 0);
    for name in names {
        for value in headers.get_all(&**name) {
            length += name.len() + value.len();
            fields.push((Arc::clone(name), Bytes::copy_from_slice(value)));
        }
    }
    if length > MAX_COPIED { Err("the copied fields are too long") } else { Ok(fields) }
}

/// 304 is not among them: the server was not asked whether a copy is still valid.
const REDIRECTS: [StatusCode; 5] = [
    StatusCode::MOVED_PERMANENTLY,
    StatusCode::FOUND,
    StatusCode::SEE_OTHER,
    StatusCode::TEMPORARY_REDIRECT,
    StatusCode::PERMANENT_REDIRECT,
];

/// A page for logging in is shorter. Clients must not fill the memory by requests that are refused.
const MAX_BODY: usize = 1 << 20;

/// Many servers accept no longer head than this, and each remembered decision takes so much memory.
const MAX_COPIED: usize = 8 << 10;

#[cfg(test)]
mod tests;
