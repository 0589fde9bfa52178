//! The records of requests that the server keeps for the access log.

use std::{
    cell::Cell,
    mem,
    ops::Range,
    sync::atomic::{AtomicU64, Ordering},
    time::SystemTime,
};

use serow_message::{
    AccessLog, Body, Connection, Extensions, Handler, Headers, Priority, Request, RequestHead, RouteNote, Served,
    ServedStream,
};
use serow_net::time;
use tokio::time::Instant;

use crate::exchange::Sent;

/// Numbers the requests of a connection for the log.
#[derive(Default)]
pub(crate) struct RequestLog {
    connection: u64,
    requests: u64,
}

/// A request log entry: what the server keeps of a request for the access log.
pub(crate) struct RequestLogEntry {
    connection: Connection,
    connection_number: u64,
    request_number: u64,
    request: Option<RequestHead>,
    response: Option<(Headers, Extensions)>,
    note: Option<RouteNote>,
    stream: Option<ServedStream>,
    /// Bytes of the request's body.
    received: u64,
    began: SystemTime,
    clock: Instant,
}

impl RequestLog {
    /// Begins the entry of a request, or of bytes that did not become one.
    pub(crate) fn begin(&mut self, request: Option<&RequestHead>, connection: &Connection) -> RequestLogEntry {
        if self.requests == 0 {
            self.connection = next_connection();
        }
        self.requests += 1;
        RequestLogEntry {
            connection: connection.clone(),
            connection_number: self.connection,
            request_number: self.requests,
            request: request.cloned(),
            response: None,
            note: None,
            stream: None,
            received: 0,
            began: time::wall(),
            clock: Instant::now(),
        }
    }
}

impl RequestLogEntry {
    /// Notes the stream that carries the request, and its current priority.
    pub(crate) fn note_stream(&mut self, number: u64, priority: Priority) {
        self.stream = Some(ServedStream { number, priority });
    }

    /// Lets the handler note its route in the extensions of the request.
    #[inline]
    pub(crate) fn ask_for_route(&mut self, log: &dyn AccessLog, extensions: &mut Extensions) {
        if log.reads_route() {
            let note = RouteNote::new();
            extensions.insert(note.clone());
            self.note = Some(note);
        }
    }

    /// Has the handler note the route of a request that it does not get.
    #[cold]
    pub(crate) fn note_refused(&mut self, log: &dyn AccessLog, handler: &impl Handler, head: RequestHead) {
        let mut request = Request::new(head, Body::empty(), self.connection.clone());
        self.ask_for_route(log, &mut request.extensions);
        handler.note_refused(&mut request);
    }

    /// Notes that so many bytes of the body were received.
    pub(crate) fn note_received(&mut self, bytes: usize) {
        self.received += bytes as u64;
    }

    /// The head of the request; `None` for bytes that did not become one.
    pub(crate) fn request(&self) -> Option<&RequestHead> {
        self.request.as_ref()
    }

    /// Notes the response that will be sent, and takes its extensions, which nothing reads afterwards.
    pub(crate) fn note_response(&mut self, log: &dyn AccessLog, headers: &Headers, extensions: &mut Extensions) {
        if log.reads_response() {
            self.response = Some((headers.clone(), mem::take(extensions)));
        }
    }

    /// Writes the entry to the access log.
    pub(crate) fn write(self, log: &dyn AccessLog, sent: Sent, whole: bool) {
        log.log(&Served {
            connection: &self.connection,
            client: None,
            client_scheme: None,
            connection_number: self.connection_number,
            request_number: self.request_number,
            request: self.request.as_ref(),
            status: sent.status,
            response: self.response.as_ref().map(|(headers, _)| headers),
            extensions: self.response.as_ref().map(|(_, extensions)| extensions),
            note: self.note.as_ref(),
            head_bytes: sent.head_bytes,
            body_bytes: sent.body_bytes,
            request_body_bytes: self.received,
            stream: self.stream,
            began: self.began,
            took: self.clock.elapsed(),
            whole,
        });
    }
}

/// The number of a connection, at its first request, so that those without a log cost nothing. Each thread takes many
/// numbers at a time: one counter for all workers would be written by each of them for each connection.
fn next_connection() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    thread_local!(static OWN: Cell<Range<u64>> = const { Cell::new(0..0) });
    let mut own = OWN.take();
    let number = own.next().unwrap_or_else(|| {
        let first = NEXT.fetch_add(NUMBERS_AT_ONCE, Ordering::Relaxed);
        own = first + 1..first + NUMBERS_AT_ONCE;
        first
    });
    OWN.set(own);
    number
}

/// Few enough that numbers in the lines of a server with many workers stay short.
const NUMBERS_AT_ONCE: u64 = 1000;

#[cfg(test)]
mod tests {
    use std::{collections::HashSet, thread};

    use super::*;

    #[test]
    fn connections_of_all_threads_have_different_numbers() {
        let count = 2 * NUMBERS_AT_ONCE as usize + 1;
        let threads: Vec<_> =
            (0..3).map(|_| thread::spawn(move || (0..count).map(|_| next_connection()).collect::<Vec<_>>())).collect();
        let numbers: HashSet<_> = threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
        assert_eq!(numbers.len(), 3 * count);
        assert!(!numbers.contains(&0));
    }

    #[test]
    fn numbers_of_one_thread_do_not_depend_on_the_connections_of_others() {
        let first = next_connection();
        thread::spawn(next_connection).join().unwrap();
        assert_eq!(next_connection(), first + 1);
    }
}
