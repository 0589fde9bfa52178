//! A server with a handler, and clients of it.
#![allow(clippy::unwrap_used, dead_code, unreachable_pub, reason = "each test needs a part of this")]

use std::{
    fmt::Debug,
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use serow::{Handler, HandlerExt, Server, Stopper};
use serow_processes::Workers;

/// A server with a handler, until this is dropped.
pub struct Answering {
    address: SocketAddr,
    stopper: Stopper,
    thread: Option<JoinHandle<()>>,
}

/// Waits until a condition holds; reports the state until then.
pub fn eventually<T>(mut question: impl FnMut() -> Result<T, String>) -> T {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        match question() {
            Ok(answer) => return answer,
            Err(state) => assert!(Instant::now() < deadline, "{state}"),
        }
        thread::sleep(Duration::from_millis(5));
    }
}

/// Waits until this is so.
#[track_caller]
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    eventually(|| if is_so() { Ok(()) } else { Err(format!("it never happened: {what}")) });
}

/// Waits until an answer has come to rest: many times, it is the one before. Each question goes through the server and the
/// application, so whoever could go on has had its turn.
pub fn at_rest<T: PartialEq + Debug>(mut question: impl FnMut() -> T) -> T {
    let (mut last, mut times) = (question(), 0);
    eventually(|| {
        let answer = question();
        times = if answer == last { times + 1 } else { 0 };
        last = answer;
        if times == 10 { Ok(()) } else { Err(format!("it does not come to rest: {last:?}")) }
    });
    last
}

/// Reloads an application.
pub fn reload(workers: &Workers) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(workers.reloader().reload()).map_err(|why| why.to_string())
}

impl Answering {
    /// Answers with this handler, on one thread.
    pub fn new(handler: impl Handler + Send) -> Self {
        let bound = Server::new().listen("127.0.0.1:0").workers(1).ignore_signals().bind().unwrap();
        let address = bound.addresses().next().unwrap().to_string().parse().unwrap();
        let stopper = bound.stopper();
        // The whole server would be compiled for each handler otherwise.
        let handler = handler.boxed();
        let thread = Some(thread::spawn(move || bound.run(handler).unwrap()));
        Self { address, stopper, thread }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Sends a whole request and reads until the server closes.
    pub fn exchange(&self, request: impl AsRef<[u8]>) -> String {
        String::from_utf8_lossy(&self.exchange_bytes(request)).into_owned()
    }

    /// The same, as bytes.
    pub fn exchange_bytes(&self, request: impl AsRef<[u8]>) -> Vec<u8> {
        let mut connection = TcpStream::connect(self.address).unwrap();
        connection.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        connection.write_all(request.as_ref()).unwrap();
        let mut response = Vec::new();
        // A response that is cut off ends with an error.
        let _ = connection.read_to_end(&mut response);
        response
    }

    /// Sends a request, and waits until there is some of the response.
    pub fn begin(&self, request: &str) -> TcpStream {
        let mut connection = TcpStream::connect(self.address).unwrap();
        connection.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        connection.write_all(request.as_bytes()).unwrap();
        connection.read_exact(&mut [0]).unwrap();
        connection
    }

    /// The response to a GET, with its head.
    pub fn get(&self, target: &str) -> String {
        self.exchange(request(target))
    }

    /// The response to a POST.
    pub fn post(&self, target: &str, body: &[u8]) -> String {
        let head = format!(
            "POST {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        self.exchange([head.as_bytes(), body].concat())
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        self.stopper.stop_within(Duration::ZERO);
        if let Some(thread) = self.thread.take() {
            let ended = thread.join();
            assert!(ended.is_ok() || thread::panicking(), "the server ends in order");
        }
    }
}

/// A GET after whose response the server closes.
pub fn request(target: &str) -> String {
    format!("GET {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
}

/// The body of a response that is not chunked.
pub fn body(response: &str) -> &str {
    response.split_once("\r\n\r\n").map_or("", |(_, body)| body)
}

/// The body of a response, chunked or not.
pub fn content(response: &str) -> String {
    let (head, mut rest) = response.split_once("\r\n\r\n").unwrap_or_default();
    if !head.contains("transfer-encoding: chunked") {
        return rest.to_owned();
    }
    let mut whole = String::new();
    while let Some((size, behind)) = rest.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).unwrap();
        whole.push_str(&behind[..size]);
        rest = &behind[size + 2..];
    }
    whole
}
