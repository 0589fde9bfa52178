//! One message, written by one role and read by the other.

#![allow(dead_code)]

use serow_http1::{BodyLength, Client, Event, Limits, Server};
use serow_message::{Headers, Method, RequestHead, ResponseHead, StatusCode, Target, Version};

/// A message as its sender thinks of it; names and values are valid, and none speaks of framing or connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Message {
    pub(crate) fields: Vec<(String, Vec<u8>)>,
    pub(crate) body: Body,
    pub(crate) trailers: Vec<(String, Vec<u8>)>,
}

/// The body, in the pieces it is sent in.
#[derive(Clone, Debug, Default)]
pub(crate) enum Body {
    #[default]
    None,
    /// Of a known length.
    Known(Vec<Vec<u8>>),
    /// Of a length that is found out while it is sent.
    Unknown(Vec<Vec<u8>>),
}

impl Body {
    pub(crate) fn pieces(&self) -> &[Vec<u8>] {
        match self {
            Self::None => &[],
            Self::Known(pieces) | Self::Unknown(pieces) => pieces,
        }
    }

    pub(crate) fn length(&self) -> BodyLength {
        match self {
            Self::None => BodyLength::Known(0),
            Self::Known(pieces) => BodyLength::Known(pieces.iter().map(|piece| piece.len() as u64).sum()),
            Self::Unknown(_) => BodyLength::Unknown,
        }
    }
}

/// A request that allows everything in its response.
pub(crate) const PLAIN_REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: a\r\nTE: trailers\r\n\r\n";

pub(crate) fn headers(fields: &[(String, Vec<u8>)]) -> Headers {
    let mut headers = Headers::new();
    for (name, value) in fields {
        headers.append(&name[..], value).expect("a valid field");
    }
    headers
}

/// The bytes of a request, as the client writes it.
pub(crate) fn write_request(method: &Method, target: &str, message: &Message) -> Vec<u8> {
    let target = Target::parse(target.to_owned().into(), *method == Method::CONNECT).expect("a valid target");
    let headers = headers(&message.fields);
    let head = RequestHead { method: method.clone(), target, version: Version::HTTP_11, headers };
    let (mut client, mut output) = (Client::new(Limits::default()), Vec::new());
    if client.send_head(&head, message.body.length(), &mut output).expect("the head's turn") {
        for piece in message.body.pieces() {
            client.send_data(piece, &mut output).expect("data's turn");
        }
    }
    let trailers = self::headers(&message.trailers);
    client.send_end((!message.trailers.is_empty()).then_some(&trailers), &mut output).expect("the end's turn");
    output
}

/// The bytes of a response to this request, as the server writes it, behind these informational responses.
pub(crate) fn write_response(
    request: &[u8],
    informational: &[StatusCode],
    status: StatusCode,
    message: &Message,
) -> Vec<u8> {
    let (mut server, mut input, mut output) = (Server::new(Limits::default()), request.into(), Vec::new());
    assert!(matches!(server.receive(&mut input), Ok(Some(Event::Head(_)))), "the request has a head");
    let headers = headers(&message.fields);
    for status in informational {
        let head = ResponseHead { status: *status, version: Version::HTTP_11, headers: headers.clone() };
        server.send_informational(&head, &mut output).expect("an informational response's turn");
    }
    let length = message.body.length();
    if server.send_head(status, &headers, length, b"Date: now\r\n", &mut output).expect("the head's turn") {
        for piece in message.body.pieces() {
            server.send_data(piece, &mut output).expect("data's turn");
        }
    }
    let trailers = self::headers(&message.trailers);
    server.send_end((!message.trailers.is_empty()).then_some(&trailers), &mut output).expect("the end's turn");
    output
}

/// The lines that a reader must see for the fields; white space around a value is not part of it (RFC 9112 §5).
pub(crate) fn field_lines(fields: &[(String, Vec<u8>)]) -> impl Iterator<Item = String> + '_ {
    fields.iter().map(|(name, value)| {
        let is_space = |byte: &u8| matches!(byte, b' ' | b'\t');
        let start = value.iter().position(|byte| !is_space(byte)).unwrap_or(value.len());
        let end = value.iter().rposition(|byte| !is_space(byte)).map_or(start, |last| last + 1);
        format!("- {}: {}", name.escape_default(), value[start..end].escape_ascii())
    })
}

/// The lines that a reader must see for the body, and for the trailers where the body is chunked.
pub(crate) fn body_lines(message: &Message) -> Vec<String> {
    let data = message.body.pieces().concat();
    let mut lines = Vec::new();
    if !data.is_empty() {
        lines.push(format!("data {}", data.escape_ascii()));
    }
    lines.push("end".into());
    if matches!(message.body, Body::Unknown(_)) {
        lines.extend(field_lines(&message.trailers));
    }
    lines
}

/// The lines seen, without the fields that the writers add on their own.
pub(crate) fn without_framing(lines: &[String]) -> Vec<String> {
    let added = ["content-length", "transfer-encoding", "connection", "date"];
    let is_added = |line: &String| {
        let name = line.strip_prefix("- ").and_then(|line| line.split(':').next()).unwrap_or_default();
        added.contains(&&name.to_ascii_lowercase()[..])
    };
    lines.iter().filter(|line| !is_added(line)).cloned().collect()
}
