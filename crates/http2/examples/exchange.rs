//! Requests and responses in memory, over and over: what an instruction counter is to be pointed at.
//!
//! `valgrind --tool=callgrind target/release/examples/exchange 10000`, and again with 20000: the difference, divided, is
//! what an exchange costs. The requests are those of a browser that asks for one page again and again; with `small` as
//! second argument, those of a load generator (`h2load -m32`), which have five fields, one of them never in the table,
//! and come 32 at a time.

use core::time::Duration;

use bytes::BytesMut;
use serow_http2::{
    BodyLength, Event, Limits, PREFACE, Server, Settings, StreamId, frame,
    hpack::{Encoder, Pseudo},
};
use serow_message::{Headers, StatusCode};

const NOW: Duration = Duration::from_secs(1);

const BODY: &[u8] = &[b'x'; 151];

/// Rounds until the encoder has put into its table what it will.
const FILLING: u32 = 8;

fn main() {
    let requests: u32 = std::env::args().nth(1).and_then(|count| count.parse().ok()).unwrap_or(1000);
    let small = std::env::args().nth(2).is_some_and(|size| size == "small");
    let at_once = if small { 32 } else { 1 };
    let mut server = Server::new(Limits::default(), NOW);
    let mut input = BytesMut::with_capacity(16_384);
    input.extend_from_slice(PREFACE);
    let mut bytes = Vec::new();
    Settings::default().write(&mut bytes);
    frame::write_settings_ack(&mut bytes);
    frame::write_window_update(StreamId::CONNECTION, 1 << 30, &mut bytes);
    input.extend_from_slice(&bytes);
    let (mut encoder, mut output) = (Encoder::new(), Vec::with_capacity(16_384));
    let headers = file_headers();
    for round in 0..requests / at_once {
        for number in round * at_once..(round + 1) * at_once {
            // The first requests fill the table, the others refer to it; they are alike but for the stream's number.
            if round < FILLING {
                bytes.clear();
                write_request(small, &mut encoder, &mut bytes);
            }
            bytes[5..9].copy_from_slice(&(2 * number + 1).to_be_bytes());
            input.extend_from_slice(&bytes);
        }
        while let Some(event) = server.receive(&mut input, NOW).expect("nothing wrong") {
            let Event::Request(request) = event else { panic!("{event:?}") };
            let length = BodyLength::Known(BODY.len() as u64);
            server.send_head(request.stream, StatusCode::OK, headers.clone(), length).expect("its turn");
            server.set_ready(request.stream, true);
        }
        output.clear();
        server.write_control(&mut output);
        while let Some(turn) = server.next_turn(16_384) {
            server.write_head(turn.stream, b"Sun, 06 Nov 1994 08:49:37 GMT", &mut output).expect("its turn");
            server.write_data(turn.stream, BODY, true, &mut output).expect("its turn");
        }
        assert!(output.len() > BODY.len() * at_once as usize);
    }
}

/// Header fields of a file server's response.
fn file_headers() -> Headers {
    let mut headers = Headers::new();
    for (name, value) in [
        ("content-type", "text/html; charset=utf-8"),
        ("last-modified", "Sun, 06 Nov 1994 08:49:37 GMT"),
        ("etag", "\"2ebca1b1-97\""),
        ("accept-ranges", "bytes"),
    ] {
        headers.append(name, value).expect("a field");
    }
    headers
}

fn write_request(small: bool, encoder: &mut Encoder, bytes: &mut Vec<u8>) {
    let start = frame::begin_headers(bytes);
    for (pseudo, value) in [(Pseudo::Method, "GET"), (Pseudo::Scheme, "https"), (Pseudo::Authority, "www.example.com")]
    {
        encoder.encode_pseudo(pseudo, value.as_bytes(), bytes);
    }
    let path = b"/articles/2024/07/antelopes.html";
    if small {
        // An encoder that has not seen it before writes it out.
        Encoder::new().encode_pseudo(Pseudo::Path, b"/small.html", bytes);
    } else {
        encoder.encode_pseudo(Pseudo::Path, path, bytes);
    }
    for (name, value) in [
        ("user-agent", "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"),
        ("accept", "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"),
        ("accept-language", "en-US,en;q=0.5"),
        ("accept-encoding", "gzip, deflate, br, zstd"),
        ("upgrade-insecure-requests", "1"),
        ("sec-fetch-dest", "document"),
        ("sec-fetch-mode", "navigate"),
        ("sec-fetch-site", "none"),
        ("priority", "u=0, i"),
    ]
    .into_iter()
    .take(if small { 1 } else { usize::MAX })
    {
        let known = serow_message::KnownHeader::recognise(name.as_bytes());
        encoder.encode(name.as_bytes(), known, value.as_bytes(), bytes);
    }
    frame::finish_headers(start, StreamId::new(1), true, 16_384, bytes);
}
