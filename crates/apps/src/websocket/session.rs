//! A WebSocket session: forwards messages in both directions until one side closes.
//!
//! Each direction has a window of bytes that the other side has not read yet; beyond it, data waits at its source.

use std::{future::poll_fn, pin::pin, time::Duration};

use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use serow_message::Upgraded;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    time::{Instant, sleep, timeout},
};
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{
        Error, Message,
        error::CapacityError,
        protocol::{
            CloseFrame, Role, WebSocketConfig,
            frame::{
                Frame,
                coding::{Data, OpCode},
            },
        },
    },
};

use super::{
    compression::{Agreement, ClientStream, Deflater, InflateError},
    heartbeat::{Heartbeat, HeartbeatAction},
};
use crate::{
    exchange::Event,
    messages::{self, MessageKind},
    pending_response::PendingResponse,
    settings::WebSocketSettings,
};

/// A WebSocket that an application has accepted.
pub(super) struct WebSocketSession {
    stream: WebSocketStream<ClientStream>,
    waiting: PendingResponse,
    /// The time after which a silent client gets a ping; twice that is the limit for sending.
    ping: Duration,
    /// Bytes that the application has not received yet.
    in_flight: usize,
    /// Bytes that the client has read but the worker does not know of.
    taken: usize,
    /// Whether the application is in the middle of a message.
    continues: bool,
    /// Compresses the application's messages, if the client has agreed.
    deflater: Option<Deflater>,
}

/// The next event.
enum SessionEvent {
    /// A message of the client, or its end.
    Client(Option<Result<Message, Error>>),
    /// The application did.
    Application(Event),
    /// The application has received so many bytes.
    Room(usize),
    /// The client has been silent, perhaps for too long.
    Heartbeat,
    /// The worker retires, or the server stops.
    Draining,
}

impl WebSocketSession {
    /// A session on this connection.
    pub(super) async fn new(connection: Upgraded, waiting: PendingResponse, agreement: Option<Agreement>) -> Self {
        let WebSocketSettings { ping, message, .. } = *waiting.websocket_settings();
        let limits = WebSocketConfig::default()
            .read_buffer_size(READ_BUFFER)
            .max_message_size(Some(message))
            .max_frame_size(Some(message));
        let connection = ClientStream::new(connection, agreement.is_some(), message);
        let stream = WebSocketStream::from_raw_socket(connection, Role::Server, Some(limits)).await;
        let deflater = agreement.map(Deflater::new);
        Self { stream, waiting, ping, in_flight: 0, taken: 0, continues: false, deflater }
    }

    /// Until its end.
    pub(super) async fn run(mut self) {
        let Some(link) = self.waiting.exchange.link().cloned() else { return };
        let (mut draining, mut stopping) = (link.draining(), self.waiting.stopping());
        let mut heartbeat = Heartbeat::new(self.ping, Instant::now());
        let mut alarm = pin!(sleep(self.ping));
        let (code, reason) = loop {
            let exchange = &self.waiting.exchange;
            let event = tokio::select! {
                event = poll_fn(|context| exchange.poll_next(context)) => SessionEvent::Application(event),
                room = poll_fn(|context| exchange.poll_given(context)) => SessionEvent::Room(room),
                said = self.stream.next(), if self.in_flight < messages::WINDOW => SessionEvent::Client(said),
                () = &mut alarm, if !self.ping.is_zero() => SessionEvent::Heartbeat,
                // A link that is gone has failed all that it had.
                _ = draining.wait_for(|is_draining| *is_draining) => SessionEvent::Draining,
                _ = stopping.wait_for(|is_stopping| *is_stopping) => SessionEvent::Draining,
            };
            match event {
                SessionEvent::Client(said) => {
                    heartbeat.note_activity(Instant::now());
                    if let Some(end) = self.handle_client_message(said).await {
                        break end;
                    }
                }
                SessionEvent::Application(event) => {
                    if let Some(end) = self.handle_application_event(event).await {
                        break end;
                    }
                }
                SessionEvent::Room(room) => self.in_flight = self.in_flight.saturating_sub(room),
                SessionEvent::Heartbeat => match self.look_after(&mut heartbeat).await {
                    Some(due) => alarm.as_mut().reset(due),
                    None => break (ABNORMAL, String::new()),
                },
                SessionEvent::Draining => break self.close(SERVICE_RESTART, String::new()).await,
            }
        };
        self.leave(code, &reason);
    }

    /// Notifies the application of the end, unless it knows already.
    fn leave(&mut self, code: u16, reason: &str) {
        self.waiting.leave(format!("{code}{reason}").as_bytes());
    }

    /// Sends a ping to a silent client. Returns when to check again, or `None` if the client is gone.
    async fn look_after(&mut self, heartbeat: &mut Heartbeat) -> Option<Instant> {
        if self.in_flight >= messages::WINDOW {
            // The session does not read from the client, since the application is slow: silence means nothing.
            heartbeat.note_activity(Instant::now());
        }
        match heartbeat.beat(Instant::now()) {
            HeartbeatAction::Wait(due) => Some(due),
            HeartbeatAction::Ask(due) => {
                if let Some(deflater) = &mut self.deflater {
                    deflater.rest(self.continues);
                }
                self.send(Message::Ping(Bytes::new())).await.then_some(due)
            }
            HeartbeatAction::Gone => {
                self.leave(ABNORMAL, "");
                // It may be there all the same, but it is not waited for.
                self.send_close(FAILED, UNANSWERED).await;
                None
            }
        }
    }

    /// Forwards a message of the client. Returns code and reason if it was the last one.
    async fn handle_client_message(&mut self, said: Option<Result<Message, Error>>) -> Option<(u16, String)> {
        match said {
            Some(Ok(Message::Text(text))) => self.forward_message(MessageKind::Text, text.as_bytes()),
            Some(Ok(Message::Binary(bytes))) => self.forward_message(MessageKind::Binary, &bytes),
            Some(Ok(Message::Close(frame))) => {
                self.drain().await;
                return Some(match frame {
                    Some(frame) => (frame.code.into(), frame.reason.as_str().to_owned()),
                    None => (NO_STATUS, String::new()),
                });
            }
            // Pings are answered by the stream.
            Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => {}
            Some(Err(error)) => {
                return Some(match close_code(&error) {
                    Some(code) => self.refuse(code).await,
                    None => (ABNORMAL, String::new()),
                });
            }
            None => return Some((ABNORMAL, String::new())),
        }
        None
    }

    /// Sends a message of the application. Returns code and reason if it was the last one.
    async fn handle_application_event(&mut self, event: Event) -> Option<(u16, String)> {
        match event {
            Event::Message { kind, is_last, content } => {
                self.taken += messages::weight(&content);
                let data = match (self.continues, kind) {
                    (true, _) => Data::Continue,
                    (false, MessageKind::Text) => Data::Text,
                    (false, MessageKind::Binary) => Data::Binary,
                };
                let (content, is_compressed) = match &mut self.deflater {
                    Some(deflater) => deflater.compress(content, !self.continues, is_last),
                    None => (content, false),
                };
                self.continues = !is_last;
                let mut frame = Frame::message(content, OpCode::Data(data), is_last);
                // RFC 7692 §6: the first frame of a message says so.
                frame.header_mut().rsv1 = is_compressed;
                if !self.send(Message::Frame(frame)).await {
                    return Some((ABNORMAL, String::new()));
                }
                self.waiting.give_room(&mut self.taken);
                None
            }
            Event::Close { code, reason } => Some(self.close(code, reason).await),
            Event::End(_) => Some(self.close(NORMAL, String::new()).await),
            Event::Failed(failure) => {
                failure.log(self.waiting.application(), "a WebSocket");
                Some(self.close(FAILED, String::new()).await)
            }
            Event::InformationalSender(..)
            | Event::Head { .. }
            | Event::Piece(_)
            | Event::Spooled(_)
            | Event::Hijack(_) => None,
        }
    }

    /// Sends a message; returns whether the client has accepted it in time.
    async fn send(&mut self, message: Message) -> bool {
        let sending = self.stream.send(message);
        match self.ping.is_zero() {
            true => sending.await.is_ok(),
            // Two pings' time: a piece has 64 KiB at most.
            false => timeout(2 * self.ping, sending).await.is_ok_and(|sent| sent.is_ok()),
        }
    }

    /// Closes cleanly: sends a close frame and waits briefly for the client's.
    async fn close(&mut self, code: u16, reason: String) -> (u16, String) {
        if self.send_close(code, &reason).await {
            self.drain().await;
        }
        (code, reason)
    }

    /// Sends a close frame; returns whether the client has accepted it in time.
    async fn send_close(&mut self, code: u16, reason: &str) -> bool {
        let frame = CloseFrame { code: code.into(), reason: reason.into() };
        timeout(CLOSE_TIMEOUT, self.stream.close(Some(frame))).await.is_ok_and(|said| said.is_ok())
    }

    /// Closes, and discards what the client still sends: otherwise the connection would be reset, and the client would
    /// not learn the reason. That may take some seconds, for which the application does not wait.
    async fn refuse(&mut self, code: u16) -> (u16, String) {
        self.leave(code, "");
        let end = self.close(code, String::new()).await;
        let stream = self.stream.get_mut().connection();
        let mut passed_over = [0; READ_BUFFER];
        let rest = async {
            // A client that has finished sending waits for the end of the connection (RFC 6455 §7.1.1).
            while let Ok(Ok(1..)) = timeout(PAUSE, stream.read(&mut passed_over)).await {}
            let _ = stream.shutdown().await;
            while stream.read(&mut passed_over).await.is_ok_and(|count| count > 0) {}
        };
        let _ = timeout(CLOSE_TIMEOUT, rest).await;
        end
    }

    async fn drain(&mut self) {
        let end = async { while let Some(Ok(_)) = self.stream.next().await {} };
        // A client that does not reply is not waited for.
        let _ = timeout(CLOSE_TIMEOUT, end).await;
    }

    fn forward_message(&mut self, kind: MessageKind, content: &[u8]) {
        let Some(link) = self.waiting.exchange.link() else { return };
        self.in_flight += messages::weight(content);
        let mut rest = content;
        while let Some((piece, behind)) =
            rest.split_at_checked(messages::PIECE).filter(|(_, behind)| !behind.is_empty())
        {
            link.send_message(messages::message(kind, false), self.waiting.ticket, piece);
            rest = behind;
        }
        link.send_message(messages::message(kind, true), self.waiting.ticket, rest);
    }
}

/// The close code for a client that sent an invalid message (RFC 6455 §7.4.1); `None` if it is gone.
fn close_code(error: &Error) -> Option<u16> {
    match error {
        Error::Protocol(tokio_tungstenite::tungstenite::error::ProtocolError::ResetWithoutClosingHandshake) => None,
        Error::Protocol(_) => Some(1002),
        Error::Utf8(_) => Some(1007),
        Error::Capacity(CapacityError::MessageTooLong { .. }) => Some(1009),
        Error::Io(error) => match error.get_ref()?.downcast_ref()? {
            InflateError::Invalid => Some(1007),
            InflateError::TooLong => Some(1009),
        },
        _ => None,
    }
}

/// RFC 6455 §7.4.1.
const NORMAL: u16 = 1000;
/// The client closed without saying why.
const NO_STATUS: u16 = 1005;
/// The connection was lost.
const ABNORMAL: u16 = 1006;
/// The application failed.
const FAILED: u16 = 1011;
/// As websockets and uvicorn have it.
const UNANSWERED: &str = "keepalive ping timeout";
/// IANA's WebSocket Close Code Number Registry: the client may reconnect at once.
const SERVICE_RESTART: u16 = 1012;

/// Bytes; there are many that are idle.
const READ_BUFFER: usize = 8 * 1024;

/// How long a client may take to reply with a close frame.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// The silence after which a client has finished sending. Clients whose connection is cut while they send do not always
/// learn why.
const PAUSE: Duration = Duration::from_millis(500);
