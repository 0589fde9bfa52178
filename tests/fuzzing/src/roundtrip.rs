//! Whatever one role writes, the other reads back, wherever the bytes are split.

use arbitrary::Arbitrary;
use serow_http1::Limits;
use serow_message::{Headers, Method, StatusCode};

use crate::{
    conversation::{self, Body, Message, PLAIN_REQUEST, body_lines, field_lines, without_framing},
    splitter::{Requests, Responses, split_at, whole},
    with_value,
};

#[derive(Arbitrary, Debug)]
struct Exchange<'a> {
    method: u8,
    path: &'a [u8],
    status: u16,
    request: Part<'a>,
    response: Part<'a>,
    informational: u8,
    places: [u8; 3],
}

#[derive(Arbitrary, Debug)]
struct Part<'a> {
    fields: Vec<(&'a [u8], &'a [u8])>,
    pieces: Vec<&'a [u8]>,
    body: u8,
    trailers: Vec<(&'a [u8], &'a [u8])>,
}

/// The target.
pub fn target(data: &[u8]) {
    with_value(data, run);
}

fn run(exchange: Exchange<'_>) {
    let limits = Limits { head: 1 << 20, ..Limits::default() };
    let places = |length: usize| {
        let mut places = exchange.places.map(|place| usize::from(place) * length / 256);
        places.sort_unstable();
        places
    };

    let mut request = exchange.request.message();
    request.fields.insert(0, ("Host".into(), b"a".to_vec()));
    let methods = [Method::GET, Method::POST, Method::PUT, Method::DELETE, Method::OPTIONS, Method::HEAD];
    let method = &methods[usize::from(exchange.method) % methods.len()];
    let path: String = exchange.path.iter().take(200).map(|&byte| char::from(b'a' + byte % 26)).collect();
    let bytes = conversation::write_request(method, &format!("/{path}"), &request);
    let seen = whole(Requests::new(limits), &bytes);
    assert_eq!(split_at(Requests::new(limits), &bytes, places(bytes.len())), seen);
    let framing = framing(&request.body);
    let mut expected = vec![format!("{method} /{path} HTTP/1.1{framing}")];
    expected.extend(field_lines(&request.fields));
    if !framing.is_empty() {
        expected.extend(body_lines(&request));
    }
    expected.push("reuse".into());
    assert_eq!(without_framing(&seen.lines), expected);

    let response = exchange.response.message();
    let status = StatusCode::from_u16(200 + exchange.status % 400).expect("a status");
    let informational = [StatusCode::EARLY_HINTS].repeat(usize::from(exchange.informational % 3));
    let bytes = conversation::write_response(PLAIN_REQUEST, &informational, status, &response);
    let new = || Responses::new(limits, &Method::GET);
    let seen = whole(new(), &bytes);
    assert_eq!(split_at(new(), &bytes, places(bytes.len())), seen);
    let mut expected = Vec::new();
    for status in &informational {
        expected.push(format!("{} HTTP/1.1 interim", status.as_u16()));
        expected.extend(field_lines(&response.fields));
    }
    let without_body = matches!(status.as_u16(), 204 | 304);
    let framing = if without_body { String::new() } else { self::framing(&response.body) };
    expected.push(format!("{} HTTP/1.1{framing}", status.as_u16()));
    expected.extend(field_lines(&response.fields));
    expected.extend(if without_body { vec!["end".into()] } else { body_lines(&response) });
    expected.push("reuse".into());
    assert_eq!(without_framing(&seen.lines), expected);
}

impl Part<'_> {
    fn message(&self) -> Message {
        let pieces: Vec<Vec<u8>> = self.pieces.iter().map(|piece| piece.to_vec()).collect();
        let body = match self.body % 3 {
            0 => Body::None,
            1 => Body::Known(pieces),
            _ => Body::Unknown(pieces),
        };
        Message { fields: fields(&self.fields), body, trailers: fields(&self.trailers) }
    }
}

/// The fields that may be sent and mean nothing to the machine itself.
fn fields(wanted: &[(&[u8], &[u8])]) -> Vec<(String, Vec<u8>)> {
    let own =
        ["host", "connection", "content-length", "transfer-encoding", "te", "trailer", "expect", "upgrade", "date"];
    let mut fields: Vec<(String, Vec<u8>)> = Vec::new();
    for (name, value) in wanted.iter().take(40) {
        let Ok(name) = std::str::from_utf8(name) else { continue };
        let valid = Headers::new().append(name, value).is_ok();
        if valid && name.len() < 1000 && !own.contains(&&name.to_ascii_lowercase()[..]) {
            fields.push((name.into(), value.to_vec()));
        }
    }
    fields
}

fn framing(body: &Body) -> String {
    match body {
        Body::None => String::new(),
        Body::Known(pieces) if pieces.concat().is_empty() => String::new(),
        Body::Known(pieces) => format!(" length {}", pieces.concat().len()),
        Body::Unknown(_) => " chunked".into(),
    }
}
