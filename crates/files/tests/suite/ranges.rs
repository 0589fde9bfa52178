//! Parts of files, small and large, from memory and from the disk.

use crate::site::{Answer, Site, ask, get, get_with, request};
use proptest::prelude::*;
use serow_files::{CacheLimits, Files, FilesSettings};
use serow_message::{BodyKind, Method};

fn content(length: usize) -> String {
    (0..length).map(|index| char::from(b'a' + (index % 26) as u8)).collect()
}

/// The same file served from memory, by `sendfile`, and by copying.
fn all_ways(site: &Site) -> [Files; 3] {
    let with = |body, zero_copy| {
        let cache = CacheLimits { body, ..CacheLimits::default() };
        site.serve_with(FilesSettings { cache, zero_copy, ..FilesSettings::default() })
    };
    [with(1 << 20, true), with(0, true), with(0, false)]
}

/// The parts of a multipart body: Content-Range and content of each.
fn parts(answer: &Answer) -> Vec<(String, String)> {
    let boundary = answer.field("content-type").strip_prefix("multipart/byteranges; boundary=").unwrap();
    let body = answer.text().strip_suffix(&format!("\r\n--{boundary}--\r\n")).unwrap();
    let between = format!("\r\n--{boundary}\r\n");
    body.split(&between)
        .skip(1)
        .map(|piece| {
            let (head, content) = piece.split_once("\r\n\r\n").unwrap();
            let (media_type, range) = head.split_once("\r\nContent-Range: ").unwrap();
            assert_eq!(media_type, "Content-Type: text/plain; charset=utf-8");
            (range.to_owned(), content.to_owned())
        })
        .collect()
}

#[test]
fn the_ways_are_what_they_should_be() {
    let site = Site::new(&[("x.txt", &content(100))]);
    let kinds =
        all_ways(&site).map(|files| match files.respond(&request(Method::GET, "/x.txt", &[])).body.into_kind() {
            BodyKind::Bytes(_) => "memory",
            BodyKind::File(range) => {
                assert!(range.version.is_some());
                "file"
            }
            BodyKind::Stream(_) => "stream",
            _ => "other",
        });
    assert_eq!(kinds, ["memory", "file", "stream"]);
}

#[test]
fn single_ranges() {
    let text = content(100_000);
    let site = Site::new(&[("x.txt", &text)]);
    let cases = [
        ("bytes=0-9", 206, "bytes 0-9/100000", &text[..10]),
        ("bytes=99990-", 206, "bytes 99990-99999/100000", &text[99_990..]),
        ("bytes=-5", 206, "bytes 99995-99999/100000", &text[99_995..]),
        ("bytes=10-70000", 206, "bytes 10-70000/100000", &text[10..70_001]),
        ("bytes=0-0,100000-", 206, "bytes 0-0/100000", &text[..1]),
        ("bytes=100000-", 416, "bytes */100000", "416 Range Not Satisfiable\n"),
        ("bytes=9-0", 200, "", &text),
        ("lines=1-2", 200, "", &text),
    ];
    for files in all_ways(&site) {
        for (range, status, content_range, body) in cases {
            let answer = get_with(&files, "/x.txt", &[("range", range)]);
            assert_eq!((answer.status.as_u16(), answer.field("content-range")), (status, content_range), "{range}");
            assert!(answer.text() == body, "{range}");
        }
        let head = ask(&files, &request(Method::HEAD, "/x.txt", &[("range", "bytes=0-9")]));
        assert_eq!(head.status, 200);
    }
}

#[test]
fn several_ranges() {
    let text = content(100_000);
    let site = Site::new(&[("x.txt", &text)]);
    for files in all_ways(&site) {
        let answer = get_with(&files, "/x.txt", &[("range", "bytes=90000-, 0-0, 5-9")]);
        assert_eq!(answer.status, 206);
        assert_eq!(answer.field("content-range"), "");
        let expected = [
            ("bytes 90000-99999/100000", &text[90_000..]),
            ("bytes 0-0/100000", &text[..1]),
            ("bytes 5-9/100000", &text[5..10]),
        ];
        assert!(parts(&answer) == expected.map(|(range, part)| (range.to_owned(), part.to_owned())));
        // CVE-2011-3192.
        let greedy: Vec<String> = (0..1300).map(|start| format!("{start}-")).collect();
        let answer = get_with(&files, "/x.txt", &[("range", &format!("bytes={}", greedy.join(",")))]);
        assert_eq!((answer.status.as_u16(), answer.body.len()), (200, 100_000));
    }
}

#[test]
fn if_range() {
    let site = Site::new(&[("x.txt", "0123456789")]);
    let files = site.serve();
    let first = get(&files, "/x.txt");
    let cases = [
        (first.field("etag"), 206),
        (first.field("last-modified"), 206),
        ("\"other\"", 200),
        ("Sun, 06 Nov 1994 08:49:37 GMT", 200),
    ];
    for (value, status) in cases {
        let answer = get_with(&files, "/x.txt", &[("range", "bytes=0-1"), ("if-range", value)]);
        assert_eq!(answer.status.as_u16(), status, "{value}");
    }
}

#[test]
fn an_empty_file() {
    let site = Site::new(&[("x.txt", "")]);
    for files in all_ways(&site) {
        assert_eq!(get(&files, "/x.txt").text(), "");
        // As nginx and Go's servers have it, for clients that ask for a range of whatever they fetch.
        let answer = get_with(&files, "/x.txt", &[("range", "bytes=0-")]);
        assert_eq!((answer.status.as_u16(), answer.text()), (200, ""));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn ranges_are_sent_as_slices_of_the_file(
        length in 1_usize..2000,
        ranges in proptest::collection::vec((0_usize..2200, 0_usize..400), 1..5),
    ) {
        let text = content(length);
        let site = Site::new(&[("x.txt", &text)]);
        let header = ranges.iter().map(|(first, more)| format!("{first}-{}", first + more)).collect::<Vec<_>>().join(",");
        let slices: Vec<String> = ranges.iter()
            .filter(|(first, _)| *first < length)
            .map(|&(first, more)| text[first..(first + more + 1).min(length)].to_owned())
            .collect();
        for files in all_ways(&site) {
            let answer = get_with(&files, "/x.txt", &[("range", &format!("bytes={header}"))]);
            match answer.status.as_u16() {
                416 => prop_assert!(slices.is_empty()),
                200 => prop_assert!(answer.text() == text && slices.len() > 1),
                206 if slices.len() == 1 => prop_assert!(answer.text() == slices[0]),
                206 => {
                    let sent: Vec<String> = parts(&answer).into_iter().map(|(_, part)| part).collect();
                    prop_assert!(sent == slices);
                }
                other => prop_assert!(false, "{}", other),
            }
        }
    }
}
