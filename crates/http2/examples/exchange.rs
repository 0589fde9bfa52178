//! Requests and responses in memory, over and over: what an instruction counter is to be pointed at.
//!
//! `valgrind --tool=callgrind target/release/examples/exchange 10000`, and again with 20000: the difference, divided, is
//! what an exchange costs. The requests are those of a browser that asks for one page again and again; with `small` as
//! second argument, those of a load generator, which have five fields.

use core::time::Duration;

use bytes::BytesMut;
use serow_http2::{
    BodyLength, Event, Limits, PREFACE, Server, Settings, StreamId, frame,
    hpack::{Encoder, Pseudo},
};
use serow_message::{Headers, StatusCode};

const NOW: Duration = Duration::from_secs(1);

const BODY: &[u8] = b"Hello, world!";

/// Requests until the encoder has put into its table what it will.
const FILLING: u32 = 8;

fn main() {
    let rounds: u32 = std::env::args().nth(1).and_then(|count| count.parse().ok()).unwrap_or(1000);
    let mut server = Server::new(Limits::default(), NOW);
    let mut input = BytesMut::with_capacity(4096);
    input.extend_from_slice(PREFACE);
    let mut bytes = Vec::new();
    Settings::default().write(&mut bytes);
    frame::write_settings_ack(&mut bytes);
    frame::write_window_update(StreamId::CONNECTION, 1 << 30, &mut bytes);
    let (mut encoder, mut output) = (Encoder::new(), Vec::with_capacity(4096));
    let mut headers = Headers::new();
    headers.append("content-type", "text/plain; charset=utf-8").expect("a field");
    headers.append("server", "serow").expect("a field");
    input.extend_from_slice(&bytes);
    for round in 0..rounds {
        // The first requests fill the table, the others refer to it; they are alike but for the stream's number.
        if round < FILLING {
            bytes.clear();
            write_request(&mut encoder, &mut bytes);
        }
        bytes[5..9].copy_from_slice(&(2 * round + 1).to_be_bytes());
        input.extend_from_slice(&bytes);
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
        assert!(output.len() > BODY.len());
    }
}

fn write_request(encoder: &mut Encoder, bytes: &mut Vec<u8>) {
    let small = std::env::args().nth(2).is_some_and(|size| size == "small");
    let start = frame::begin_headers(bytes);
    for (pseudo, value) in [
        (Pseudo::Method, "GET"),
        (Pseudo::Scheme, "https"),
        (Pseudo::Authority, "www.example.com"),
        (Pseudo::Path, "/articles/2024/07/antelopes.html"),
    ] {
        encoder.encode_pseudo(pseudo, value.as_bytes(), bytes);
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
        let known = serow_message::Known::recognise(name.as_bytes());
        encoder.encode(name.as_bytes(), known, value.as_bytes(), bytes);
    }
    frame::finish_headers(start, StreamId::new(1), true, 16_384, bytes);
}
