//! Whatever is requested: nothing from outside the folder, parts that are slices of the whole, HEAD as GET.
//!
//! The input is a request as people write it: `GET /path?query`, then a field on each line. `$tag` and `$date` in a field
//! stand for the validators of what is requested.

use std::{
    cell::Cell,
    fs,
    future::Future,
    ops::Range,
    os::unix::{ffi::OsStrExt, fs::symlink},
    path::{Path, PathBuf},
    pin::pin,
    task::{Context, Poll, Waker},
    time::{Duration, SystemTime},
};

use bytes::Bytes;
use serow_files::{CacheLimits, Clock, Compression, Files, FilesSettings, Listing, Rewrite};
use serow_message::{Body, Headers, KnownHeader, Method, Request, Target};

thread_local! {
    static HANDLERS: [Files; 2] = handlers();
    static MILLISECONDS: Cell<u64> = const { Cell::new(0) };
}

/// The target.
pub fn target(data: &[u8]) {
    let mut lines = data.split(|&byte| byte == b'\n');
    let first = lines.next().unwrap_or_default();
    let Some((method, target)) = split_once(first, b' ') else { return };
    let (Ok(method), Ok(target)) = (Method::from_bytes(method), Target::parse(Bytes::copy_from_slice(target), false))
    else {
        return;
    };
    let fields: Vec<(&[u8], &[u8])> = lines.filter_map(|line| split_once(line, b':')).collect();
    HANDLERS.with(|handlers| {
        for files in handlers {
            check(files, &method, &target, &fields);
        }
    });
}

fn check(files: &Files, method: &Method, target: &Target, fields: &[(&[u8], &[u8])]) {
    let plain = ask(files, &Method::GET, target, &Headers::new());
    let mut headers = Headers::new();
    for (name, value) in fields {
        let value = match value.trim_ascii() {
            b"$tag" => plain.field("etag").as_bytes(),
            b"$date" => plain.field("last-modified").as_bytes(),
            value => value,
        };
        let Ok(name) = std::str::from_utf8(name) else { continue };
        let _ = headers.append(name, value);
    }
    let answer = ask(files, method, target, &headers);
    match answer.status {
        206 => check_parts(files, target, &headers, &answer),
        301 => {
            let location = answer.field("location");
            // The query is the client's own and leads nowhere.
            let path = location.split('?').next().unwrap_or_default();
            assert!(path.starts_with('/') && !path.starts_with("//") && !path.contains('\\'), "{location}");
        }
        _ => {}
    }
    check_negotiation(files, target, &headers, &answer);
    headers.remove(KnownHeader::Range);
    let [get, head] = [Method::GET, Method::HEAD].map(|method| ask(files, &method, target, &headers));
    assert_eq!((get.status, &get.fields), (head.status, &head.fields), "HEAD is not as GET");
}

/// A response that was chosen by Accept-Encoding says so, and a 304 says what the 200 would.
fn check_negotiation(files: &Files, target: &Target, headers: &Headers, answer: &Answer) {
    if !answer.field("content-encoding").is_empty() {
        assert!(answer.varies("Accept-Encoding"), "{:?}", answer.fields);
    }
    if answer.status == 304 {
        let mut without = headers.clone();
        for condition in [
            KnownHeader::IfNoneMatch,
            KnownHeader::IfModifiedSince,
            KnownHeader::IfMatch,
            KnownHeader::IfUnmodifiedSince,
        ] {
            without.remove(condition);
        }
        if !without.contains(KnownHeader::Range) {
            let whole = ask(files, &Method::GET, target, &without);
            assert_eq!(whole.status, 200);
            for name in ["etag", "last-modified", "vary"] {
                assert_eq!(whole.field(name), answer.field(name), "{name}");
            }
        }
    }
}

/// Each part is the slice of the whole that it says it is.
fn check_parts(files: &Files, target: &Target, headers: &Headers, answer: &Answer) {
    let mut whole_headers = Headers::new();
    for value in headers.get_all(KnownHeader::Accept) {
        whole_headers.append(KnownHeader::Accept, value).expect("it stood in a header");
    }
    let coding = answer.field("content-encoding");
    if !coding.is_empty() {
        whole_headers.append(KnownHeader::AcceptEncoding, coding).expect("a coding");
    }
    let whole = ask(files, &Method::GET, target, &whole_headers);
    assert_eq!(
        (whole.status, whole.field("content-encoding"), whole.field("etag")),
        (200, coding, answer.field("etag"))
    );
    let whole = &whole.body;
    let Some(boundary) = answer.field("content-type").strip_prefix("multipart/byteranges; boundary=") else {
        let range = range_of(answer.field("content-range"), whole.len());
        assert!(answer.body == whole[range.clone()]);
        if let Some((first, last)) = simple_range(headers.get_str(KnownHeader::Range).unwrap_or_default()) {
            assert_eq!(range, first..last.saturating_add(1).min(whole.len()));
        }
        return;
    };
    let end = format!("\r\n--{boundary}--\r\n");
    let mut rest = answer.body.strip_suffix(end.as_bytes()).expect("an end");
    let mut sum = 0;
    while !rest.is_empty() {
        rest = rest.strip_prefix(format!("\r\n--{boundary}\r\n").as_bytes()).expect("a boundary");
        let length = rest.windows(4).position(|bytes| bytes == b"\r\n\r\n").expect("a head");
        let head = std::str::from_utf8(&rest[..length]).expect("a head of text");
        let (_, range) = head.split_once("Content-Range: ").expect("a range");
        let range = range_of(range, whole.len());
        let (part, behind) = rest[length + 4..].split_at(range.len());
        assert!(part == &whole[range]);
        sum += part.len();
        rest = behind;
    }
    assert!(sum <= whole.len(), "more than the whole");
}

/// The range that a Content-Range names.
fn range_of(text: &str, length: usize) -> Range<usize> {
    let (range, whole) = text.strip_prefix("bytes ").and_then(|text| text.split_once('/')).expect("a Content-Range");
    let (first, last) = range.split_once('-').expect("a range");
    assert_eq!(whole.parse(), Ok(length));
    first.parse().expect("a number")..last.parse::<usize>().expect("a number") + 1
}

/// `bytes=first-last` or `bytes=first-`, where it is nothing else.
fn simple_range(text: &str) -> Option<(usize, usize)> {
    let (first, last) = text.strip_prefix("bytes=")?.split_once('-')?;
    let number = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?;
    Some((number(first)?, if last.is_empty() { usize::MAX } else { number(last)? }))
}

/// An answer with its body read.
struct Answer {
    status: u16,
    fields: Vec<(String, String)>,
    body: Bytes,
}

impl Answer {
    fn field(&self, name: &str) -> &str {
        let field = self.fields.iter().find(|field| field.0.eq_ignore_ascii_case(name));
        field.map_or("", |field| &field.1)
    }

    fn varies(&self, by: &str) -> bool {
        self.fields.iter().any(|field| field.0.eq_ignore_ascii_case("vary") && field.1 == by)
    }
}

/// Asks, and looks at what no answer may be.
fn ask(files: &Files, method: &Method, target: &Target, headers: &Headers) -> Answer {
    MILLISECONDS.set(MILLISECONDS.get() + 40);
    let mut request = Request::get("/");
    request.method = method.clone();
    request.target = target.clone();
    request.headers = headers.clone();
    let response = files.respond(&request);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let fields = response.headers.iter().map(|(name, value)| (text(name), text(value))).collect();
    let answer = Answer { status: response.status.as_u16(), fields, body: read(response.body) };
    let allowed = [200, 204, 206, 301, 304, 400, 404, 405, 412, 416];
    assert!(allowed.contains(&answer.status), "{}", answer.status);
    for secret in [OUTSIDE, HIDDEN] {
        assert!(!answer.body.windows(secret.len()).any(|bytes| bytes == secret), "a secret got out");
    }
    if answer.field("content-type").starts_with("text/html") {
        assert!(!answer.body.windows(7).any(|bytes| bytes == b"<script"), "a name became a tag");
    }
    answer
}

fn read(body: Body) -> Bytes {
    let announced = body.length();
    let mut reading = pin!(body.collect(usize::MAX));
    let mut context = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(whole) = reading.as_mut().poll(&mut context) {
            let whole = whole.expect("nobody changes the files");
            assert!(announced.is_none_or(|length| length == whole.len() as u64));
            return whole;
        }
    }
}

/// One as a plain site, one with all that can be set.
fn handlers() -> [Files; 2] {
    let root = folder();
    let cache = CacheLimits { entries: 16, open_files: 3, bytes: 20_000, body: 1000, ..CacheLimits::default() };
    let compression = Some(Compression { smallest: 100, ..Compression::default() });
    let plain = FilesSettings { cache: cache.clone(), compression: compression.clone(), ..FilesSettings::default() };
    let full = FilesSettings {
        listing: Listing::Negotiated,
        rewrite: vec![Rewrite::new("/r/*", "/*"), Rewrite::new("/up/*", "/../*/..")],
        fallback: Some("docs/index.html".to_owned()),
        not_found: Some("large.txt".to_owned()),
        zero_copy: false,
        compression,
        cache,
        ..FilesSettings::default()
    };
    let clock = Clock { milliseconds: || MILLISECONDS.get(), time_of_day: in_an_hour };
    [plain, full].map(|settings| Files::with_settings(&root, settings).expect("a folder").with_clock(clock))
}

/// Late enough that no file is a new one, whose tags would be weak.
fn in_an_hour() -> SystemTime {
    (Clock::default().time_of_day)() + Duration::from_secs(3600)
}

/// A folder of this process beside its program; those of processes that are no more go.
fn folder() -> PathBuf {
    let program = std::env::current_exe().expect("a program");
    let sites = program.with_file_name("fuzzing-sites");
    for site in fs::read_dir(&sites).into_iter().flatten().flatten() {
        if !Path::new("/proc").join(site.file_name()).exists() {
            let _ = fs::remove_dir_all(site.path());
        }
    }
    let site = sites.join(std::process::id().to_string());
    let root = site.join("root");
    for folder in ["docs/deep", "empty", "a b"] {
        fs::create_dir_all(root.join(folder)).expect("a folder");
    }
    let text = b"The serow lives in the mountains. ".repeat(100);
    let files: [(&[u8], &[u8]); 13] = [
        (b"index.html", b"<h1>start</h1>"),
        (b"style.css", &text),
        (b"style.css.br", b"brotli"),
        (b"style.css.gz", b"gzipped"),
        (b"small.txt", &text[..500]),
        (b"large.txt", &text[..3000]),
        (b"docs/index.html", b"documents"),
        (b"docs/deep/page", b""),
        (b"a b/100%.txt", b"0123456789"),
        (b"a b/<script>\"'&.txt", b"x"),
        (b"a b/\xff\xfe", b"no text"),
        (b".env", HIDDEN),
        (b"../secret", OUTSIDE),
    ];
    for (name, content) in files {
        fs::write(root.join(Path::new(std::ffi::OsStr::from_bytes(name))), content).expect("a file");
    }
    for (target, name) in
        [("style.css", "in.css"), ("../secret", "out"), ("..", "up"), ("/etc", "etc"), ("loop", "loop")]
    {
        let _ = symlink(target, root.join(name));
    }
    root
}

fn split_once(bytes: &[u8], separator: u8) -> Option<(&[u8], &[u8])> {
    let place = bytes.iter().position(|&byte| byte == separator)?;
    Some((&bytes[..place], &bytes[place + 1..]))
}

const OUTSIDE: &[u8] = b"OUTSIDE the root";

const HIDDEN: &[u8] = b"HIDDEN from clients";
