//! Fetching resources over one connection, and noting what comes when.

use std::{
    cell::Cell,
    error::Error,
    fmt,
    future::poll_fn,
    io,
    pin::{Pin, pin},
    rc::Rc,
    task::{Context, Poll},
    time::Duration,
};

use http::Version;
use serow_client::{Buffers, ClientError, Destination, DialError, Http2, Http3, Http3Dialer};
use serow_net::{Alarm, Wire, monotonic, time};
use serow_tls::TlsVersion;

use self::exchanges::Exchanges;
use super::{Ending, Plan, Recording, Resource, agenda::Agenda};
use crate::{
    BatchError,
    multiplexed::{Connection, HTTP2_LIMITS, HTTP3_LIMITS},
};

mod exchanges;

/// Why there is nothing to show.
#[derive(Debug)]
pub enum FetchError {
    /// A request cannot be sent.
    Request(BatchError),
    /// The system refused a resource.
    System(io::Error),
    /// There is no connection.
    Connection(DialError),
    /// The server does not speak HTTP/2; the first bytes that it sent, as far as they are printable.
    NotHttp2(String),
    /// The server closed the connection without sending anything.
    Mute,
    /// It was interrupted before there was a connection.
    Interrupted,
}

/// Fetches what is planned, until `interrupted` is ready at the latest.
///
/// # Errors
///
/// If there is nothing to show, since the server did not speak that version of HTTP. The recording contains later errors.
///
/// # Panics
///
/// Outside a tokio runtime with I/O and time enabled.
pub async fn fetch(plan: &Plan, interrupted: impl Future<Output = ()>) -> Result<Recording, FetchError> {
    let alarm = Alarm::new().map_err(FetchError::System)?;
    let mut interrupted = pin!(interrupted);
    let opening = async {
        Ok(match plan.version {
            Version::HTTP_3 => Opened::Http3(Box::new(open_http3(plan).await?)),
            _ => Opened::Http2(Box::new(open_http2(plan).await?)),
        })
    };
    let opened = tokio::select! {
        opened = opening => opened.map_err(FetchError::Connection)?,
        () = &mut interrupted => return Err(FetchError::Interrupted),
    };
    match opened {
        Opened::Http2(opened) => {
            let (connection, recording) = *opened;
            follow(plan, alarm, connection, recording, interrupted).await
        }
        Opened::Http3(opened) => {
            let (connection, recording) = *opened;
            follow(plan, alarm, connection, recording, interrupted).await
        }
    }
}

/// A connection, of either version of HTTP.
enum Opened {
    Http2(Box<(Http2, Recording)>),
    Http3(Box<(Http3, Recording)>),
}

async fn open_http2(plan: &Plan) -> Result<(Http2, Recording), DialError> {
    let buffers = Rc::new(Buffers::new());
    let (began, connected) = (monotonic(), Cell::new(Duration::ZERO));
    let wire = plan.dialer.dial_observed(&buffers, || connected.set(monotonic())).await?;
    let (connected, now) = (connected.get(), monotonic());
    let recording = Recording {
        connecting: connected - began,
        handshake: plan.dialer.encryption.is_some().then(|| now - connected),
        encryption: encryption(&wire),
        ..begin(plan, now)
    };
    Ok((Http2::new(wire, buffers, HTTP2_LIMITS, now), recording))
}

async fn open_http3(plan: &Plan) -> Result<(Http3, Recording), DialError> {
    let began = monotonic();
    let connection = Http3Dialer::new(&plan.dialer)?.dial(HTTP3_LIMITS, began).await?;
    let now = monotonic();
    // It has no other (RFC 9001 §4.2).
    let encryption = Some("TLS 1.3".to_owned());
    Ok((connection, Recording { connecting: now - began, encryption, ..begin(plan, now) }))
}

/// A recording of nothing yet.
fn begin(plan: &Plan, now: Duration) -> Recording {
    Recording {
        origin: plan.origin.clone(),
        socket: match &plan.dialer.destination {
            Destination::Tcp(_) => None,
            unix @ Destination::Unix(_) => Some(unix.to_string()),
        },
        version: plan.version,
        signals: plan.signals,
        connecting: Duration::ZERO,
        handshake: None,
        encryption: None,
        began: time::wall(),
        clock: now,
        resources: plan.specs.iter().cloned().map(Resource::new).collect(),
        elapsed: Duration::ZERO,
        ending: Ending::Complete,
    }
}

/// Fetches what is planned over this connection.
async fn follow<C: Connection>(
    plan: &Plan,
    alarm: Alarm,
    connection: C,
    recording: Recording,
    mut interrupted: Pin<&mut impl Future<Output = ()>>,
) -> Result<Recording, FetchError> {
    let now = recording.clock;
    let exchanges = Exchanges::new(plan, connection, recording).map_err(FetchError::Request)?;
    let mut fetching =
        Fetching { agenda: Agenda::new(&plan.specs), exchanges, alarm, start: now, last_received: now, plan };
    let ending = poll_fn(|context| {
        if interrupted.as_mut().poll(context).is_ready() {
            return Poll::Ready(Ok(Ending::Interrupted));
        }
        fetching.poll(context)
    });
    let ending = ending.await?;
    let elapsed = monotonic() - now;
    Ok(Recording { elapsed, ending, ..fetching.exchanges.into_recording() })
}

/// A connection with its timetable.
struct Fetching<'a, C> {
    plan: &'a Plan,
    agenda: Agenda,
    exchanges: Exchanges<C>,
    alarm: Alarm,
    start: Duration,
    /// When something came last, or was asked for.
    last_received: Duration,
}

impl<C: Connection> Fetching<'_, C> {
    /// Ready at the end.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<Ending, FetchError>> {
        loop {
            let now = monotonic();
            if self.exchanges.take_events(context) {
                self.last_received = now;
            }
            // Before anything is asked for that would only be refused.
            if let Some(end) = self.end(context) {
                return Poll::Ready(end);
            }
            while let Some(step) = self.agenda.take_due(now - self.start) {
                self.exchanges.take_step(step);
                self.last_received = now;
            }
            self.exchanges.open_requests();
            self.exchanges.flush(context);
            if let Some(end) = self.end(context) {
                return Poll::Ready(end);
            }
            if self.is_silent(now) {
                return Poll::Ready(Ok(Ending::Silence(self.plan.timeout)));
            }
            if let Some(moment) = self.next_moment() {
                self.alarm.set(moment).map_err(FetchError::System)?;
            }
            if self.alarm.poll_ring(context).map_err(FetchError::System)?.is_pending() {
                return Poll::Pending;
            }
            self.exchanges.handle_timeout();
        }
    }

    /// How it has ended, if it has.
    fn end(&mut self, context: &mut Context<'_>) -> Option<Result<Ending, FetchError>> {
        if !self.exchanges.are_in_flight() && !self.agenda.has_requests() {
            self.exchanges.take_leave(context);
            return Some(Ok(Ending::Complete));
        }
        Some(self.judge(self.exchanges.broken()?).map(Ending::Broken))
    }

    /// When something is to be done though nothing comes.
    fn next_moment(&self) -> Option<Duration> {
        let step = self.agenda.next_moment().map(|moment| self.start + moment);
        let timeout = self.exchanges.are_in_flight().then(|| self.last_received + self.plan.timeout);
        [step, timeout, self.exchanges.deadline()].into_iter().flatten().min()
    }

    fn is_silent(&self, now: Duration) -> bool {
        self.exchanges.are_in_flight() && now >= self.last_received + self.plan.timeout
    }

    /// Whether a broken connection was one of HTTP/2 at all.
    fn judge(&self, broken: &ClientError) -> Result<String, FetchError> {
        let beginning = self.exchanges.not_understood();
        match broken {
            ClientError::Http2(_) if beginning.starts_with(b"HTTP/") => {
                let line = beginning.split(|byte| matches!(byte, b'\r' | b'\n')).next().unwrap_or_default();
                Err(FetchError::NotHttp2(line[..line.len().min(SHOWN)].escape_ascii().to_string()))
            }
            ClientError::Closed | ClientError::Lost(_) if self.exchanges.is_mute() => Err(FetchError::Mute),
            broken => Ok(self.exchanges.farewell().unwrap_or_else(|| broken.to_string())),
        }
    }
}

/// The version of TLS and the cipher suite.
fn encryption(wire: &Wire) -> Option<String> {
    let description = wire.description()?;
    let version = match description.version() {
        TlsVersion::Tls12 => "TLS 1.2",
        TlsVersion::Tls13 => "TLS 1.3",
    };
    Some(format!("{version}, {}", description.cipher_suite()))
}

impl fmt::Display for FetchError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Request(error) => error.fmt(formatter),
            Self::System(error) => {
                write!(formatter, "the system refused a resource that the connection needs: {error}")
            }
            Self::Connection(error) => error.fmt(formatter),
            Self::NotHttp2(beginning) => {
                write!(formatter, "the server does not speak HTTP/2; its response begins with \"{beginning}\"")
            }
            Self::Interrupted => formatter.write_str("stopped before there was a connection"),
            Self::Mute => formatter.write_str("the server closes the connection without a response in HTTP/2"),
        }
    }
}

impl Error for FetchError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Request(error) => error.source(),
            Self::System(error) => Some(error),
            Self::Connection(error) => error.source(),
            Self::NotHttp2(_) | Self::Mute | Self::Interrupted => None,
        }
    }
}

/// Bytes of an answer that is none that are shown: a status line.
const SHOWN: usize = 60;
