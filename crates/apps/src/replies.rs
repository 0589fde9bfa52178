//! Receives a worker's replies to a thread.

use std::{
    cell::{Cell, RefCell},
    fs::File,
    io,
    os::fd::{AsFd, OwnedFd},
    sync::Arc,
};

use bytes::Bytes;
use serow_message::{Body, FileRange, FileVersion};
use serow_net::{channel::AsyncChannel, monotonic};

use crate::{
    exchange::{Event, Exchange},
    hijacked_socket::Hijack,
    messages::{
        self, InvalidReplyError, Reply, ReplyKind, announced, parse_close, parse_head, parse_informational, parse_room,
        parse_trailers,
    },
    pool::{RequestTimes, Ticket},
    program::Interface,
    request_error::RequestError,
    shared_state::{ApplicationState, Sent},
    worker_link::WorkerLink,
};
use serow_processes::RunSettings;

thread_local! {
    /// Where packets are received. They are read before another task has its turn.
    static PACKET: RefCell<Box<[u8]>> = RefCell::new(vec![0; MAX_PACKET].into_boxed_slice());
}

/// Reads the replies of a worker to this thread until the worker is gone.
pub(crate) async fn read(shared: &ApplicationState, link: &Arc<WorkerLink>, thread: usize) {
    let channel = match link.replies[thread].try_clone().and_then(AsyncChannel::new) {
        Ok(channel) => channel,
        Err(error) => {
            tracing::error!("cannot read replies of worker {}: {error}; allow more open files", link.place);
            return;
        }
    };
    // Packets with descriptors are received in another way, which costs more.
    let expected = Cell::new(0_usize);
    loop {
        let received = channel.receive_with(|channel| {
            if expected.get() > 0 {
                return Ok(channel.try_receive()?.map(|message| {
                    expected.set(expected.get() - usize::from(!message.descriptors.is_empty()));
                    take(shared, link, thread, &message.bytes, message.descriptors, &expected)
                }));
            }
            PACKET.with_borrow_mut(|packet| {
                let length = channel.try_receive_into(packet)?;
                Ok((length > 0).then(|| take(shared, link, thread, &packet[..length], Vec::new(), &expected)))
            })
        });
        match received.await {
            Ok(Some(Some(growing))) if growing.exchange.has_room() => {}
            Ok(Some(Some(Growing { exchange, ticket }))) => {
                let RunSettings { buffer, name, .. } = &shared.settings.run;
                shared.pool().hold_up(link.number, ticket, monotonic());
                exchange.make_room(buffer, name).await;
                shared.pool().stream(link.number, ticket, monotonic());
            }
            Ok(Some(None)) => {}
            Ok(None) => return,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => {
                tracing::error!("cannot receive from worker {}: {error}; it is stopped", link.place);
                return;
            }
        }
    }
}

/// A body that grows, for which a worker that answers one at a time may have to wait.
struct Growing {
    exchange: Arc<Exchange>,
    ticket: Ticket,
}

/// Takes one packet; gives the body that has grown.
fn take(
    shared: &ApplicationState,
    link: &Arc<WorkerLink>,
    thread: usize,
    packet: &[u8],
    descriptors: Vec<OwnedFd>,
    expected: &Cell<usize>,
) -> Option<Growing> {
    let reply = match Reply::parse(packet) {
        Ok(reply) => reply,
        Err(InvalidReplyError(what)) => {
            tracing::error!(
                "worker {} sent an invalid message ({what}): another process writes to its sockets",
                link.place
            );
            return None;
        }
    };
    if reply.kind == ReplyKind::Announced {
        expected.set(expected.get() + 1);
        return None;
    }
    let interface = shared.settings.program.interface;
    let is_concurrent = interface.is_concurrent();
    let is_done = (reply.kind.is_last() && !reply.stays_busy) || reply.kind == ReplyKind::Free;
    let (sent, times, next_steps) = {
        let mut pool = shared.pool();
        let sent = pool.in_flight(link.number, reply.ticket);
        match reply.kind {
            ReplyKind::Socket => pool.hijack(link.number, reply.ticket, monotonic()),
            _ if reply.stays_busy => pool.answered(link.number, reply.ticket, monotonic()),
            ReplyKind::Head => pool.stream(link.number, reply.ticket, monotonic()),
            ReplyKind::Piece if !is_concurrent => pool.stream(link.number, reply.ticket, monotonic()),
            _ => {}
        }
        let is_noted = !is_done && sent.as_ref().is_some_and(|sent| sent.notes.is_some());
        let times = if is_noted { pool.times(link.number, reply.ticket, monotonic()) } else { None };
        (sent, times, is_done.then(|| pool.finished(link.number, reply.ticket, monotonic())))
    };
    let times = times.or(next_steps.as_ref().and_then(|next_steps| next_steps.times));
    // First the worker has its next request.
    if let Some(next_steps) = next_steps {
        next_steps.times.iter().for_each(|times| shared.times.count(*times));
        shared.carry_out(link, next_steps);
    }
    if reply.kind == ReplyKind::BodyFile {
        send_body_file(sent.as_deref(), link, thread, &reply);
        return None;
    }
    let sent = sent?;
    deliver(&reply, descriptors, &sent, link, interface, times, is_done);
    let is_growing = reply.kind == ReplyKind::Piece && !is_concurrent;
    is_growing.then(|| Growing { exchange: Arc::clone(&sent.exchange), ticket: reply.ticket })
}

/// Passes a reply to the task that waits for the response.
fn deliver(
    reply: &Reply<'_>,
    descriptors: Vec<OwnedFd>,
    sent: &Sent,
    link: &Arc<WorkerLink>,
    interface: Interface,
    times: Option<RequestTimes>,
    is_done: bool,
) {
    let (exchange, is_concurrent) = (&sent.exchange, interface.is_concurrent());
    if is_concurrent && matches!(reply.kind, ReplyKind::Head | ReplyKind::Room) {
        exchange.belongs_to(link);
    }
    if reply.kind == ReplyKind::Room {
        match parse_room(reply.content) {
            Ok(room) => exchange.give_room(room),
            Err(InvalidReplyError(what)) => exchange.push(Event::Failed(RequestError::InvalidResponse(what))),
        }
        return;
    }
    if reply.kind == ReplyKind::Free {
        // Ignored after a response, which is the usual case.
        push(sent, link, times, Event::Failed(RequestError::InvalidResponse("no response")));
        return;
    }
    if let Some(event) = event(reply, descriptors, interface) {
        if is_concurrent && !is_done && matches!(event, Event::Failed(_)) {
            // The worker still sends, but nobody waits.
            link.send_message(messages::CANCEL, reply.ticket, b"");
        }
        push(sent, link, times, event);
    }
}

/// Passes an event on, and notes it for the access log if that reads the times.
fn push(sent: &Sent, link: &WorkerLink, times: Option<RequestTimes>, event: Event) {
    if let (Some(notes), Some(times)) = (&sent.notes, times)
        && !sent.exchange.is_settled()
    {
        notes.note(&link.name(), times, &event);
    }
    sent.exchange.push(event);
}

fn event(reply: &Reply<'_>, descriptors: Vec<OwnedFd>, interface: Interface) -> Option<Event> {
    let event = match reply.kind {
        ReplyKind::Piece => Ok(Event::Piece(Bytes::copy_from_slice(reply.content))),
        ReplyKind::End => Ok(Event::End(None)),
        ReplyKind::Trailers => parse_trailers(reply.content, interface).map(|trailers| Event::End(Some(trailers))),
        ReplyKind::Free | ReplyKind::Announced | ReplyKind::BodyFile | ReplyKind::Room => return None,
        ReplyKind::Message { kind, is_last } => {
            Ok(Event::Message { kind, is_last, content: Bytes::copy_from_slice(reply.content) })
        }
        ReplyKind::Close => parse_close(reply.content).map(|(code, reason)| Event::Close { code, reason }),
        ReplyKind::Failed => {
            Ok(Event::Failed(RequestError::Application(String::from_utf8_lossy(reply.content).into_owned())))
        }
        ReplyKind::InformationalSender => parse_informational(reply.content, interface)
            .map(|(status, headers)| Event::InformationalSender(status, headers)),
        ReplyKind::Whole | ReplyKind::Head | ReplyKind::File => head(reply, descriptors, interface),
        ReplyKind::Socket => hijack(reply, descriptors, interface),
    };
    Some(event.unwrap_or_else(|InvalidReplyError(what)| Event::Failed(RequestError::InvalidResponse(what))))
}

fn hijack(reply: &Reply<'_>, descriptors: Vec<OwnedFd>, interface: Interface) -> Result<Event, InvalidReplyError> {
    let mut descriptors = descriptors.into_iter();
    let socket = descriptors.next().ok_or(InvalidReplyError("the hijacked socket was not passed along"))?;
    let head = (!reply.content.is_empty()).then(|| parse_head(reply.content, interface)).transpose()?;
    let head = head.map(|(status, headers, _)| (status, headers));
    Ok(Event::Hijack(Box::new(Hijack { socket, verdict: descriptors.next(), head })))
}

fn head(reply: &Reply<'_>, descriptors: Vec<OwnedFd>, interface: Interface) -> Result<Event, InvalidReplyError> {
    let (status, headers, rest) = parse_head(reply.content, interface)?;
    let body = match reply.kind {
        ReplyKind::File => file(rest, descriptors.into_iter().next(), announced(&headers))?,
        _ => Body::from(Bytes::copy_from_slice(rest)),
    };
    Ok(Event::Head { status, headers, body, is_whole: reply.kind != ReplyKind::Head })
}

/// The file that an application passed as the body, from this offset on and as long as announced.
fn file(offset: &[u8], descriptor: Option<OwnedFd>, announced: Option<u64>) -> Result<Body, InvalidReplyError> {
    let offset = std::str::from_utf8(offset).ok().and_then(|digits| digits.parse().ok()).unwrap_or(0);
    let file = File::from(descriptor.ok_or(InvalidReplyError("the file of the body was not passed along"))?);
    let metadata = file.metadata().ok().filter(std::fs::Metadata::is_file);
    let metadata = metadata.ok_or(InvalidReplyError("the body is not a regular file"))?;
    let version = Some(FileVersion::of(&metadata));
    let rest = metadata.len().saturating_sub(offset);
    let length = announced.map_or(rest, |length| length.min(rest));
    Ok(Body::file(FileRange { file: Arc::new(file), offset, length, version }))
}

/// Gives a worker the file that is the body of a request it has; nothing where nobody waits for the response any more.
fn send_body_file(sent: Option<&Sent>, link: &WorkerLink, thread: usize, reply: &Reply<'_>) {
    let mut ticket = Vec::with_capacity(messages::TICKET_LENGTH);
    messages::write_ticket(messages::WITH_FILE, thread, reply.ticket, &mut ticket);
    let body = sent.filter(|sent| !sent.exchange.is_settled()).and_then(|sent| sent.body.as_ref());
    let descriptors: Vec<_> = body.map(|body| body.file().as_fd()).into_iter().collect();
    if let Err(error) = link.replies[thread].send(&ticket, &descriptors) {
        // It has sent so many requests for files that there is no room, or is about to exit.
        tracing::debug!(worker = link.place, %error, "cannot pass a request body to a worker");
    }
}

/// The limit is the socket's buffer (net.core.wmem_default, 208 KiB), so no packet is longer.
const MAX_PACKET: usize = 512 * 1024;
