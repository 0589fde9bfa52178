//! The request as it was received, and the request that every part of the server sees.
//!
//! A client decides about the fields that it sends, and about no others: what `Connection` names is removed before a
//! script, a rule, an access check or a handler adds fields of its own, which a client could name otherwise. A cache keys
//! by the same fields that the origin gets. A request whose id the settings read gets it here.

use serow::{Headers, KnownHeader, Request, RouteNote, Version};
use serow_message::{RequestId, hop_by_hop};

/// Removes the fields that belong to the client's connection by its own word, and has `Host` name the host that the
/// request is for.
#[inline]
pub(crate) fn admit(request: &mut Request) {
    if request.headers.contains(KnownHeader::Connection) {
        remove_named(&mut request.headers);
    }
    if RequestId::is_wanted() {
        give_id(request);
    }
    // Over HTTP/2 and HTTP/3, a host that differs from the authority is refused (RFC 9113 §8.3.1).
    if request.version < Version::HTTP_2 && request.target.authority().is_some() {
        name_host_of_target(request);
    }
}

/// The id is the same in all that is made of this request, and in its log.
#[inline(never)]
fn give_id(request: &mut Request) {
    let id = RequestId::random();
    if let Some(note) = request.extensions.get::<RouteNote>() {
        note.set_id(id);
    }
    request.extensions.insert(id);
}

/// RFC 9110 §7.6.1: an intermediary removes the fields that `Connection` names from the message that it has received.
/// Only `upgrade` stays, for handlers that make a tunnel of the connection.
#[inline(never)]
fn remove_named(headers: &mut Headers) {
    let named = hop_by_hop::Named::of(headers);
    if named.is_empty() {
        return;
    }
    let is_upgrade = |option: &[u8]| option.eq_ignore_ascii_case(b"upgrade");
    let is_upgrade = headers.list(KnownHeader::Connection).any(is_upgrade);
    headers.retain_known(|name, known, _| match known {
        Some(known) => known != KnownHeader::Connection,
        None => !named.covers_extension(name),
    });
    if is_upgrade {
        let _ = headers.append(KnownHeader::Connection, "Upgrade");
    }
}

/// RFC 9112 §3.2.2: a server ignores the `Host` field beside an absolute target.
#[cold]
fn name_host_of_target(request: &mut Request) {
    let Some(authority) = request.target.authority().map(str::to_owned) else { return };
    // A parsed authority is a valid value.
    let _ = request.headers.replace(KnownHeader::Host, authority);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_fields_that_the_client_names_are_removed() {
        // Connection fields, another field, and whether that is left; then what is left of Connection.
        for (connection, name, is_left, options) in [
            (&["keep-alive"][..], "x-mine", true, &["keep-alive"][..]),
            (&["close"], "close", true, &["close"]),
            (&["X-Mine"], "x-mine", false, &[]),
            (&["x-other", "keep-alive ,X-MINE"], "x-mine", false, &[]),
            (&["Upgrade, X-Mine"], "x-mine", false, &["Upgrade"]),
            (&["upgrade"], "x-mine", true, &["upgrade"]),
            (&["Authorization, X-Forwarded-For"], "authorization", true, &["Authorization, X-Forwarded-For"]),
            (&["x-real-ip"], "x-real-ip", true, &["x-real-ip"]),
            (&["Host"], "host", true, &["Host"]),
        ] {
            let mut request = Request::get("/");
            request.headers.append(name, "1").unwrap();
            connection.iter().for_each(|value| request.headers.append("connection", *value).unwrap());
            admit(&mut request);
            assert_eq!(request.headers.contains(name), is_left, "{connection:?}: {name}");
            let left: Vec<_> = request.headers.get_all("connection").collect();
            assert_eq!(left, options.iter().map(|option| option.as_bytes()).collect::<Vec<_>>(), "{connection:?}");
        }
    }

    #[test]
    fn fields_that_are_added_later_do_not_belong_to_the_connection() {
        let mut request = Request::get("/");
        request.headers.append("connection", "Remote-User, X-Original-URL").unwrap();
        admit(&mut request);
        let mut headers = request.headers;
        headers.append("remote-user", "alice").unwrap();
        hop_by_hop::remove(&mut headers);
        assert!(headers.contains("remote-user"));
    }

    #[test]
    fn the_host_is_that_of_the_target() {
        for (target, host, expected) in [
            ("http://shop.example/a", Some("evil.example"), Some("shop.example")),
            ("http://shop.example:81/", None, Some("shop.example:81")),
            ("/a", Some("shop.example"), Some("shop.example")),
            ("/a", None, None),
        ] {
            let mut request = Request::try_get(target).unwrap();
            host.into_iter().for_each(|host| request.headers.append("host", host).unwrap());
            admit(&mut request);
            assert_eq!(request.headers.get_str(KnownHeader::Host), expected, "{:?} {host:?}", request.target);
        }
    }
}
