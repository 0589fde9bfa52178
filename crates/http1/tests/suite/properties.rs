//! Arbitrary messages, written by one role, are read back equal by the other, wherever the bytes are split.

use crate::conversation::{
    Body, Message, PLAIN_REQUEST, body_lines, field_lines, without_framing, write_request, write_response,
};
use crate::splitter::{Requests, Responses, split_at};
use proptest::{collection::vec, prelude::*};
use serow_http1::Limits;
use serow_message::{Method, StatusCode};

fn field() -> impl Strategy<Value = (String, Vec<u8>)> {
    // A name that means nothing here, and any bytes a value may have (RFC 9110 §5.5).
    let byte = prop_oneof![Just(b'\t'), b' '..=b'~', 0x80..=0xffu8];
    ("x-[a-zA-Z0-9!#$%&'*+.^_`|~-]{0,12}", vec(byte, 0..30))
}

fn body() -> impl Strategy<Value = Body> {
    let pieces = || vec(vec(any::<u8>(), 0..50), 0..6);
    prop_oneof![Just(Body::None), pieces().prop_map(Body::Known), pieces().prop_map(Body::Unknown)]
}

fn message() -> impl Strategy<Value = Message> {
    (vec(field(), 0..12), body(), vec(field(), 0..4)).prop_map(|(fields, body, trailers)| Message {
        fields,
        body,
        trailers,
    })
}

fn framing(body: &Body) -> String {
    let length: usize = body.pieces().iter().map(Vec::len).sum();
    match body {
        Body::Unknown(_) => " chunked".into(),
        _ if length == 0 => String::new(),
        _ => format!(" length {length}"),
    }
}

fn places(length: usize, parts: &[f64]) -> Vec<usize> {
    let mut places: Vec<usize> = parts.iter().map(|part| (part * length as f64) as usize).collect();
    places.sort_unstable();
    places
}

proptest! {
    #[test]
    fn requests(
        method in prop_oneof![Just(Method::GET), Just(Method::POST), Just(Method::OPTIONS)],
        path in "/[a-z0-9%?&=~!$'()*,;:@/._-]{0,40}",
        mut message in message(),
        parts in vec(0.0..1.0f64, 0..8),
    ) {
        message.fields.insert(0, ("Host".into(), b"a".to_vec()));
        let bytes = write_request(&method, &path, &message);
        let framing = framing(&message.body);
        let mut expected = vec![format!("{method} {path} HTTP/1.1{framing}")];
        expected.extend(field_lines(&message.fields));
        if !framing.is_empty() {
            expected.extend(body_lines(&message));
        }
        expected.push("reuse".into());
        let seen = split_at(Requests::new(Limits::default()), &bytes, places(bytes.len(), &parts));
        prop_assert_eq!(without_framing(&seen.lines), expected);
    }

    #[test]
    fn responses(
        status in 200..600u16,
        informational in 0..3usize,
        message in message(),
        parts in vec(0.0..1.0f64, 0..8),
    ) {
        prop_assume!(!matches!(status, 204 | 304));
        let code = StatusCode::from_u16(status).unwrap();
        let bytes = write_response(PLAIN_REQUEST, &[StatusCode::EARLY_HINTS].repeat(informational), code, &message);
        let mut expected = Vec::new();
        for _ in 0..informational {
            expected.push("103 HTTP/1.1 interim".into());
            expected.extend(field_lines(&message.fields));
        }
        expected.push(format!("{status} HTTP/1.1{}", framing(&message.body)));
        expected.extend(field_lines(&message.fields));
        expected.extend(body_lines(&message));
        expected.push("reuse".into());
        let places = places(bytes.len(), &parts);
        let seen = split_at(Responses::new(Limits::default(), &Method::GET), &bytes, places);
        prop_assert_eq!(without_framing(&seen.lines), expected);
    }

    #[test]
    fn any_bytes_are_read_alike_however_they_are_split(bytes in vec(any::<u8>(), 0..200), parts in vec(0.0..1.0f64, 0..8)) {
        let requests = || Requests::new(Limits::default());
        prop_assert_eq!(split_at(requests(), &bytes, places(bytes.len(), &parts)), split_at(requests(), &bytes, []));
        let responses = || Responses::new(Limits::default(), &Method::GET);
        prop_assert_eq!(split_at(responses(), &bytes, places(bytes.len(), &parts)), split_at(responses(), &bytes, []));
    }
}
