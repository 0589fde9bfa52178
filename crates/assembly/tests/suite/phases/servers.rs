//! Servers behind the handler, which note the requests that reach them.

use std::{cell::RefCell, path::Path, rc::Rc, time::Duration};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{UnixListener, UnixStream},
    sync::Notify,
    task::{spawn_local, yield_now},
    time::timeout,
};

/// A request that has reached a server.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    /// The server: origin, mirror, auth, or app, to which the application passes requests on.
    pub(super) server: &'static str,
    pub(super) path: String,
    /// The fields, with names in lower case.
    pub(super) fields: Vec<(String, String)>,
}

impl Seen {
    /// Whether it must not arrive behind the response. A copy with a body may: it depends on who reads the body.
    fn is_surprising(&self) -> bool {
        let length = self.values("content-length").first().map_or(0, |length| length.parse::<u64>().unwrap());
        self.server != "auth" && !(self.server == "mirror" && length > 0)
    }

    pub(super) fn values(&self, name: &str) -> Vec<&str> {
        self.fields.iter().filter(|(other, _)| other == name).map(|(_, value)| &**value).collect()
    }
}

/// The servers of a site.
pub(super) struct Servers {
    log: Log,
}

/// The requests that have reached servers.
#[derive(Clone, Default)]
struct Log(Rc<(RefCell<Vec<Seen>>, Notify)>);

impl Log {
    fn add(&self, seen: Seen) {
        self.0.0.borrow_mut().push(seen);
        self.0.1.notify_one();
    }
}

impl Servers {
    pub(super) fn start(folder: &Path) -> Self {
        let servers = Self { log: Log::default() };
        for name in ["origin", "mirror", "auth", "app"] {
            let listener = UnixListener::bind(folder.join(name)).unwrap();
            let log = servers.log.clone();
            spawn_local(async move {
                while let Ok((stream, _)) = listener.accept().await {
                    spawn_local(serve(stream, name, log.clone()));
                }
            });
        }
        servers
    }

    /// Waits for a copy of this request, which the handler does not wait for; where none is expected, gives it the turns that
    /// it would need to arrive.
    pub(super) async fn settle(&self, number: u64, is_copied: bool) {
        let id = format!("id={number}&");
        let (seen, added) = &*self.log.0;
        let has_copy = || seen.borrow().iter().any(|seen| seen.server == "mirror" && seen.path.contains(&id));
        if is_copied {
            // The judgement reports a copy that is still missing.
            let arrival = async {
                while !has_copy() {
                    added.notified().await;
                }
            };
            let _ = timeout(MAX_WAIT, arrival).await;
        }
        for _ in 0..12 {
            yield_now().await;
        }
    }

    /// The requests that nobody has taken, once the handler has ended: those of copies that have come late.
    pub(super) async fn late(&self) -> Vec<Seen> {
        for _ in 0..100 {
            yield_now().await;
        }
        self.log.0.0.borrow_mut().drain(..).filter(Seen::is_surprising).collect()
    }

    /// The requests with this number.
    pub(super) fn take(&self, number: u64) -> Vec<Seen> {
        let id = format!("id={number}&");
        let mut seen = self.log.0.0.borrow_mut();
        let (own, others) = seen.drain(..).partition(|seen: &Seen| seen.path.contains(&id) || seen.server == "auth");
        *seen = others;
        own
    }
}

async fn serve(mut stream: UnixStream, server: &'static str, log: Log) {
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
        log.add(request);
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
            Some(&"allow") => with("200 OK\r\nRemote-User: dave\r\n", ""),
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

/// Much longer than a busy machine takes.
const MAX_WAIT: Duration = Duration::from_secs(60);
