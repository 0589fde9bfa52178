//! The handler: encodes a request as a packet, and turns the messages of a worker into the response.

use std::{
    future::poll_fn,
    mem,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use serow_gateway::RequestLine;
use serow_message::{Body, BoxError, Handler, Headers, Method, Request, Response, StatusCode, content};
use tokio::{
    sync::watch,
    task::{AbortHandle, spawn_local},
};

use crate::{
    application::State,
    chunks::unchunked,
    environment,
    exchange::{Event, Exchange},
    messages::{self, announced},
    pool::Ticket,
    request_error::RequestError,
    settings::{ApplicationSettings, WebSocketSettings},
    shared_state::{Sent, Shared},
    upload::{self, Upload},
    websocket::{self, Handshake},
};

/// Passes requests to an application; see [`Application`](crate::Application).
#[derive(Clone, Debug)]
pub struct ApplicationHandler {
    state: Arc<State>,
}

impl ApplicationHandler {
    pub(crate) fn new(state: Arc<State>) -> Self {
        Self { state }
    }

    /// The settings of the application.
    #[must_use]
    pub fn settings(&self) -> &ApplicationSettings {
        &self.state.shared().settings
    }
}

impl Handler for ApplicationHandler {
    fn call(&self, request: Request) -> impl Future<Output = Response> + 'static {
        let shared = Arc::clone(self.state.shared());
        async move { respond(&shared, request).await }
    }
}

async fn respond(shared: &Arc<Shared>, mut request: Request) -> Response {
    match handle(shared, &mut request).await {
        Ok(mut response) => {
            let run = &shared.settings.run;
            let is_trusted = || run.trusted.contains(request.connection().peer());
            run.internal_redirects.take(&mut response, &run.name, is_trusted);
            response
        }
        Err(failure) => {
            let line = format!("{} {}", request.method, request.target.as_str());
            failure.log(&shared.settings.run.name, &line);
            failure.respond(&request.headers, shared.settings.development)
        }
    }
}

async fn handle(shared: &Arc<Shared>, request: &mut Request) -> Result<Response, RequestError> {
    let thread = shared.thread()?;
    let interface = shared.settings.program.interface;
    let mut body = mem::take(&mut request.body);
    let mut asked = None;
    let upload = match interface.is_concurrent() {
        true => match websocket::handshake(request) {
            Handshake::Valid(yes) => {
                asked = Some(yes);
                Upload::WebSocket
            }
            Handshake::Refused(refusal) => return Ok(refusal),
            Handshake::None if Upload::is_long(&body) => Upload::Later,
            Handshake::None => Upload::of_short(mem::take(&mut body)).await?,
        },
        false => Upload::of(mem::take(&mut body), &shared.settings.run.buffer).await?,
    };
    let ticket = shared.ticket();
    let packet = environment::encode_request(&shared.settings, request, &upload, thread, ticket);
    if packet.len() > messages::MAX_REQUEST {
        return Err(RequestError::HeadTooLong);
    }
    let comes_later = matches!(upload, Upload::Later);
    let line = RequestLine { method: request.method.clone(), target: request.target.clone() };
    let sent = Sent { packet, body: upload.into_file(), exchange: Arc::default(), line };
    let exchange = Arc::clone(&sent.exchange);
    shared.ask(ticket, Arc::new(sent));
    let mut waiting = PendingResponse { shared: Arc::clone(shared), ticket, exchange, uploading: None, is_over: false };
    if comes_later {
        let handing_over = upload::hand_over(body, Arc::clone(&waiting.exchange), ticket);
        waiting.uploading = Some(spawn_local(handing_over).abort_handle());
    }
    loop {
        match poll_fn(|context| waiting.poll_next(context)).await {
            Event::InformationalSender(status, headers) => request.informational().send(status, headers),
            Event::Head { status, headers, body, is_whole: true }
                if !keeps_length(&request.method, status, &headers, &body) =>
            {
                return Err(RequestError::InvalidResponse("the length of the body differs from Content-Length"));
            }
            Event::Head { status: StatusCode::SWITCHING_PROTOCOLS, headers, .. } if asked.is_some() => {
                let Some(asked) = asked else { continue };
                return Ok(websocket::accept(asked, headers, waiting));
            }
            Event::Head { status, headers, body, is_whole } => {
                let body = match is_whole {
                    true => body,
                    false => Body::stream(Pieces { first: body, waiting, announced: announced(&headers), taken: 0 }),
                };
                let body = unchunked(body, &headers);
                return Ok(Response { status, headers, body, ..Response::default() });
            }
            Event::Hijack(hijack) => return hijack.respond(request, shared.settings.run.timeout).await,
            Event::Failed(failure) => return Err(failure),
            Event::Piece(_) | Event::End(_) | Event::Message { .. } | Event::Close { .. } => {
                return Err(RequestError::InvalidResponse("a part of the body before the head"));
            }
        }
    }
}

/// Whether a complete body has the length that the application announced. HEAD announces that of GET (RFC 9110 §8.6).
fn keeps_length(method: &Method, status: StatusCode, headers: &Headers, body: &Body) -> bool {
    let is_none = *method == Method::HEAD || !content::is_possible(status);
    is_none || announced(headers).is_none_or(|length| body.length() == Some(length))
}

/// A pending response. Dropping it cancels the request.
pub(crate) struct PendingResponse {
    shared: Arc<Shared>,
    pub(crate) ticket: Ticket,
    pub(crate) exchange: Arc<Exchange>,
    /// The task that forwards the request body.
    uploading: Option<AbortHandle>,
    is_over: bool,
}

impl PendingResponse {
    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Event> {
        let event = ready!(self.exchange.poll_next(context));
        self.is_over = event.is_last();
        Poll::Ready(event)
    }
}

impl PendingResponse {
    /// The client has read so many bytes; sends the worker a window update when it is worth it.
    pub(crate) fn give_room(&self, taken: &mut usize) {
        if *taken >= ROOM_STEP
            && let Some(link) = self.exchange.link()
        {
            link.send_message(messages::ROOM, self.ticket, taken.to_string().as_bytes());
            *taken = 0;
        }
    }

    /// Cancels the request; a WebSocket's worker gets the close code and reason.
    pub(crate) fn leave(&mut self, content: &[u8]) {
        if !mem::replace(&mut self.is_over, true) {
            self.shared.cancel(self.ticket, &self.exchange, content);
        }
    }

    /// Notifies when the server stops.
    pub(crate) fn stopping(&self) -> watch::Receiver<bool> {
        self.shared.stopping()
    }

    /// How WebSockets are carried.
    pub(crate) fn websocket_settings(&self) -> &WebSocketSettings {
        &self.shared.settings.websocket
    }

    /// The name of the application.
    pub(crate) fn application(&self) -> &str {
        &self.shared.settings.run.name
    }
}

impl Drop for PendingResponse {
    fn drop(&mut self) {
        if let Some(uploading) = &self.uploading {
            uploading.abort();
        }
        self.leave(b"");
    }
}

/// A body that arrives in pieces.
struct Pieces {
    first: Body,
    waiting: PendingResponse,
    /// The remaining bytes, if the application announced a length.
    announced: Option<u64>,
    /// Bytes that the client has read but the worker does not know of.
    taken: usize,
}

impl Pieces {
    /// The body has ended; an error if it is shorter than announced.
    fn end(&self, trailers: Option<Headers>) -> Option<Result<Frame<Bytes>, BoxError>> {
        let Some(missing) = self.announced.filter(|bytes| *bytes > 0) else {
            return trailers.map(|trailers| Ok(Frame::trailers(trailers.into())));
        };
        let name = &self.waiting.shared.settings.run.name;
        tracing::error!("{name}: a body is {missing} bytes shorter than its Content-Length");
        Some(Err("the body is shorter than announced".into()))
    }

    fn hand_over(&mut self, piece: Bytes) -> Option<Result<Frame<Bytes>, BoxError>> {
        self.taken += piece.len();
        self.waiting.give_room(&mut self.taken);
        if let Some(announced) = &mut self.announced {
            let Some(left) = announced.checked_sub(piece.len() as u64) else {
                tracing::error!("{}: a body is longer than its Content-Length", self.waiting.shared.settings.run.name);
                return Some(Err("the body is longer than announced".into()));
            };
            *announced = left;
        }
        Some(Ok(Frame::data(piece)))
    }
}

impl http_body::Body for Pieces {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if let Some(Ok(first)) = ready!(self.first.poll_next(context)).map(|frame| frame.map(Frame::into_data)) {
            return Poll::Ready(first.ok().and_then(|piece| self.hand_over(piece)));
        }
        if self.waiting.is_over {
            return Poll::Ready(None);
        }
        loop {
            match ready!(self.waiting.poll_next(context)) {
                Event::Piece(piece) => return Poll::Ready(self.hand_over(piece)),
                Event::End(trailers) => return Poll::Ready(self.end(trailers)),
                Event::Failed(failure) => {
                    failure.log(&self.waiting.shared.settings.run.name, "a response that had begun");
                    return Poll::Ready(Some(Err("the application failed in the middle of a response".into())));
                }
                Event::InformationalSender(..) => {}
                Event::Head { .. } | Event::Message { .. } | Event::Close { .. } | Event::Hijack(_) => {
                    let failure = RequestError::InvalidResponse("a second response after the head of the first");
                    failure.log(&self.waiting.shared.settings.run.name, "a response that had begun");
                    return Poll::Ready(Some(Err("the application sent two responses".into())));
                }
            }
        }
    }

    fn size_hint(&self) -> SizeHint {
        self.announced.map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}

/// Bytes between window updates: one for each piece would be many packets, and with four per window the worker need not
/// wait.
const ROOM_STEP: usize = 64 * 1024;
