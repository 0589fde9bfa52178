//! One busy client does not keep the others of its worker waiting.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
    thread::JoinHandle,
    time::{Duration, Instant},
};

use http_body::Frame;
use serow::{Body, BoxError, Bytes, FileRange, Request, Response};

use crate::support::{Client, Folder, Running, Spoken};

/// Threads that keep a worker busy until this is dropped.
pub(crate) struct Busy {
    over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Busy {
    pub(crate) fn new() -> Self {
        Self { over: Arc::default(), threads: Vec::new() }
    }

    /// Repeats this on a thread.
    pub(crate) fn repeat(mut self, mut work: impl FnMut() -> std::io::Result<()> + Send + 'static) -> Self {
        let over = Arc::clone(&self.over);
        self.threads.push(std::thread::spawn(move || while !over.load(Ordering::Relaxed) && work().is_ok() {}));
        self
    }

    /// Whether nothing has ended the work.
    pub(crate) fn goes_on(&self) -> bool {
        !self.threads.iter().any(JoinHandle::is_finished)
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
    }
}

/// Asserts that another client is answered soon. The machine has other work too, which may be in the way of some
/// answers; a worker that does not look for events for a while is in the way of all, or for seconds.
#[track_caller]
pub(crate) fn assert_fair(server: &Running, spoken: Spoken) {
    let mut client = server.connect_with(spoken);
    let mut times: Vec<_> = (0..200)
        .map(|_| {
            let began = Instant::now();
            assert_eq!(client.get("/").text(), "hello");
            began.elapsed()
        })
        .collect();
    times.sort();
    let (median, longest) = (times[times.len() / 2], times[times.len() - 1]);
    assert!(
        median < Duration::from_millis(50) && longest < Duration::from_secs(1),
        "{spoken:?}: {median:?}, {longest:?}"
    );
}

/// A sends without end, B reads what comes back.
fn flood(server: &Running, head: &str, piece: Vec<u8>) -> Busy {
    let mut writer = server.connect();
    let mut reader = writer.twin();
    writer.send(head);
    Busy::new().repeat(move || writer.try_send(&piece)).repeat(move || swallow(&mut reader))
}

fn swallow(client: &mut Client) -> std::io::Result<()> {
    client.receive_some()?;
    client.received.clear();
    Ok(())
}

pub(crate) fn server() -> Running {
    Running::new(|mut request: Request| async move {
        match request.target.path() {
            "/upload" => while request.body.chunk().await.is_some_and(|chunk| chunk.is_ok()) {},
            "/echo" => return Response::default().body(Body::stream(request.body)),
            "/stream" => return Response::default().body(Body::stream(Endless)),
            _ => {}
        }
        Response::text("hello")
    })
}

/// Answers `/file` with a large one.
fn file_server() -> (Running, Folder) {
    let folder = Folder::new("fairness");
    let path = folder.path("file");
    std::fs::write(&path, vec![b'a'; FILE_LENGTH]).unwrap();
    let file = Arc::new(std::fs::File::open(&path).unwrap());
    let server = Running::new(move |request: Request| {
        let range = FileRange { file: Arc::clone(&file), offset: 0, length: FILE_LENGTH as u64, version: None };
        async move {
            match request.target.path() {
                "/file" => Response::default().body(Body::file(range)),
                _ => Response::text("hello"),
            }
        }
    });
    (server, folder)
}

const FILE_LENGTH: usize = 64 << 20;

/// Pieces without end, all of them ready.
struct Endless;

impl http_body::Body for Endless {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(&[b'a'; 2000])))))
    }
}

const CHUNKED: &str = "HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";

#[test]
fn beside_endless_pipelining() {
    let server = server();
    let _busy = flood(&server, "", "GET /a HTTP/1.1\r\nHost: a\r\n\r\n".repeat(5000).into_bytes());
    assert_fair(&server, Spoken::Http1);
}

#[test]
fn beside_an_upload() {
    let server = server();
    let chunk = [b"fffff\r\n".to_vec(), vec![b'a'; 0xf_ffff], b"\r\n".to_vec()].concat();
    let _busy = flood(&server, &format!("POST /upload {CHUNKED}"), chunk);
    assert_fair(&server, Spoken::Http1);
}

#[test]
fn beside_an_upload_in_tiny_chunks() {
    let server = server();
    let _busy = flood(&server, &format!("POST /upload {CHUNKED}"), b"1\r\na\r\n".repeat(20_000));
    assert_fair(&server, Spoken::Http1);
}

#[test]
fn beside_an_echo() {
    let server = server();
    let chunk = [b"fffff\r\n".to_vec(), vec![b'a'; 0xf_ffff], b"\r\n".to_vec()].concat();
    let _busy = flood(&server, &format!("POST /echo {CHUNKED}"), chunk);
    assert_fair(&server, Spoken::Http1);
}

#[test]
fn beside_a_download_of_a_file() {
    let (server, _folder) = file_server();
    let requests = "GET /file HTTP/1.1\r\nHost: a\r\n\r\n".repeat(100);
    let _busy = flood(&server, "", requests.into_bytes());
    assert_fair(&server, Spoken::Http1);
}

#[test]
fn beside_an_endless_stream() {
    let server = server();
    let _busy = flood(&server, "GET /stream HTTP/1.1\r\nHost: a\r\n\r\n", vec![]);
    assert_fair(&server, Spoken::Http1);
}
