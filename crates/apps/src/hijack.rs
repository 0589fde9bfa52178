//! Responses that an application writes to a socket itself: Rack's hijack, PSGI's `psgix.io`.
//!
//! The worker makes a pair of sockets, keeps one end and sends the other here. It is free for other requests as soon as
//! the application has put its end somewhere, in a thread or an event loop; the client's connection stays ours.

use std::{
    future::poll_fn,
    io,
    os::fd::OwnedFd,
    pin::{Pin, pin},
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::{Bytes, BytesMut};
use http_body::{Frame, SizeHint};
use serow_client::Http1;
use serow_gateway::send_informational;
use serow_http1::{Event, Framing, Limits, Next, ReceivedResponse};
use serow_message::{
    Body, BodyLength, BodySender, BoxError, Headers, Incoming, IncomingError, KnownHeader, Method, OnUpgrade, Request,
    RequestHead, Response, StatusCode, UpgradedIo, Version, Wanted, content, hop_by_hop,
};
use serow_net::{
    Socket, Tunnel, Wire,
    channel::{AsyncChannel, Channel},
};
use tokio::{
    io::{AsyncRead, ReadBuf, copy_bidirectional},
    task::spawn_local,
    time::timeout,
};

use crate::{hijacked_socket::Hijack, pending_response::PendingResponse, request_error::RequestError};

impl Hijack {
    /// The response to this request. Its head must arrive within this time. When the client leaves, the worker gets a message.
    pub(crate) async fn respond(
        self,
        request: &mut Request,
        limit: Duration,
        waiting: PendingResponse,
    ) -> Result<Response, RequestError> {
        let nonblocking = rustix::io::ioctl_fionbio(&self.socket, true).map_err(io::Error::from);
        let socket = nonblocking.and_then(|()| Socket::new(self.socket)).map_err(RequestError::Storage)?;
        if self.head.as_ref().is_some_and(|(status, _)| *status != StatusCode::SWITCHING_PROTOCOLS) {
            // All of the request is with the worker. One that is gone will be noticed when its response is read.
            let _ = socket.shut_down();
        }
        let wire = Wire::new(socket);
        let verdict = Verdict::of(self.verdict)?;
        match self.head {
            Some((status, headers)) => {
                let socket = Tunnel::new(wire, BytesMut::new());
                continue_response(status, headers, socket, verdict, request.upgrade(), waiting)
            }
            None => {
                let reading = timeout(limit, read_response(wire, verdict, request, waiting));
                reading.await.unwrap_or(Err(RequestError::WorkerTimedOut))
            }
        }
    }
}

/// After the head, the application writes the body until it closes the socket, or another protocol.
fn continue_response(
    status: StatusCode,
    headers: Headers,
    socket: Tunnel,
    verdict: Verdict,
    upgrade: Option<OnUpgrade>,
    waiting: PendingResponse,
) -> Result<Response, RequestError> {
    let mut response = Response { status, headers, ..Response::default() };
    if status == StatusCode::SWITCHING_PROTOCOLS {
        join(upgrade.ok_or(UNREQUESTED_UPGRADE)?, socket, waiting);
    } else {
        let announced = response.headers.get_str(KnownHeader::ContentLength).and_then(|length| length.parse().ok());
        let room = vec![0; PIECE].into_boxed_slice();
        response.body =
            Body::stream(HijackedBody { source: Source::Socket(socket, verdict), announced, room, _waiting: waiting });
    }
    Ok(response)
}

/// Joins the client's connection, after its protocol switch, with the application's socket.
fn join(client: OnUpgrade, mut socket: impl UpgradedIo + 'static, waiting: PendingResponse) {
    spawn_local(async move {
        let _waiting = waiting;
        if let Ok(mut client) = client.await
            && let Err(error) = copy_bidirectional(&mut client, &mut socket).await
        {
            tracing::debug!(%error, "tunnel ended");
        }
    });
}

/// Reads a response that is written as HTTP/1.1.
async fn read_response(
    wire: Wire,
    verdict: Verdict,
    request: &mut Request,
    waiting: PendingResponse,
) -> Result<Response, RequestError> {
    let mut connection = Http1::new(wire, std::rc::Rc::default(), Limits::default());
    // The state machine needs the request; nothing of it is sent.
    let (method, target) = (request.method.clone(), request.target.clone());
    let mut asked = Headers::new();
    if let Some(protocol) = request.headers.get(KnownHeader::Upgrade) {
        // It was valid in the request.
        let _ = asked.append(KnownHeader::Upgrade, protocol);
    }
    let head = RequestHead { method, target, version: Version::HTTP_11, headers: asked };
    connection.send_head(&head, BodyLength::Known(0)).map_err(|_| INVALID_RESPONSE)?;
    let ReceivedResponse { head, framing } = loop {
        match poll_fn(|context| connection.poll_receive(context)).await {
            Ok(Event::Head(response)) if response.is_informational() => {
                send_informational(request.informational(), response.head.status, response.head.headers);
            }
            Ok(Event::Head(response)) => break response,
            Ok(Event::Data(_) | Event::End(_)) => {}
            Err(_) => return Err(INVALID_RESPONSE),
        }
    };
    let mut response = Response { status: head.status, headers: head.headers, ..Response::default() };
    if connection.next() == Next::Tunnel {
        join(request.upgrade().ok_or(UNREQUESTED_UPGRADE)?, connection.into_tunnel(), waiting);
        return Ok(response);
    }
    let keeps_length = request.method == Method::HEAD && content::is_possible(response.status);
    let named = hop_by_hop::Named::of(&response.headers);
    response.headers.retain_known(|name, known, _| match known {
        Some(KnownHeader::ContentLength) => keeps_length,
        known => !named.covers(name, known),
    });
    let (sender, incoming) = Incoming::channel(framing.length());
    response.body = incoming.into();
    let verdict = if framing == Framing::UntilClose { verdict } else { Verdict::Framing };
    spawn_local(forward_body(connection, verdict, sender, waiting));
    Ok(response)
}

/// Forwards a body as the client reads it.
async fn forward_body(mut connection: Http1, verdict: Verdict, sender: BodySender, _waiting: PendingResponse) {
    loop {
        if poll_fn(|context| sender.poll_wanted(context)).await == Wanted::Nothing {
            return;
        }
        let event = poll_fn(|context| match sender.poll_abandoned(context) {
            Poll::Ready(()) => Poll::Ready(None),
            Poll::Pending => connection.poll_receive(context).map(Some),
        });
        match event.await {
            Some(Ok(Event::Data(data))) => {
                let mut data = Some(data);
                poll_fn(|context| {
                    data.take().into_iter().for_each(|data| sender.push(data, context));
                    Poll::Ready(())
                })
                .await;
            }
            Some(Ok(Event::End(trailers))) => {
                return match verdict.wait().await {
                    true => sender.finish(trailers),
                    false => sender.fail(IncomingError::Disconnected),
                };
            }
            Some(Ok(Event::Head(_))) => {}
            Some(Err(error)) => {
                tracing::error!("a hijacked response was cut off: {error}");
                return sender.fail(IncomingError::ResponseCutOff);
            }
            None => return,
        }
    }
}

/// A body that an application writes to a socket until it closes it.
struct HijackedBody {
    source: Source,
    /// The remaining bytes, if the application announced a length.
    announced: Option<u64>,
    room: Box<[u8]>,
    _waiting: PendingResponse,
}

/// Where more of a body comes from.
enum Source {
    Socket(Tunnel, Verdict),
    /// The socket has been closed: is this the end of the body?
    Closed(Pin<Box<dyn Future<Output = bool> + Send>>),
}

impl http_body::Body for HijackedBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let Self { source, announced, room, .. } = &mut *self;
        if *announced == Some(0) {
            return Poll::Ready(None);
        }
        if let Source::Socket(socket, verdict) = source {
            let mut buffer = ReadBuf::new(room);
            ready!(pin!(socket).poll_read(context, &mut buffer))?;
            let piece = buffer.filled();
            if !piece.is_empty() {
                // Bytes beyond the announced length are dropped.
                let length =
                    announced.map_or(piece.len(), |left| usize::try_from(left).unwrap_or(usize::MAX).min(piece.len()));
                announced.iter_mut().for_each(|left| *left -= length as u64);
                return Poll::Ready(Some(Ok(Frame::data(Bytes::copy_from_slice(&piece[..length])))));
            }
            if announced.is_some() {
                return Poll::Ready(Some(Err("the body is shorter than announced".into())));
            }
            *source = Source::Closed(Box::pin(std::mem::replace(verdict, Verdict::Framing).wait()));
        }
        let Source::Closed(verdict) = source else { return Poll::Ready(None) };
        match ready!(verdict.as_mut().poll(context)) {
            true => {
                *announced = Some(0);
                Poll::Ready(None)
            }
            false => Poll::Ready(Some(Err("the application failed in the middle of a response".into()))),
        }
    }

    fn size_hint(&self) -> SizeHint {
        self.announced.map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}

/// Whether a response that ends with its socket is complete.
#[derive(Debug)]
enum Verdict {
    /// Its end shows that it is.
    Framing,
    /// The worker says so here, before it closes the socket.
    Channel(Channel),
}

impl Verdict {
    fn of(descriptor: Option<OwnedFd>) -> Result<Self, RequestError> {
        let channel = descriptor.map(Channel::inherited).transpose().map_err(RequestError::Storage)?;
        Ok(channel.map_or(Self::Framing, Self::Channel))
    }

    /// Waits for it, after the socket has been closed: whether the response is complete.
    async fn wait(self) -> bool {
        let Self::Channel(channel) = self else { return true };
        let received = match channel.try_receive() {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                let Ok(channel) = AsyncChannel::new(channel) else { return false };
                // An application that has closed the descriptor by other means than its object says nothing, and a
                // process that was killed closes the channel at the same time.
                timeout(VERDICT, async move { channel.receive().await }).await
            }
            received => Ok(received),
        };
        let is_complete = received.is_err() || received.is_ok_and(|received| received.is_ok_and(|said| said.is_some()));
        if !is_complete {
            tracing::error!("a streamed response was cut off: the application failed, or did not close its socket");
        }
        is_complete
    }
}

/// How long the verdict may come after the end of the socket: a process that ends closes both within microseconds.
const VERDICT: Duration = Duration::from_secs(1);

/// Bytes read at a time.
const PIECE: usize = 16 * 1024;

const UNREQUESTED_UPGRADE: RequestError =
    RequestError::InvalidResponse("a protocol switch that the client did not request");
const INVALID_RESPONSE: RequestError =
    RequestError::InvalidResponse("no valid HTTP/1.1 response on the hijacked socket");
