//! A folder of files, a server of it without sockets, and a clock that is set by hand.

#![allow(dead_code, reason = "each test file uses a part of it")]

use std::{
    cell::Cell,
    fs,
    future::Future,
    path::{Path, PathBuf},
    pin::pin,
    task::{Context, Poll, Waker},
    time::{Duration, SystemTime},
};

use bytes::Bytes;
use serow_files::{Clock, Files, FilesSettings};
use serow_message::{Body, BoxError, Method, Request, Response, StatusCode};

thread_local! {
    static MILLISECONDS: Cell<u64> = const { Cell::new(1_000_000) };
}

/// A clock that stands still until [`pass`]. Its time of day is an hour ahead, so that every file has rested.
pub(crate) fn clock() -> Clock {
    Clock { milliseconds: || MILLISECONDS.get(), time_of_day: || SystemTime::now() + Duration::from_secs(3600) }
}

/// A clock like [`clock`], but by whose time of day files are as young as they are.
pub(crate) fn true_clock() -> Clock {
    Clock { time_of_day: SystemTime::now, ..clock() }
}

/// Lets time pass on this test's thread.
pub(crate) fn pass(milliseconds: u64) {
    MILLISECONDS.set(MILLISECONDS.get() + milliseconds);
}

/// A temporary folder.
pub(crate) struct Site {
    folder: tempfile::TempDir,
}

impl Site {
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let site = Self { folder: tempfile::tempdir().unwrap() };
        for (path, content) in files {
            site.write(path, content);
        }
        site
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn root(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        fs::write(self.path(name), content).unwrap();
    }

    /// Puts a new file in an old one's place, as editors and deployments do.
    pub(crate) fn replace(&self, name: &str, content: impl AsRef<[u8]>) {
        self.write("replacement", content);
        fs::rename(self.path("replacement"), self.path(name)).unwrap();
    }

    pub(crate) fn serve(&self) -> Files {
        self.serve_with(FilesSettings::default())
    }

    pub(crate) fn serve_with(&self, settings: FilesSettings) -> Files {
        Files::with_settings(self.root(), settings).unwrap().with_clock(clock())
    }
}

/// A request with header fields.
pub(crate) fn request(method: Method, target: &'static str, fields: &[(&str, &str)]) -> Request {
    let mut request = Request::get(target);
    request.method = method;
    for (name, value) in fields {
        request.headers.append(*name, value).unwrap();
    }
    request
}

/// An answer with its body read.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) response: Response,
    pub(crate) body: Bytes,
}

impl Answer {
    /// A header field; empty if there is none.
    pub(crate) fn field(&self, name: &str) -> &str {
        self.response.headers.get_str(name).unwrap_or_default()
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }
}

pub(crate) fn get(files: &Files, target: &'static str) -> Answer {
    get_with(files, target, &[])
}

pub(crate) fn get_with(files: &Files, target: &'static str, fields: &[(&str, &str)]) -> Answer {
    ask(files, &request(Method::GET, target, fields))
}

pub(crate) fn ask(files: &Files, request: &Request) -> Answer {
    let mut response = files.respond(request);
    let body = std::mem::take(&mut response.body);
    Answer { status: response.status, response, body: read(body).unwrap() }
}

/// Reads a body to its end.
pub(crate) fn read(body: Body) -> Result<Bytes, BoxError> {
    let announced = body.length();
    let mut reading = pin!(body.collect(usize::MAX));
    let mut context = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(whole) = reading.as_mut().poll(&mut context) {
            let whole = whole?;
            assert!(announced.is_none_or(|length| length == whole.len() as u64), "a length that is not kept");
            return Ok(whole);
        }
    }
}
