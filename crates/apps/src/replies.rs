//! Reading what a worker replies to a thread.

use std::{
    cell::{Cell, RefCell},
    fs::File,
    future::poll_fn,
    io,
    os::{fd::OwnedFd, unix::ffi::OsStrExt},
    path::Path,
    sync::Arc,
};

use bytes::Bytes;
use serow_message::{Body, FileRange, FileVersion};
use serow_net::{channel::AsyncChannel, monotonic};

use crate::{
    application::Shared,
    exchange::{Event, Exchange},
    failure::Failure,
    link::Link,
    takeover::Takeover,
    words::{self, Nonsense, Reply, ReplyKind, announced, parse_close, parse_head, parse_room, parse_trailers},
};

thread_local! {
    /// Where packets are received. They are read before another task has its turn.
    static PACKET: RefCell<Box<[u8]>> = RefCell::new(vec![0; MOST_PACKET].into_boxed_slice());
}

/// Reads the replies of a worker to this thread until the worker is gone.
pub(crate) async fn read(shared: &Shared, link: &Arc<Link>, thread: usize) {
    let channel = match link.replies[thread].try_clone().and_then(AsyncChannel::new) {
        Ok(channel) => channel,
        Err(error) => {
            tracing::error!("replies of worker {} cannot be read: {error}; allow more open files", link.place);
            return;
        }
    };
    // Packets with descriptors are received in another way, which costs more.
    let expected = Cell::new(0_usize);
    loop {
        let received = channel.receive_with(|channel| {
            if expected.get() > 0 {
                return Ok(channel.try_receive()?.map(|message| {
                    expected.set(expected.get() - message.descriptors.len().min(expected.get()));
                    take(shared, link, &message.bytes, message.descriptors.into_iter().next(), &expected)
                }));
            }
            PACKET.with_borrow_mut(|packet| {
                let length = channel.try_receive_into(packet)?;
                Ok((length > 0).then(|| take(shared, link, &packet[..length], None, &expected)))
            })
        });
        match received.await {
            Ok(Some(Some(exchange))) => poll_fn(|context| exchange.poll_room(context)).await,
            Ok(Some(None)) => {}
            Ok(None) => return,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => {
                tracing::error!("worker {} cannot be understood: {error}; it is ended", link.place);
                return;
            }
        }
    }
}

/// Takes one packet; gives the exchange whose body is growing, for which a worker that answers one at a time may have to wait.
fn take(
    shared: &Shared,
    link: &Arc<Link>,
    packet: &[u8],
    descriptor: Option<OwnedFd>,
    expected: &Cell<usize>,
) -> Option<Arc<Exchange>> {
    let reply = match Reply::parse(packet) {
        Ok(reply) => reply,
        Err(Nonsense(what)) => {
            tracing::error!("worker {} sent {what}: something else writes to its sockets", link.place);
            return None;
        }
    };
    if reply.kind == ReplyKind::Announced {
        expected.set(expected.get() + 1);
        return None;
    }
    let is_concurrent = shared.settings.program.interface.is_concurrent();
    let is_done = (reply.kind.is_last() && !reply.stays_busy) || reply.kind == ReplyKind::Free;
    let (sent, turn) = {
        let mut pool = shared.pool();
        let sent = pool.under_way(link.number, reply.ticket);
        if reply.stays_busy {
            pool.answered(link.number, reply.ticket);
        }
        if is_concurrent && reply.kind == ReplyKind::Head {
            pool.streaming(link.number, reply.ticket);
        }
        (sent, is_done.then(|| pool.finished(link.number, reply.ticket, monotonic())))
    };
    // First the worker has its next request.
    if let Some(turn) = turn {
        shared.take_turn(link, turn);
    }
    let exchange = &sent?.exchange;
    if is_concurrent && matches!(reply.kind, ReplyKind::Head | ReplyKind::Room) {
        exchange.belongs_to(link);
    }
    if reply.kind == ReplyKind::Room {
        match parse_room(reply.content) {
            Ok(room) => exchange.give_room(room),
            Err(Nonsense(what)) => exchange.push(Event::Failed(Failure::Nonsense(what))),
        }
        return None;
    }
    if let Some(event) = event(&reply, descriptor) {
        if is_concurrent && !is_done && matches!(event, Event::Failed(_)) {
            // It goes on, and nobody listens.
            link.tell(words::CANCEL, reply.ticket, b"");
        }
        exchange.push(event);
    }
    (reply.kind == ReplyKind::Piece && !is_concurrent).then(|| Arc::clone(exchange))
}

fn event(reply: &Reply<'_>, descriptor: Option<OwnedFd>) -> Option<Event> {
    let event = match reply.kind {
        ReplyKind::Piece => Ok(Event::Piece(Bytes::copy_from_slice(reply.content))),
        ReplyKind::End => Ok(Event::End(None)),
        ReplyKind::Trailers => parse_trailers(reply.content).map(|trailers| Event::End(Some(trailers))),
        ReplyKind::Free | ReplyKind::Announced | ReplyKind::Room => return None,
        ReplyKind::Message { kind, is_last } => {
            Ok(Event::Message { kind, is_last, content: Bytes::copy_from_slice(reply.content) })
        }
        ReplyKind::Close => parse_close(reply.content).map(|(code, reason)| Event::Close { code, reason }),
        ReplyKind::Failed => {
            Ok(Event::Failed(Failure::Application(String::from_utf8_lossy(reply.content).into_owned())))
        }
        ReplyKind::Interim => parse_head(reply.content).map(|(status, headers, _)| Event::Interim(status, headers)),
        ReplyKind::Whole | ReplyKind::Head | ReplyKind::File => head(reply, descriptor),
        ReplyKind::Socket => takeover(reply, descriptor),
    };
    Some(event.unwrap_or_else(|Nonsense(what)| Event::Failed(Failure::Nonsense(what))))
}

fn takeover(reply: &Reply<'_>, socket: Option<OwnedFd>) -> Result<Event, Nonsense> {
    let socket = socket.ok_or(Nonsense("a socket of its own that did not come along"))?;
    let head = (!reply.content.is_empty()).then(|| parse_head(reply.content)).transpose()?;
    let head = head.map(|(status, headers, _)| (status, headers));
    Ok(Event::Takeover(Box::new(Takeover { socket, head })))
}

fn head(reply: &Reply<'_>, descriptor: Option<OwnedFd>) -> Result<Event, Nonsense> {
    let (status, headers, rest) = parse_head(reply.content)?;
    let body = match reply.kind {
        ReplyKind::File => file(rest, descriptor, announced(&headers))?,
        _ => Body::from(Bytes::copy_from_slice(rest)),
    };
    Ok(Event::Head { status, headers, body, is_whole: reply.kind != ReplyKind::Head })
}

/// The file that an application named as the body, from the byte on that stands before its path, and as long as was announced.
fn file(place: &[u8], descriptor: Option<OwnedFd>, announced: Option<u64>) -> Result<Body, Nonsense> {
    let (offset, path) = place.split_at(place.iter().take_while(|byte| byte.is_ascii_digit()).count());
    let offset = std::str::from_utf8(offset).ok().and_then(|digits| digits.parse().ok()).unwrap_or(0);
    let path = Path::new(std::ffi::OsStr::from_bytes(path));
    let unreadable = Nonsense("a file as body that cannot be read");
    let opened = descriptor.map_or_else(|| File::open(path), |descriptor| Ok(descriptor.into())).and_then(|file| {
        let metadata = file.metadata()?;
        let version = Some(FileVersion::of(&metadata));
        let rest = metadata.len().saturating_sub(offset);
        Ok(FileRange {
            file: Arc::new(file),
            offset,
            length: announced.map_or(rest, |length| length.min(rest)),
            version,
        })
    });
    let range = opened.map_err(|error| {
        tracing::error!("{} cannot be sent: {error}", path.display());
        unreadable
    })?;
    Ok(Body::file(range))
}

/// More than a packet can be: what the socket's buffer takes (net.core.wmem_default, 208 KiB) bounds it.
const MOST_PACKET: usize = 512 * 1024;
