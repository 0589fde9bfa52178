//! The protocol between server and workers. A message is one packet of a SEQPACKET socket.
//!
//! To a worker, on the socket of its requests:
//!
//! | begins with | then |
//! | --- | --- |
//! | `r`, ticket | a request without a body, encoded for its language: [`crate::environment`] |
//! | `b`, ticket | eight digits: the length of the request; the request; the body |
//! | `f`, ticket | eight digits: the length of the request; the request. The body is a file, for which the worker asks (`G`) |
//! | `c`, ticket | nobody waits for the response any more |
//! | `g`, ticket | collect garbage, then send `D` once more for the last request |
//! | `m`, ticket | fork the next template process; the ticket is unused |
//!
//! A worker that answers many requests at once also gets:
//!
//! | begins with | then |
//! | --- | --- |
//! | `w`, ticket | a number: the client has read so many bytes of the body, which opens the window by as many |
//! | `k`, ticket | the request timed out; cancel it and send `D` |
//! | `s`, ticket | a request whose body follows as the window allows |
//! | `p`, ticket | a piece of the body |
//! | `e`, ticket | the end of the body |
//! | `u`, ticket | a request for a WebSocket; the worker accepts it with a head of status 101 |
//! | `t`, `y`, ticket | a text or binary message of the client |
//! | `T`, `Y`, ticket | a piece of such a message; more follows |
//! | `c`, ticket, four digits | a WebSocket is closed: the code, then the reason |
//!
//! and sends, besides the messages of all workers:
//!
//! | begins with | then |
//! | --- | --- |
//! | `W` | a number: the application has read so many bytes, which opens the window by as many; for bodies it is closed at first |
//! | `t`, `y`, `T`, `Y` | messages to the client |
//! | `C` | close the WebSocket: four digits, the code, then the reason |
//!
//! 256 KiB may be in flight in each direction, so that neither a slow client nor a slow application fills the memory or
//! blocks others. Each message counts for 64 bytes more than its content.
//!
//! From a worker, on the socket of the thread in the ticket:
//!
//! | begins with | then |
//! | --- | --- |
//! | `R`, ticket | a complete response: status, names and values, each preceded by NUL; two NULs; the body |
//! | `H` | the same, but more of the body follows |
//! | `F` | the same, but the body is a file, whose descriptor comes along, perhaps with the offset of the first byte to send |
//! | `B` | a piece of the body |
//! | `E` | the body has ended |
//! | `I` | an informational response, as `R` without a body |
//! | `L` | the body has ended with trailers: names and values, each preceded by NUL; two NULs |
//! | `X` | the application raised an exception: its text, for the log |
//! | `G` | the worker asks for the file that is the body of its request, and waits for it on this same socket: there comes the
//! | | ticket with the file's descriptor, or without one where nobody waits for the response any more |
//! | `S` | one of the next packets carries descriptors: a file for `F`, a socket for `U`, perhaps with a channel |
//! | `U` | the application writes the rest of the response to the other end of this socket. As `R` without a body; or
//! | | nothing, and the application writes all of it, as of HTTP/1.1. `D` follows. A packet on the channel says that the
//! | | response is complete; if the other end is closed without one, the application has failed |
//! | `D` | the worker is free again, after a kind in lower case |
//!
//! `r`, `e`, `x` and `f` are `R`, `E`, `X` and `F` from a worker that is not free yet: `D` follows. A worker that exits
//! after this request sends `draining` to the worker manager instead of `D`.
//!
//! The worker asks for a file with a request body; it does not come with the request: most requests are received by the
//! cheapest call, which closes descriptors that come along; a request that is taken back takes its file with it; and
//! nothing needs cleaning up if no worker ever reads it. All workers can receive descriptors; they could not open
//! `/proc/PID/fd` of a process that keeps TLS keys in its memory and is closed to others of its user (PR_SET_DUMPABLE).
//!
//! A ticket is ten bytes: the kind, the thread (`!` is the first) and eight hexadecimal digits. A worker copies it.

mod head;
mod reply;

pub(crate) use self::{
    head::{announced, parse_head, parse_informational, parse_trailers},
    reply::{InvalidReplyError, Reply, ReplyKind, parse_close, parse_room},
};
use crate::pool::Ticket;

/// The length of a ticket: kind, thread and number.
pub(crate) const TICKET_LENGTH: usize = 10;

/// The first thread in tickets; printable bytes follow, which are readable in traces and never NUL.
const FIRST_THREAD: u8 = b'!';

/// How many threads tickets can name.
pub(crate) const MAX_THREADS: usize = 200;

/// Writes the start of a request.
pub(crate) fn write_ticket(kind: u8, thread: usize, ticket: Ticket, output: &mut Vec<u8>) {
    let thread = u8::try_from(thread).unwrap_or(u8::MAX);
    output.extend_from_slice(&[kind, FIRST_THREAD.saturating_add(thread)]);
    let digit = |place: u32| b"0123456789abcdef"[(ticket >> (28 - 4 * place)) as usize & 15];
    output.extend((0..8).map(digit));
}

/// The ticket of a request to a worker.
pub(crate) fn ticket_of(packet: &[u8]) -> Option<Ticket> {
    let digits = std::str::from_utf8(packet.get(2..TICKET_LENGTH)?).ok()?;
    Ticket::from_str_radix(digits, 16).ok().filter(|_| REQUESTS.contains(&packet[0]))
}

/// The kinds of requests.
const REQUESTS: [u8; 5] = [PLAIN, WITH_BODY, WITH_FILE, WITH_STREAM, WEBSOCKET];
/// A request without a body.
pub(crate) const PLAIN: u8 = b'r';
/// A request followed by its body.
pub(crate) const WITH_BODY: u8 = b'b';
/// A request whose body is a file.
pub(crate) const WITH_FILE: u8 = b'f';
/// Cancel the request, whose response is no longer needed.
pub(crate) const CANCEL: u8 = b'c';
/// Time to collect garbage.
pub(crate) const COLLECT: u8 = b'g';
/// Fork the next template process from this worker.
pub(crate) const REFORK: u8 = b'm';
/// The window of the body opens.
pub(crate) const ROOM: u8 = b'w';
/// Cancel the request, which timed out.
pub(crate) const GIVE_UP: u8 = b'k';
/// A request whose body follows.
pub(crate) const WITH_STREAM: u8 = b's';
/// A piece of a body.
pub(crate) const BODY_PIECE: u8 = b'p';
/// The end of a body.
pub(crate) const BODY_END: u8 = b'e';
/// A request for a WebSocket.
pub(crate) const WEBSOCKET: u8 = b'u';

/// Bytes that may be in flight to a client or an application: some round trips of a fast one.
pub(crate) const WINDOW: usize = 256 * 1024;

/// Bytes of a body or a message in one packet: two of them fit into a socket.
pub(crate) const PIECE: usize = 64 * 1024;

/// Bytes of a request's packet at most: sockets that hold 208 KiB (net.core.wmem_default) refuse longer ones. Heads are
/// below 32 KiB by default, and a body in a packet is 64 KiB at most.
pub(crate) const MAX_REQUEST: usize = 200 * 1024;

/// The type of a WebSocket message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MessageKind {
    Text,
    Binary,
}

/// The kind of a packet with a message, or with a piece of one.
pub(crate) fn message(kind: MessageKind, is_last: bool) -> u8 {
    match (kind, is_last) {
        (MessageKind::Text, true) => b't',
        (MessageKind::Text, false) => b'T',
        (MessageKind::Binary, true) => b'y',
        (MessageKind::Binary, false) => b'Y',
    }
}

/// The share of the window that a message takes: empty ones count too, or any number of them could be in flight.
pub(crate) fn weight(message: &[u8]) -> usize {
    message.len() + 64
}
