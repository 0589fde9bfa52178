//! Servers behind the handler, which note the requests that reach them.

use std::{cell::RefCell, path::Path, rc::Rc};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{UnixListener, UnixStream},
    task::{spawn_local, yield_now},
};

/// A request that has reached a server.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    /// The server: origin, mirror, auth.
    pub(super) server: &'static str,
    pub(super) path: String,
    /// The fields, with names in lower case.
    pub(super) fields: Vec<(String, String)>,
}

impl Seen {
    pub(super) fn values(&self, name: &str) -> Vec<&str> {
        self.fields.iter().filter(|(other, _)| other == name).map(|(_, value)| &**value).collect()
    }
}

/// The servers of a site.
pub(super) struct Servers {
    seen: Rc<RefCell<Vec<Seen>>>,
}

impl Servers {
    pub(super) fn start(folder: &Path) -> Self {
        let servers = Self { seen: Rc::default() };
        for name in ["origin", "mirror", "auth"] {
            let listener = UnixListener::bind(folder.join(name)).unwrap();
            let seen = Rc::clone(&servers.seen);
            spawn_local(async move {
                while let Ok((stream, _)) = listener.accept().await {
                    spawn_local(serve(stream, name, Rc::clone(&seen)));
                }
            });
        }
        servers
    }

    /// Gives a copy of this request, which nothing waits for, the turns that it needs to arrive: all that it takes where one
    /// is expected, and enough for one elsewhere.
    pub(super) async fn settle(&self, number: u64, is_copied: bool) {
        let id = format!("id={number}&");
        for turn in 0..if is_copied { 100_000 } else { 12 } {
            let is_copy = |seen: &Seen| seen.server == "mirror" && seen.path.contains(&id);
            if turn > 12 && self.seen.borrow().iter().any(is_copy) {
                break;
            }
            yield_now().await;
        }
    }

    /// The requests with this number.
    pub(super) fn take(&self, number: u64) -> Vec<Seen> {
        let id = format!("id={number}&");
        let mut seen = self.seen.borrow_mut();
        let (own, others) = seen.drain(..).partition(|seen: &Seen| seen.path.contains(&id) || seen.server == "auth");
        *seen = others;
        own
    }
}

async fn serve(mut stream: UnixStream, server: &'static str, seen: Rc<RefCell<Vec<Seen>>>) {
    let mut received = Vec::new();
    loop {
        let end = loop {
            if let Some(end) = received.windows(4).position(|window| window == b"\r\n\r\n") {
                break end + 4;
            }
            match stream.read_buf(&mut received).await {
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
        };
        let head = String::from_utf8(received.drain(..end).collect()).unwrap();
        let mut lines = head.lines();
        let mut words = lines.next().unwrap_or_default().split(' ').map(str::to_owned);
        let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let fields = lines.filter_map(|line| line.split_once(": "));
        let fields = fields.map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned())).collect();
        let request = Seen { server, path, fields };
        let length: usize = request.values("content-length").first().map_or(0, |length| length.parse().unwrap());
        while received.len() < length {
            if !matches!(stream.read_buf(&mut received).await, Ok(1..)) {
                return;
            }
        }
        received.drain(..length);
        let response = answer(&request, &method);
        seen.borrow_mut().push(request);
        if stream.write_all(response.as_bytes()).await.is_err() {
            return;
        }
    }
}

fn answer(request: &Seen, method: &str) -> String {
    let with = |head: &str, body: &str| {
        let body_sent = if method == "HEAD" { "" } else { body };
        format!("HTTP/1.1 {head}Content-Length: {}\r\n\r\n{body_sent}", body.len())
    };
    if request.server == "auth" {
        return match request.values("x-test").first() {
            Some(&"allow") => with("200 OK\r\nRemote-User: alice\r\n", ""),
            _ => with("403 Forbidden\r\n", "no"),
        };
    }
    if request.path.contains("accel=1") && !request.path.starts_with("/inner/") {
        let query = request.path.split_once('?').map(|(_, query)| query).unwrap_or_default();
        return with(&format!("200 OK\r\nX-Accel-Redirect: /inner/a?{query}\r\n"), "");
    }
    let fresh = if request.path.contains("fresh=1") { "Cache-Control: public, max-age=100\r\n" } else { "" };
    with(&format!("200 OK\r\nContent-Type: text/plain\r\nX-Origin: 1\r\n{fresh}"), &"origin ".repeat(400))
}
