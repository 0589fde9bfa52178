//! The conversation behind an agreement: until one side closes, messages go both ways.
//!
//! Both sides have room for some bytes that the other has not taken yet; what has no room waits where it came from.

use std::{
    future::poll_fn,
    pin::pin,
    time::{Duration, Instant},
};

use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use serow_message::Upgraded;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    time::{sleep, timeout},
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

use super::heartbeat::{Heartbeat, HeartbeatAction};
use crate::{
    exchange::Event,
    handler::PendingResponse,
    messages::{self, MessageKind},
    settings::WebSocketSettings,
};

/// A WebSocket that an application has accepted.
pub(super) struct WebSocketSession {
    stream: WebSocketStream<Upgraded>,
    waiting: PendingResponse,
    /// After how long a silent client is asked whether it is there, and how long it may take what is sent.
    ping: Duration,
    /// What the application has not received yet, in bytes.
    in_flight: usize,
    /// What the client has taken and the worker does not know of, in bytes.
    taken: usize,
    /// Whether the application is in the middle of a message.
    continues: bool,
}

/// What happens next.
enum SessionEvent {
    /// The client said something, or is gone.
    Client(Option<Result<Message, Error>>),
    /// The application did.
    Application(Event),
    /// The application has received so many bytes.
    Room(usize),
    /// The client has been silent, perhaps for too long.
    Heartbeat,
    /// The worker is to leave, or the server stops.
    Leaving,
}

impl WebSocketSession {
    /// One that begins on this connection.
    pub(super) async fn new(connection: Upgraded, waiting: PendingResponse) -> Self {
        let WebSocketSettings { ping, message } = *waiting.websocket_settings();
        let limits = WebSocketConfig::default()
            .read_buffer_size(READ_BUFFER)
            .max_message_size(Some(message))
            .max_frame_size(Some(message));
        let stream = WebSocketStream::from_raw_socket(connection, Role::Server, Some(limits)).await;
        Self { stream, waiting, ping, in_flight: 0, taken: 0, continues: false }
    }

    /// Until its end.
    pub(super) async fn run(mut self) {
        let Some(link) = self.waiting.exchange.link().cloned() else { return };
        let (mut leaving, mut stopping) = (link.leaving(), self.waiting.stopping());
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
                _ = leaving.wait_for(|is_leaving| *is_leaving) => SessionEvent::Leaving,
                _ = stopping.wait_for(|is_stopping| *is_stopping) => SessionEvent::Leaving,
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
                    Some(due) => alarm.as_mut().reset(due.into()),
                    None => break (ABNORMAL, String::new()),
                },
                SessionEvent::Leaving => break self.close(SERVICE_RESTART, String::new()).await,
            }
        };
        self.leave(code, &reason);
    }

    /// The application is told that it is over, if it was not.
    fn leave(&mut self, code: u16, reason: &str) {
        self.waiting.leave(format!("{code}{reason}").as_bytes());
    }

    /// Asks a client that is silent whether it is there. Gives when to look again, where it is not gone.
    async fn look_after(&mut self, heartbeat: &mut Heartbeat) -> Option<Instant> {
        if self.in_flight >= messages::WINDOW {
            // Nobody listens to it, since the application is slow.
            heartbeat.note_activity(Instant::now());
        }
        match heartbeat.beat(Instant::now()) {
            HeartbeatAction::Wait(due) => Some(due),
            HeartbeatAction::Ask(due) => self.send(Message::Ping(Bytes::new())).await.then_some(due),
            HeartbeatAction::Gone => {
                self.leave(ABNORMAL, "");
                // It may be there all the same, but it is not waited for.
                self.send_close(FAILED, UNANSWERED).await;
                None
            }
        }
    }

    /// Hands over what the client said. Gives code and reason when that was the last.
    async fn handle_client_message(&mut self, said: Option<Result<Message, Error>>) -> Option<(u16, String)> {
        match said {
            Some(Ok(Message::Text(text))) => self.tell(MessageKind::Text, text.as_bytes()),
            Some(Ok(Message::Binary(bytes))) => self.tell(MessageKind::Binary, &bytes),
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

    /// Sends what the application said. Gives code and reason when that was the last.
    async fn handle_application_event(&mut self, event: Event) -> Option<(u16, String)> {
        match event {
            Event::Message { kind, is_last, content } => {
                self.taken += messages::weight(&content);
                let data = match (self.continues, kind) {
                    (true, _) => Data::Continue,
                    (false, MessageKind::Text) => Data::Text,
                    (false, MessageKind::Binary) => Data::Binary,
                };
                self.continues = !is_last;
                let frame = Frame::message(content, OpCode::Data(data), is_last);
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
            Event::InformationalSender(..) | Event::Head { .. } | Event::Piece(_) | Event::Hijack(_) => None,
        }
    }

    /// Sends this, and says whether the client has taken it.
    async fn send(&mut self, message: Message) -> bool {
        let sending = self.stream.send(message);
        match self.ping.is_zero() {
            true => sending.await.is_ok(),
            // Two pings' time: a piece has 64 KiB at most.
            false => timeout(2 * self.ping, sending).await.is_ok_and(|sent| sent.is_ok()),
        }
    }

    /// Closes in order: says so, and waits for a moment for the client to say the same.
    async fn close(&mut self, code: u16, reason: String) -> (u16, String) {
        if self.send_close(code, &reason).await {
            self.drain().await;
        }
        (code, reason)
    }

    /// Says that it is closed, and whether the client has taken that.
    async fn send_close(&mut self, code: u16, reason: &str) -> bool {
        let frame = CloseFrame { code: code.into(), reason: reason.into() };
        timeout(CLOSE_TIMEOUT, self.stream.close(Some(frame))).await.is_ok_and(|said| said.is_ok())
    }

    /// Closes, and passes over what the client still sends: the connection would be reset otherwise, and the client would not
    /// learn why. That may take some seconds, and the application need not wait.
    async fn refuse(&mut self, code: u16) -> (u16, String) {
        self.leave(code, "");
        let end = self.close(code, String::new()).await;
        let stream = self.stream.get_mut();
        let mut passed_over = [0; READ_BUFFER];
        let rest = async {
            // When the client has sent what it had begun, it waits for the end of the connection (RFC 6455 §7.1.1).
            while let Ok(Ok(1..)) = timeout(PAUSE, stream.read(&mut passed_over)).await {}
            let _ = stream.shutdown().await;
            while stream.read(&mut passed_over).await.is_ok_and(|count| count > 0) {}
        };
        let _ = timeout(CLOSE_TIMEOUT, rest).await;
        end
    }

    async fn drain(&mut self) {
        let end = async { while let Some(Ok(_)) = self.stream.next().await {} };
        // A client that says nothing more is left alone.
        let _ = timeout(CLOSE_TIMEOUT, end).await;
    }

    fn tell(&mut self, kind: MessageKind, content: &[u8]) {
        let Some(link) = self.waiting.exchange.link() else { return };
        self.in_flight += messages::weight(content);
        let mut rest = content;
        while let Some((piece, behind)) =
            rest.split_at_checked(messages::PIECE).filter(|(_, behind)| !behind.is_empty())
        {
            link.tell(messages::message(kind, false), self.waiting.ticket, piece);
            rest = behind;
        }
        link.tell(messages::message(kind, true), self.waiting.ticket, rest);
    }
}

/// What a client is told that sent what is no message (RFC 6455 §7.4.1); nothing where it is gone.
fn close_code(error: &Error) -> Option<u16> {
    match error {
        Error::Protocol(tokio_tungstenite::tungstenite::error::ProtocolError::ResetWithoutClosingHandshake) => None,
        Error::Protocol(_) => Some(1002),
        Error::Utf8(_) => Some(1007),
        Error::Capacity(CapacityError::MessageTooLong { .. }) => Some(1009),
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
/// IANA's WebSocket Close Code Number Registry: the client may come again at once.
const SERVICE_RESTART: u16 = 1012;

/// Bytes; there are many that are idle.
const READ_BUFFER: usize = 8 * 1024;

/// How long a client may take to agree that all is over.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a client says nothing when it has sent what it had begun. Clients that are cut while they send do not always learn
/// why.
const PAUSE: Duration = Duration::from_millis(500);
