//! Files as bodies of streams beside each other.

use serow_http2::ErrorCode;

use crate::{
    files::{RANGES, file_of, file_server},
    support::{
        Ended, Folder,
        frames::{DATA, HEADERS, WINDOW_UPDATE},
    },
};

#[test]
fn many_ranges_of_a_file_arrive_at_once() {
    let folder = Folder::new("http2-ranges");
    let (path, content) = file_of(3_000_000, &folder);
    for versioned in [false, true] {
        let server = file_server(path.clone(), versioned);
        let mut client = server.connect_http2();
        let streams = RANGES.map(|(offset, length)| client.ask(&format!("/{offset}/{length}")));
        for (stream, (offset, length)) in streams.into_iter().zip(RANGES) {
            assert!(client.answer(stream).body == content[offset..offset + length], "{offset} {length}");
        }
    }
}

#[test]
fn a_file_waits_for_its_window() {
    let folder = Folder::new("http2-windows");
    let (path, content) = file_of(100_000, &folder);
    let server = file_server(path, true);
    // RFC 9113 §6.5.2: the windows of streams begin shut.
    let mut client = server.connect_frames(&[(4, 0)]);
    for stream in [1, 3] {
        client.ask(stream, "0/all");
        assert_eq!(client.until(HEADERS, stream).flags, 0x4);
    }
    client.send(WINDOW_UPDATE, 0, 3, &[0, 0, 0, 1]);
    assert_eq!(client.until(DATA, 3).payload, content[..1]);
    // One is cut off while the other has its turn.
    client.send(WINDOW_UPDATE, 0, 1, &[0, 0, 0, 0]);
    client.send(WINDOW_UPDATE, 0, 3, &[0, 0, 0, 9]);
    assert_eq!(client.until(DATA, 3).payload, content[1..10]);
}

#[test]
fn files_that_break_off_do_not_trouble_those_beside_them() {
    let folder = Folder::new("http2-broken");
    let (path, _) = file_of(10_000, &folder);
    for versioned in [false, true] {
        let server = file_server(path.clone(), versioned);
        let mut client = server.connect_http2();
        for _ in 0..10 {
            let streams: Vec<_> = ["/0/20000", "/0/10000", "/0/20000", "/0/20000", "/5/9995", "/0/10000"]
                .map(|target| (target, client.ask(target)))
                .into();
            for (target, stream) in streams {
                let (answer, ended) = client.outcome(stream);
                match target {
                    "/0/20000" => assert_eq!(ended, Ended::Reset(ErrorCode::INTERNAL_ERROR)),
                    _ => assert_eq!(ended, Ended::Whole, "{answer:?}"),
                }
            }
        }
    }
}
