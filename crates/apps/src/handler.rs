//! The handler: encodes a request as a packet, and turns the messages of a worker into the response.

use std::{future::poll_fn, mem, sync::Arc};

use serow_gateway::{RequestLine, send_informational};
use serow_message::{Body, Handler, Headers, Method, Request, Response, StatusCode, content};
use serow_net::time;
use tokio::task::spawn_local;

use crate::{
    application::ApplicationByInterface,
    attempt_notes::AttemptNotes,
    environment,
    exchange::Event,
    messages::{self, announced},
    pending_response::PendingResponse,
    request_error::RequestError,
    request_start,
    response_body::Pieces,
    response_fields,
    settings::ApplicationSettings,
    shared_state::{ApplicationState, Sent},
    upload::{self, Upload},
    websocket::{self, Handshake},
};

/// Passes requests to an application; see [`Application`](crate::Application).
#[derive(Clone, Debug)]
pub struct ApplicationHandler {
    state: Arc<ApplicationByInterface>,
}

impl ApplicationHandler {
    pub(crate) fn new(state: Arc<ApplicationByInterface>) -> Self {
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

async fn respond(shared: &Arc<ApplicationState>, mut request: Request) -> Response {
    let notes = shared.settings.run.note_attempts.then(AttemptNotes::begin);
    let mut response = match handle(shared, &mut request, notes.clone()).await {
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
    };
    if let Some(notes) = notes {
        response.extensions.insert(notes.into_attempts());
    }
    response
}

async fn handle(
    shared: &Arc<ApplicationState>,
    request: &mut Request,
    notes: Option<AttemptNotes>,
) -> Result<Response, RequestError> {
    let thread = shared.thread()?;
    let interface = shared.settings.program.interface;
    let mut body = mem::take(&mut request.body);
    let (upload, asked) = match interface.is_concurrent() {
        true => match websocket::handshake(request) {
            Handshake::Valid(asked) => (Upload::WebSocket, Some(asked)),
            Handshake::Refused(refusal) => return Ok(refusal),
            Handshake::None if Upload::is_long(&body) => (Upload::Later, None),
            Handshake::None => (Upload::of_short(mem::take(&mut body)).await?, None),
        },
        false => (Upload::of(mem::take(&mut body), &shared.settings.run.buffer).await?, None),
    };
    let comes_later = matches!(upload, Upload::Later);
    let mut waiting = pass_on(shared, request, upload, thread, notes)?;
    if comes_later {
        let handing_over = upload::hand_over(body, Arc::clone(&waiting.exchange), waiting.ticket);
        waiting.note_upload(spawn_local(handing_over).abort_handle());
    }
    loop {
        match poll_fn(|context| waiting.poll_next(context)).await {
            Event::InformationalSender(status, headers) => send_informational(request.informational(), status, headers),
            Event::Head { status, headers, body, is_whole: true }
                if !keeps_length(&request.method, status, &headers, &body) =>
            {
                return Err(RequestError::InvalidResponse("the length of the body differs from Content-Length"));
            }
            Event::Head { status: StatusCode::SWITCHING_PROTOCOLS, headers, .. } if asked.is_some() => {
                let Some(asked) = asked else { continue };
                return Ok(response_fields::finished(websocket::accept(asked, headers, waiting), interface, false));
            }
            Event::Head { status, headers, body, is_whole } => {
                let body = match is_whole {
                    true => body,
                    false => Body::stream(Pieces::new(body, waiting, announced(&headers))),
                };
                let has_trailers = interface.is_concurrent() && !is_whole;
                let response = Response { status, headers, body, ..Response::default() };
                return Ok(response_fields::finished(response, interface, has_trailers));
            }
            Event::Hijack(hijack) => {
                let response = hijack.respond(request, shared.settings.run.timeout, waiting).await?;
                return Ok(response_fields::finished(response, interface, false));
            }
            Event::Failed(failure) => return Err(failure),
            Event::Piece(_) | Event::Spooled(_) | Event::End(_) | Event::Message { .. } | Event::Close { .. } => {
                return Err(RequestError::InvalidResponse("a part of the body before the head"));
            }
        }
    }
}

/// Passes a request to the pool.
fn pass_on(
    shared: &Arc<ApplicationState>,
    request: &mut Request,
    upload: Upload,
    thread: usize,
    notes: Option<AttemptNotes>,
) -> Result<PendingResponse, RequestError> {
    if shared.settings.request_start {
        request_start::add(request, &shared.settings.run.trusted, time::wall());
    }
    let ticket = shared.ticket();
    let packet = environment::encode_request(&shared.settings, request, &upload, thread, ticket);
    if packet.len() > messages::MAX_REQUEST {
        return Err(RequestError::HeadTooLong);
    }
    let line = RequestLine { method: request.method.clone(), target: request.target.clone() };
    let sent = Sent { packet, body: upload.into_file(), exchange: Arc::default(), line, notes: notes.clone() };
    let exchange = Arc::clone(&sent.exchange);
    shared.ask(ticket, Arc::new(sent));
    Ok(PendingResponse::new(Arc::clone(shared), ticket, exchange, notes))
}

/// Whether a complete body has the length that the application announced. HEAD announces that of GET (RFC 9110 §8.6).
fn keeps_length(method: &Method, status: StatusCode, headers: &Headers, body: &Body) -> bool {
    let has_content = content::is_possible(status) && status != StatusCode::RESET_CONTENT;
    let is_none = *method == Method::HEAD || !has_content;
    is_none || announced(headers).is_none_or(|length| body.length() == Some(length))
}
