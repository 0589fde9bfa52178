//! Requests and responses in memory, over and over: what an instruction counter is to be pointed at.
//!
//! `valgrind --tool=callgrind target/release/examples/http3_exchange 10000`, and again with 20000: the difference, divided, is
//! what an exchange costs the server. The requests are those of a browser that asks for one page again and again; with
//! `small` as second argument, those of a load generator, which have five fields, and come 32 at a time.

use core::{ops::ControlFlow, time::Duration};

use bytes::Bytes;
use serow_http3::{
    BodyLength, Event, Follows, Limits, OwnStream, Server, Settings, StreamId,
    frame::{HEADERS_ROOM, finish_headers},
    qpack::{Decoded, Decoder, Encoder, Pseudo},
};
use serow_message::{Headers, StatusCode};

const NOW: Duration = Duration::from_secs(1);

const BODY: &[u8] = &[b'x'; 151];

/// Rounds until the encoders have put into their tables what they will.
const FILLING: u32 = 8;

/// The client's streams.
const CONTROL: StreamId = StreamId::of_quic(2);
const ENCODER: StreamId = StreamId::of_quic(6);
const DECODER: StreamId = StreamId::of_quic(10);

fn main() {
    let requests: u32 = std::env::args().nth(1).and_then(|count| count.parse().ok()).unwrap_or(1000);
    let small = std::env::args().nth(2).is_some_and(|size| size == "small");
    let at_once = if small { 32 } else { 1 };
    let mut server = Server::new(Limits::default(), NOW);
    let (mut encoder, mut decoder) = (Encoder::new(), Decoder::new(4096, 16));
    encoder.set_limits(4096, 16);
    begin(&mut server);
    let headers = file_headers();
    let (mut request, mut instructions, mut output) = (Vec::new(), Vec::new(), Vec::with_capacity(16_384));
    for round in 0..requests / at_once {
        for number in round * at_once..(round + 1) * at_once {
            let stream = StreamId::of_quic(4 * u64::from(number));
            // The first requests fill the table, the others refer to it; they are alike but for the stream's number.
            if round < FILLING {
                request.clear();
                write_request(small, stream, &mut encoder, &mut request);
                encoder.write(&mut instructions);
                receive(&mut server, ENCODER, &std::mem::take(&mut instructions), false);
            }
            receive(&mut server, stream, &request, true);
        }
        while let Some(event) = server.next_event() {
            let Event::Request(request) = event else { panic!("{event:?}") };
            let length = BodyLength::Known(BODY.len() as u64);
            server.send_head(request.stream, StatusCode::OK, headers.clone(), length).expect("its turn");
            server.set_ready(request.stream, true);
        }
        if round < FILLING {
            let _ = encoder.receive(&server.control(OwnStream::QpackDecoder).split());
        }
        server.control(OwnStream::QpackDecoder).clear();
        while let Some(turn) = server.next_turn(16_384) {
            output.clear();
            let _ = server.write_head(turn.stream, b"Sun, 06 Nov 1994 08:49:37 GMT", &mut output).expect("its turn");
            let head = output.len();
            let follows = server.write_data(turn.stream, BODY, true, &mut output);
            assert!(follows == Ok(Follows::Fin) && output.len() > BODY.len());
            decoder.receive(&server.control(OwnStream::QpackEncoder).split()).expect("nothing wrong");
            let section = &output[HEADERS_ROOM..head];
            let decoded = decoder.decode(turn.stream, section, |_| ControlFlow::Break(()));
            assert_eq!(decoded, Ok(Decoded::Whole));
        }
        decoder.write(&mut instructions);
        receive(&mut server, DECODER, &instructions, false);
        instructions.clear();
    }
}

/// The beginning of the client's unidirectional streams.
fn begin(server: &mut Server) {
    let settings = Settings { qpack_max_table_capacity: 4096, qpack_blocked_streams: 16, ..Settings::default() };
    let mut bytes = bytes::BytesMut::from(&[0][..]);
    settings.write(&mut bytes);
    receive(server, CONTROL, &bytes, false);
    receive(server, ENCODER, &[2], false);
    receive(server, DECODER, &[3], false);
    for own in OwnStream::ALL {
        // All but the type.
        server.control(own).clear();
    }
}

fn receive(server: &mut Server, stream: StreamId, bytes: &[u8], fin: bool) {
    server.receive(stream, Bytes::copy_from_slice(bytes), fin, NOW).expect("nothing wrong");
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

fn write_request(small: bool, stream: StreamId, encoder: &mut Encoder, bytes: &mut Vec<u8>) {
    bytes.extend_from_slice(&[0; HEADERS_ROOM]);
    let mut section = encoder.begin(stream, bytes);
    for (pseudo, value) in [(Pseudo::Method, "GET"), (Pseudo::Scheme, "https"), (Pseudo::Authority, "www.example.com")]
    {
        section.encode_pseudo(pseudo, value.as_bytes());
    }
    let path: &[u8] = if small { b"/small.html" } else { b"/articles/2024/07/antelopes.html" };
    section.encode_pseudo(Pseudo::Path, path);
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
        section.encode(name.as_bytes(), known, value.as_bytes());
    }
    section.finish();
    finish_headers(0, bytes);
}
