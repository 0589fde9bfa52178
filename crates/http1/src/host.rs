//! Where a request is to be sent: the `Host` field and the authority of the target.

use serow_message::{KnownHeader, Method, RequestHead, TargetForm, Version, authority};

use crate::ProtocolError;

/// Refuses a request that does not say clearly which host it is for: two servers in a row that understand it
/// differently apply different rules to it.
#[inline]
pub(crate) fn check(request: &RequestHead) -> Result<(), ProtocolError> {
    // RFC 9112 §3.2: exactly one in HTTP/1.1, at most one in HTTP/1.0. It may be empty, where the target has no
    // authority.
    let mut values = request.headers.get_all(KnownHeader::Host);
    let host = values.next();
    if values.next().is_some() || host.is_none() && request.version == Version::HTTP_11 {
        return Err(ProtocolError::Host);
    }
    if host.is_some_and(|host| !authority::is_valid(host)) {
        return Err(ProtocolError::Host);
    }
    match request.target.form() {
        TargetForm::Origin => Ok(()),
        // RFC 9112 §3.2.4: for OPTIONS only. A handler would take it for the name of a file.
        TargetForm::Asterisk if request.method == Method::OPTIONS => Ok(()),
        TargetForm::Asterisk => Err(ProtocolError::Target),
        // RFC 9110 §4.2.1: an address with an empty host must be refused.
        TargetForm::Absolute | TargetForm::Authority => match request.target.authority().unwrap_or_default().as_bytes()
        {
            [] | [b':', ..] => Err(ProtocolError::Target),
            authority if authority::is_valid(authority) => Ok(()),
            _ => Err(ProtocolError::Target),
        },
    }
}
