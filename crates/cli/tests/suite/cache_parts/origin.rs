//! A server with one resource, of which it sends ranges.

use std::{
    io::Write,
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Mutex,
        mpsc::{self, Receiver, Sender},
    },
    thread,
};

use crate::cache::read_head;

/// A server with one resource, of which it sends ranges.
pub(super) struct RangeOrigin {
    pub(super) address: SocketAddr,
    requests: Receiver<String>,
    state: Arc<Mutex<OriginState>>,
}

/// The response that the origin sends now.
#[derive(Clone)]
pub(super) struct OriginState {
    /// More fields of the responses.
    pub(super) fields: &'static str,
    pub(super) etag: &'static str,
    /// Content-Range, if it is not the right one.
    pub(super) range: Option<&'static str>,
    pub(super) body: &'static str,
    /// Whether a part ends after half of it.
    pub(super) is_cut: bool,
}

impl RangeOrigin {
    pub(super) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, requests) = mpsc::channel();
        let state = OriginState { fields: FRESH, etag: "\"a\"", range: None, body: BODY, is_cut: false };
        let state = Arc::new(Mutex::new(state));
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (stream, sender, state) = (stream.unwrap(), sender.clone(), Arc::clone(&shared));
                thread::spawn(move || serve(stream, &sender, &state));
            }
        });
        Self { address, requests, state }
    }

    pub(super) fn change(&self, change: impl FnOnce(&mut OriginState)) {
        change(&mut self.state.lock().unwrap());
    }

    /// The requests since the last call: method, and the fields that matter here.
    pub(super) fn requests(&self) -> Vec<String> {
        self.requests.try_iter().collect()
    }
}

fn serve(mut stream: TcpStream, sender: &Sender<String>, state: &Mutex<OriginState>) {
    while let Some((line, request)) = read_head(&mut stream) {
        let noted = ["if-none-match", "if-range", "range"].iter().filter_map(|name| {
            let value = request.get(*name)?;
            Some(format!(" {name}: {value}"))
        });
        let _ = sender.send(format!("{}{}", line.split(' ').next().unwrap(), noted.collect::<String>()));
        let OriginState { fields, etag, range, body, is_cut } = state.lock().unwrap().clone();
        let fields = format!("ETag: {etag}\r\n{fields}");
        let is_current = |name| request.get(name).is_none_or(|value| value == etag);
        let (head, body) = if line.starts_with("POST") {
            ("204 No Content".to_owned(), "")
        } else if request.get("if-none-match").is_some_and(|value| value.contains(etag)) {
            ("304 Not Modified".to_owned(), "")
        } else if let Some(value) = request.get("range").filter(|_| is_current("if-range")) {
            let (first, last) = value.strip_prefix("bytes=").unwrap().split_once('-').unwrap();
            let (first, last): (usize, usize) = (first.parse().unwrap(), last.parse().unwrap_or(body.len() - 1));
            let place = format!("bytes {first}-{last}/{}", body.len());
            let place = range.unwrap_or(&place);
            (format!("206 Partial Content\r\nContent-Range: {place}"), &body[first..=last])
        } else {
            ("200 OK".to_owned(), body)
        };
        let length = if head.starts_with('2') { format!("Content-Length: {}\r\n", body.len()) } else { String::new() };
        let body = if line.starts_with("HEAD") { "" } else { body };
        if is_cut && head.starts_with("206") {
            let half = &body[..body.len() / 2];
            let _ = stream.write_all(format!("HTTP/1.1 {head}\r\n{fields}{length}\r\n{half}").as_bytes());
            return;
        }
        let _ = stream.write_all(format!("HTTP/1.1 {head}\r\n{fields}{length}\r\n{body}").as_bytes());
    }
}

pub(super) const FRESH: &str = "Cache-Control: max-age=60\r\nContent-Type: text/plain\r\n";

/// The resource, and another version of it.
pub(super) const BODY: &str = "0123456789abcdefghij0123456789abcdefghij";
pub(super) const OTHER: &str = "0123456789ABCDEFGHIJ0123456789ABCDEFGHIJ";
