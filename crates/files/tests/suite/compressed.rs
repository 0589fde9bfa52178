//! Files in other codings, made beforehand or on the way.

use std::{
    io::Read,
    time::{Duration, SystemTime},
};

use crate::site::{Answer, Site, get, get_with, pass, request};
use serow_files::{CacheLimits, Coding, Compression, FilesSettings};
use serow_message::BodyKind;

fn text(length: usize) -> String {
    "The serow lives in Japan's mountains. ".chars().cycle().take(length).collect()
}

fn decompressed(answer: &Answer) -> Vec<u8> {
    let mut output = Vec::new();
    match answer.field("content-encoding") {
        "br" => drop(brotli::Decompressor::new(&answer.body[..], 4096).read_to_end(&mut output).unwrap()),
        "zstd" => output = zstd::stream::decode_all(&answer.body[..]).unwrap(),
        "gzip" => drop(flate2::read::GzDecoder::new(&answer.body[..]).read_to_end(&mut output).unwrap()),
        _ => output = answer.body.to_vec(),
    }
    output
}

#[test]
fn on_the_way() {
    let (small, large) = (text(5000), text(300_000));
    let site = Site::new(&[("small.txt", &small), ("large.txt", &large), ("tiny.txt", "tiny"), ("small.png", &small)]);
    site.write("dense.txt", dense(5000));
    let files = site.serve();
    let cases = [
        ("/small.txt", "gzip, br, zstd", "zstd"),
        ("/small.txt", "gzip, br", "br"),
        ("/small.txt", "gzip", "gzip"),
        ("/small.txt", "gzip;q=0, br;q=0", ""),
        ("/small.txt", "identity", ""),
        ("/large.txt", "gzip, br, zstd", "zstd"),
        ("/large.txt", "br", "br"),
        ("/large.txt", "gzip", "gzip"),
        ("/tiny.txt", "gzip", ""),
        ("/small.png", "gzip", ""),
        ("/dense.txt", "gzip", ""),
    ];
    for (target, accept, coding) in cases {
        let plain = get(&files, target);
        for visit in ["first", "cached"] {
            let answer = get_with(&files, target, &[("accept-encoding", accept)]);
            assert_eq!(answer.field("content-encoding"), coding, "{target} {accept} {visit}");
            assert_eq!(answer.field("content-type"), plain.field("content-type"));
            assert!(decompressed(&answer) == plain.body, "{target} {accept} {visit}");
            assert_eq!(answer.field("vary"), plain.field("vary"));
            if !coding.is_empty() {
                assert_eq!(answer.field("vary"), "Accept-Encoding");
                assert!(
                    answer.field("etag").starts_with("W/") && answer.field("etag").ends_with(&format!("-{coding}\""))
                );
                assert!(answer.body.len() < plain.body.len() / 3);
                let fields = [("accept-encoding", accept), ("if-none-match", answer.field("etag"))];
                assert_eq!(get_with(&files, target, &fields).status, 304);
                let plain_tag = [("accept-encoding", accept), ("if-none-match", plain.field("etag"))];
                assert_eq!(get_with(&files, target, &plain_tag).status, 200);
            }
        }
    }
}

/// Bytes that do not get smaller, from a linear congruential generator (Knuth's MMIX).
fn dense(length: usize) -> Vec<u8> {
    let mut state = 1_u64;
    let next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    std::iter::repeat_with(next).take(length).collect()
}

#[test]
fn ranges_are_of_the_file_as_it_is() {
    let site = Site::new(&[("small.txt", &text(5000)), ("large.txt", &text(300_000))]);
    let files = site.serve();
    for target in ["/small.txt", "/large.txt"] {
        let answer = get_with(&files, target, &[("accept-encoding", "gzip"), ("range", "bytes=4-8")]);
        assert_eq!((answer.status.as_u16(), answer.field("content-encoding"), answer.text()), (206, "", "serow"));
    }
}

#[test]
fn beforehand() {
    let site = Site::new(&[
        ("a.css", "original"),
        ("a.css.br", "brotli"),
        ("a.css.gz", "gzipped"),
        ("stale.css", "new"),
        ("stale.css.gz", "old"),
        ("picture.png", "png"),
        ("picture.png.gz", "png"),
    ]);
    let stale = std::fs::File::options().write(true).open(site.path("stale.css.gz")).unwrap();
    stale.set_modified(SystemTime::now() - Duration::from_secs(100)).unwrap();
    let files = site.serve();
    let cases = [
        ("/a.css", "br, gzip", "br", "brotli"),
        ("/a.css", "br;q=0.5, gzip", "gzip", "gzipped"),
        ("/a.css", "zstd", "", "original"),
        ("/a.css", "", "", "original"),
        ("/stale.css", "gzip", "", "new"),
        ("/picture.png", "gzip", "", "png"),
    ];
    for (target, accept, coding, body) in cases {
        let answer = get_with(&files, target, &[("accept-encoding", accept)]);
        assert_eq!((answer.field("content-encoding"), answer.text()), (coding, body), "{target} {accept}");
        assert_eq!(answer.field("vary"), if target == "/a.css" { "Accept-Encoding" } else { "" });
    }
    let brotli = get_with(&files, "/a.css", &[("accept-encoding", "br")]);
    assert_ne!(brotli.field("etag"), get(&files, "/a.css").field("etag"));
    let fields = [("accept-encoding", "br"), ("range", "bytes=0-2"), ("if-range", brotli.field("etag"))];
    let part = get_with(&files, "/a.css", &fields);
    assert_eq!((part.status.as_u16(), part.field("content-encoding"), part.text()), (206, "br", "bro"));

    site.write("a.css.br", "better");
    std::fs::remove_file(site.path("a.css.gz")).unwrap();
    pass(1000);
    assert_eq!(get_with(&files, "/a.css", &[("accept-encoding", "br")]).text(), "better");
    assert_eq!(get_with(&files, "/a.css", &[("accept-encoding", "gzip")]).text(), "original");
}

#[test]
fn a_limited_number_of_encoders() {
    let site = Site::new(&[("large.txt", &text(300_000))]);
    let compression = Some(Compression { concurrent: 2, ..Compression::default() });
    let files =
        site.serve_with(FilesSettings { compression, cache: CacheLimits::default(), ..FilesSettings::default() });
    let ask = || files.respond(&request("GET".parse().unwrap(), "/large.txt", &[("accept-encoding", "gzip")]));
    let coded = |response: &serow_message::Response| response.headers.contains("content-encoding");
    let (one, two, three) = (ask(), ask(), ask());
    assert_eq!([coded(&one), coded(&two), coded(&three)], [true, true, false]);
    assert!(matches!(three.body.kind(), BodyKind::File(_)));
    drop(one);
    assert!(coded(&ask()));
}

#[test]
fn only_the_codings_of_the_settings_in_their_order() {
    use Coding::{Brotli, Gzip, Zstd};
    let site = Site::new(&[("a.txt", &text(5000)), ("b.txt", &text(5000)), ("b.txt.gz", "gzipped")]);
    site.write("b.txt.br", "brotli");
    let cases: [(&[Coding], [&str; 4]); 5] = [
        (&[Gzip, Brotli], ["gzip", "br", "gzip", ""]),
        (&[Brotli, Gzip], ["br", "br", "br", ""]),
        (&[Gzip], ["gzip", "", "gzip", ""]),
        (&[Zstd], ["zstd", "", "", "zstd"]),
        (&[], ["", "", "", ""]),
    ];
    for (codings, expected) in cases {
        let accepts = ["br, gzip, zstd", "br", "br, gzip", "zstd"];
        let compression = Some(Compression { codings: codings.to_vec(), ..Compression::default() });
        let files =
            site.serve_with(FilesSettings { compression, precompressed: Vec::new(), ..FilesSettings::default() });
        let beside = FilesSettings { compression: None, precompressed: codings.to_vec(), ..FilesSettings::default() };
        let beside = site.serve_with(beside);
        for (accept, coding) in accepts.into_iter().zip(expected) {
            let answer = get_with(&files, "/a.txt", &[("accept-encoding", accept)]);
            assert_eq!(answer.field("content-encoding"), coding, "{codings:?} {accept}");
            assert_eq!(answer.field("vary").is_empty(), codings.is_empty(), "{codings:?} {accept}");
            let answer = get_with(&beside, "/b.txt", &[("accept-encoding", accept)]);
            let coding = if coding == "zstd" { "" } else { coding };
            assert_eq!(answer.field("content-encoding"), coding, "{codings:?} {accept}");
        }
    }
}

#[test]
fn files_compressed_while_sending_are_not_sent_in_parts() {
    let site =
        Site::new(&[("small.txt", &text(5000)), ("large.txt", &text(300_000)), ("a.css", ""), ("a.css.br", "br")]);
    let files = site.serve();
    let with = |target, coding| get_with(&files, target, &[("accept-encoding", coding)]);
    for target in ["/small.txt", "/large.txt"] {
        assert_eq!(with(target, "gzip").field("accept-ranges"), "");
        assert_eq!(with(target, "identity").field("accept-ranges"), "bytes");
        // A client that has a part of it and wants the rest receives the whole file, not the rest of another form.
        let tag = with(target, "gzip").field("etag").to_owned();
        let fields = [("accept-encoding", "gzip"), ("range", "bytes=100-"), ("if-range", &tag)];
        assert_eq!(get_with(&files, target, &fields).status, 200);
    }
    assert_eq!(with("/a.css", "br").field("accept-ranges"), "bytes");
}

#[test]
fn several_parts_are_of_the_file_as_it_is_only() {
    let site = Site::new(&[("a.css", "original"), ("a.css.br", "brotli")]);
    let fields = [("accept-encoding", "br"), ("range", "bytes=0-0,2-2")];
    let answer = get_with(&site.serve(), "/a.css", &fields);
    assert_eq!((answer.status.as_u16(), answer.field("content-encoding"), answer.text()), (200, "br", "brotli"));
}

#[test]
fn every_answer_that_was_negotiated_says_so() {
    let site = Site::new(&[("a.css", &text(5000)), ("b.css", "original"), ("b.css.br", "brotli")]);
    let files = site.serve();
    for target in ["/a.css", "/b.css"] {
        for coding in ["br", "identity", "br;q=0, *;q=0", "identity;q=0", "*;q=0"] {
            let first = get_with(&files, target, &[("accept-encoding", coding)]);
            let cases: [(&str, &str, u16); 4] = [
                ("if-none-match", first.field("etag"), 304),
                ("if-none-match", "*", 304),
                ("if-modified-since", first.field("last-modified"), 304),
                ("range", "bytes=0-1", 206),
            ];
            for (name, value, status) in cases {
                let answer = get_with(&files, target, &[("accept-encoding", coding), (name, value)]);
                assert_eq!(
                    (answer.status.as_u16(), answer.field("vary")),
                    (status, "Accept-Encoding"),
                    "{coding} {name}"
                );
                let of_identity = status == 206 && target == "/a.css" && coding == "br";
                assert_eq!(answer.field("etag") == first.field("etag"), !of_identity, "{coding} {name}");
            }
        }
    }
}

#[test]
fn a_compressed_file_without_its_original_is_only_itself() {
    let site = Site::new(&[("a.css.gz", "gzipped")]);
    let files = site.serve();
    assert_eq!(get_with(&files, "/a.css", &[("accept-encoding", "gzip")]).status, 404);
    let itself = get_with(&files, "/a.css.gz", &[("accept-encoding", "gzip")]);
    assert_eq!((itself.field("content-type"), itself.field("content-encoding")), ("application/gzip", ""));
}
