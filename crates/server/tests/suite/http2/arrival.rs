//! Requests that arrive in one piece are handled as those that arrive in many.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use serow::{Request, Response, Server};
use serow_http2::ErrorCode;

use crate::support::{
    Running,
    frames::{CONTINUATION, DATA, Frames, GOAWAY, HEADERS, RST_STREAM, WHOLE, block, frame},
};

const END_STREAM: u8 = 0x1;
const END_HEADERS: u8 = 0x4;
const POST: u8 = 0x83;
/// The kind of a request that is whole in one frame.
const PLAIN: u64 = 15;
/// More than are received in one turn.
const REQUESTS: u32 = 40;

/// The paths that the handler saw, in order.
type Seen = Arc<Mutex<Vec<String>>>;

/// Frames of a client, and the streams that it lets end.
struct Script {
    bytes: Vec<Vec<u8>>,
    paths: Vec<String>,
    answered: Vec<u32>,
    refused: Vec<u32>,
}

/// A server that writes down each path and sends the length of the body.
fn server(seen: &Seen) -> Running {
    let seen = Arc::clone(seen);
    Running::with(Server::new(), move |request: Request| {
        seen.lock().unwrap().push(request.target.path().to_owned());
        async move { Response::text(request.body.collect(1 << 20).await.map_or(usize::MAX, |body| body.len()).to_string()) }
    })
}

/// Requests of all kinds in an order that the seed says: whole, with a body, in two frames, malformed, and reset.
fn script(mut seed: u64) -> Script {
    let mut script = Script { bytes: Vec::new(), paths: Vec::new(), answered: Vec::new(), refused: Vec::new() };
    for number in 0..REQUESTS {
        let (stream, name) = (2 * number + 1, number.to_string());
        let fields = block(&name);
        // A linear congruential generator (Knuth, MMIX).
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        // The last one is answered behind all others.
        let kind = if number == REQUESTS - 1 { PLAIN } else { seed >> 60 };
        let mut add = |kind, flags, payload: &[u8]| script.bytes.push(frame(kind, flags, stream, payload));
        match kind {
            0 => add(HEADERS, WHOLE, &[&fields[..], b"\0\x02te\x04gzip"].concat()),
            1 => {
                add(HEADERS, END_STREAM, &fields[..3]);
                add(CONTINUATION, END_HEADERS, &fields[3..]);
            }
            2 | 3 => {
                add(HEADERS, END_HEADERS, &[&[POST], &fields[1..]].concat());
                add(DATA, 0, b"abc");
                add(DATA, END_STREAM, b"de");
            }
            4 => {
                add(HEADERS, END_HEADERS, &[&[POST], &fields[1..]].concat());
                add(RST_STREAM, 0, &ErrorCode::CANCEL.0.to_be_bytes());
            }
            5 => {
                add(HEADERS, WHOLE, &fields);
                add(RST_STREAM, 0, &ErrorCode::CANCEL.0.to_be_bytes());
            }
            6 => {
                add(HEADERS, END_HEADERS, &[&[POST], &fields[1..]].concat());
                add(HEADERS, WHOLE, b"\0\x01x\x01y");
            }
            _ => add(HEADERS, WHOLE, &fields),
        }
        match kind {
            0 => script.refused.push(stream),
            4 | 5 => {}
            _ => script.answered.push(stream),
        }
        if kind != 0 {
            script.paths.push(format!("/{name}"));
        }
    }
    script
}

/// The frames that ended the streams, until all of the script have ended.
fn ends(client: &mut Frames, script: &Script) -> BTreeMap<u32, u8> {
    let mut ends = BTreeMap::new();
    let awaited = || script.answered.iter().chain(&script.refused);
    while !awaited().all(|stream| ends.contains_key(stream)) {
        let frame = client.next().unwrap();
        assert_ne!(frame.kind, GOAWAY, "{frame:?}");
        if frame.kind == RST_STREAM || frame.stream != 0 && frame.flags & END_STREAM != 0 {
            ends.insert(frame.stream, frame.kind);
        }
    }
    ends
}

#[test]
fn requests_in_one_piece_are_handled_as_in_many() {
    for seed in 0..24 {
        let script = script(seed);
        let whole = script.bytes.concat();
        for size in [whole.len(), 1, 7, 100] {
            let seen = Seen::default();
            let server = server(&seen);
            let mut client = server.connect_frames(&[]);
            for piece in whole.chunks(size) {
                client.client.send(piece);
            }
            let ends = ends(&mut client, &script);
            assert_eq!(*seen.lock().unwrap(), script.paths, "seed {seed}, {size} bytes at a time");
            for stream in &script.answered {
                assert_eq!(ends[stream], DATA, "seed {seed}, {size} bytes at a time, stream {stream}");
            }
            for stream in &script.refused {
                assert_eq!(ends[stream], RST_STREAM, "seed {seed}, {size} bytes at a time, stream {stream}");
            }
        }
    }
}

#[test]
fn requests_in_front_of_a_mistake_are_handled() {
    let seen = Seen::default();
    let server = server(&seen);
    let mut client = server.connect_frames(&[]);
    let requests = (0..3).map(|number: u32| frame(HEADERS, WHOLE, 2 * number + 1, &block(&number.to_string())));
    let mistake = frame(HEADERS, WHOLE, 8, &block("even"));
    client.client.send(requests.chain([mistake]).collect::<Vec<_>>().concat());
    while client.next().unwrap().kind != GOAWAY {}
    assert_eq!(*seen.lock().unwrap(), ["/0", "/1", "/2"]);
}
