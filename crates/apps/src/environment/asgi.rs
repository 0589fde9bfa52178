//! Requests for Python's ASGI: the connection's scope as a dict that `marshal.loads` reads.

use std::{borrow::Cow, net::IpAddr};

use serow_gateway::decoded_path;
use serow_message::KnownHeader;

use super::{Facts, marshal::Marshal};
use crate::upload::Upload;

/// The type of the scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Protocol {
    Http,
    WebSocket,
}

pub(super) fn write(facts: &Facts<'_>, upload: &Upload, packet: &mut Vec<u8>) {
    let protocol = match upload {
        Upload::WebSocket => Protocol::WebSocket,
        _ => Protocol::Http,
    };
    write_scope(facts, protocol, &mut Marshal(packet));
}

fn write_scope(facts: &Facts<'_>, protocol: Protocol, marshal: &mut Marshal<'_>) {
    marshal.dict();
    write_constants(protocol, marshal);
    let version = facts.protocol.trim_start_matches("HTTP/");
    // Unlike elsewhere, the path has the root as well (ASGI's HTTP specification, from 2.3 on).
    let path = decoded_path(&facts.whole_path);
    let path = String::from_utf8_lossy(&path);
    let scheme = match (protocol, facts.scheme) {
        (Protocol::Http, scheme) => scheme,
        (Protocol::WebSocket, "https") => "wss",
        (Protocol::WebSocket, _) => "ws",
    };
    let texts = [("http_version", version), ("scheme", scheme), ("root_path", facts.script_name), ("path", &*path)];
    for (name, value) in texts {
        marshal.name(name.as_bytes());
        marshal.utf8(value);
    }
    for (name, value) in [("raw_path", &*facts.whole_path), ("query_string", facts.query)] {
        marshal.name(name.as_bytes());
        marshal.bytes(value.as_bytes());
    }
    let client = facts.client.address.map(|address| (address, facts.client.port));
    let server = facts.local.map(|local| (local.ip().to_canonical(), local.port()));
    for (name, address) in [("client", client), ("server", server)] {
        marshal.name(name.as_bytes());
        write_address(address, marshal);
    }
    match protocol {
        Protocol::Http => {
            marshal.name(b"method");
            marshal.utf8(facts.method);
        }
        Protocol::WebSocket => write_subprotocols(facts, marshal),
    }
    marshal.name(b"headers");
    write_fields(facts, marshal);
    marshal.end_dict();
}

/// The constant part of all scopes. Applications may modify their scope, so each gets its own.
fn write_constants(protocol: Protocol, marshal: &mut Marshal<'_>) {
    let (name, version, extensions) = match protocol {
        Protocol::Http => ("http", HTTP_VERSION, HTTP_EXTENSIONS),
        Protocol::WebSocket => ("websocket", WEBSOCKET_VERSION, WEBSOCKET_EXTENSIONS),
    };
    marshal.name(b"type");
    marshal.name(name.as_bytes());
    marshal.name(b"asgi");
    marshal.dict();
    for (name, value) in [("version", "3.0"), ("spec_version", version)] {
        marshal.name(name.as_bytes());
        marshal.name(value.as_bytes());
    }
    marshal.end_dict();
    marshal.name(b"extensions");
    marshal.dict();
    for extension in extensions {
        marshal.name(extension.as_bytes());
        marshal.dict();
        marshal.end_dict();
    }
    marshal.end_dict();
}

/// The client's subprotocols, in order of preference (RFC 6455 §4.1).
fn write_subprotocols(facts: &Facts<'_>, marshal: &mut Marshal<'_>) {
    let names: Vec<_> = facts.headers.list("sec-websocket-protocol").collect();
    marshal.name(b"subprotocols");
    marshal.list(names.len());
    names.into_iter().for_each(|name| marshal.latin1(name));
}

fn write_address(address: Option<(IpAddr, u16)>, marshal: &mut Marshal<'_>) {
    match address {
        Some((address, port)) => {
            marshal.tuple(2);
            marshal.utf8(&address.to_string());
            marshal.int(u64::from(port));
        }
        None => marshal.none(),
    }
}

/// Header fields with names in lower case; cookies that HTTP/2 split are joined (RFC 9113 §8.2.3).
fn write_fields(facts: &Facts<'_>, marshal: &mut Marshal<'_>) {
    let cookies =
        facts.has_repeated.then(|| facts.headers.get_all(KnownHeader::Cookie).collect::<Vec<_>>().join(&b"; "[..]));
    let mut has_cookie = false;
    let mut is_shown = |name: &[u8], known: Option<KnownHeader>| match known {
        Some(KnownHeader::Cookie) if facts.has_repeated => !std::mem::replace(&mut has_cookie, true),
        _ => facts.is_shown(name, known),
    };
    let fields: Vec<_> = facts.received().filter(|(name, known, _)| is_shown(name, *known)).collect();
    marshal.list(fields.len());
    for (name, known, value) in fields {
        marshal.tuple(2);
        marshal.bytes(&in_lower_case(name));
        match &cookies {
            Some(cookies) if known == Some(KnownHeader::Cookie) => marshal.bytes(cookies),
            _ => marshal.bytes(value),
        }
    }
}

fn in_lower_case(name: &[u8]) -> Cow<'_, [u8]> {
    match name.iter().any(u8::is_ascii_uppercase) {
        true => Cow::Owned(name.to_ascii_lowercase()),
        false => Cow::Borrowed(name),
    }
}

/// The version of the specification. From 2.4 on, `send` raises an error when the client has gone, as it does here. But
/// Starlette then no longer watches for the disconnect: a stream that waits for its next event would never end.
const HTTP_VERSION: &str = "2.3";
const WEBSOCKET_VERSION: &str = "2.4";

const HTTP_EXTENSIONS: &[&str] = &["http.response.pathsend", "http.response.early_hint", "http.response.trailers"];

const WEBSOCKET_EXTENSIONS: &[&str] = &["websocket.http.response"];
