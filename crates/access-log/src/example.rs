//! A request to be logged, for tests.

use std::{
    net::IpAddr,
    sync::Arc,
    time::{Duration, SystemTime},
};

use serow_message::{
    Attempts, Connection, Encryption, Extensions, HandshakeStage, Headers, Method, Peer, Priority, RequestHead,
    RouteNote, Scheme, Served, ServedStream, StatusCode, Target, Version,
};

/// A `GET /` over HTTP/1.1, until it is changed.
pub(super) struct Example {
    pub(super) connection: Connection,
    pub(super) request: RequestHead,
    pub(super) response: Headers,
    pub(super) extensions: Extensions,
    pub(super) stream: Option<ServedStream>,
    pub(super) client: Option<IpAddr>,
    pub(super) note: Option<RouteNote>,
    pub(super) client_scheme: Option<Scheme>,
}

impl Example {
    pub(super) fn new(peer: &str) -> Self {
        Self::of(Peer::Tcp(peer.parse().unwrap()))
    }

    pub(super) fn unix() -> Self {
        Self::of(Peer::Unix)
    }

    fn of(peer: Peer) -> Self {
        let connection = Connection::new(peer, None, Scheme::Http);
        let request = RequestHead {
            method: Method::GET,
            target: Target::default(),
            version: Version::HTTP_11,
            headers: Headers::new(),
        };
        Self {
            connection,
            request,
            response: Headers::new(),
            extensions: Extensions::new(),
            stream: None,
            client: None,
            note: None,
            client_scheme: None,
        }
    }

    pub(super) fn header(&mut self, name: &str, value: &[u8]) {
        self.request.headers.append(name, value).unwrap();
    }

    pub(super) fn target(&mut self, target: &'static str) {
        self.request.target = Target::parse(target.into(), false).unwrap();
    }

    /// Two servers were asked for it: the first could not be reached.
    pub(super) fn asked_servers(&mut self) {
        let servers = ["127.0.0.1:9000", "unix:/run/a.sock"].map(Arc::from);
        let attempts = Attempts::default();
        let first = attempts.begin(&servers[0]);
        attempts.note_failure(first, StatusCode::BAD_GATEWAY, Duration::from_micros(1_500));
        let second = attempts.begin(&servers[1]);
        attempts.note_queue(second, Duration::from_micros(250));
        attempts.note_connection(second, Duration::ZERO);
        attempts.note_head(second, StatusCode::OK, Duration::from_millis(20));
        attempts.note_end(second, Duration::from_millis(1_030));
        self.extensions.insert(attempts);
    }

    pub(super) fn served(&self) -> Served<'_> {
        Served {
            connection: &self.connection,
            client: self.client,
            client_scheme: self.client_scheme,
            connection_number: 7,
            request_number: 2,
            request: Some(&self.request),
            status: StatusCode::OK,
            response: Some(&self.response),
            extensions: Some(&self.extensions),
            note: self.note.as_ref(),
            head_bytes: 120,
            body_bytes: 13,
            request_body_bytes: 1000,
            stream: self.stream,
            began: SystemTime::UNIX_EPOCH + Duration::from_millis(784_111_777_042),
            took: Duration::from_micros(1_000_250),
            whole: true,
        }
    }
}

impl Example {
    /// The same over HTTP/2.
    pub(super) fn on_stream(mut self, number: u64, priority: &str) -> Self {
        self.request.version = Version::HTTP_2;
        self.stream = Some(ServedStream { number, priority: Priority::parse(priority.as_bytes()) });
        self
    }
}

/// The note of a route with this number.
pub(super) fn note(number: Option<u32>) -> Option<RouteNote> {
    let number = number?;
    let note = RouteNote::new();
    note.set(number);
    Some(note)
}

/// One over TLS.
pub(super) fn encrypted() -> Example {
    at_stage(HandshakeStage::Complete)
}

/// One over HTTP/3, before the handshake was complete.
pub(super) fn in_early_data() -> Example {
    let mut example = at_stage(HandshakeStage::EarlyData);
    example.request.version = Version::HTTP_3;
    example
}

fn at_stage(stage: HandshakeStage) -> Example {
    let encryption = Encryption {
        version: "TLSv1.3",
        cipher_suite: "TLS_AES_128_GCM_SHA256",
        server_name: Some("a.example".into()),
        client_certificate: None,
        stage,
    };
    let address = |text: &str| text.parse().unwrap();
    let peer = Peer::Tcp(address("[2001:db8::1]:4711"));
    let connection = Connection::encrypted(peer, Some(address("[2001:db8::2]:443")), encryption);
    Example { connection, ..Example::unix() }
}
