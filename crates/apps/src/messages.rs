//! What front and worker say to each other. A message is one packet of a SEQPACKET socket.
//!
//! To a worker, on the socket of its requests:
//!
//! | begins with | then |
//! | --- | --- |
//! | `r`, ticket | a request without a body, as its language likes it best: [`crate::environment`] |
//! | `b`, ticket | eight digits: the length of that; that; the body |
//! | `f`, ticket | eight digits: the length of the request; that. The body is a file, for which the worker asks (`G`) |
//! | `c`, ticket | nobody waits for the response any more |
//! | `g`, ticket | the worker is to collect garbage, and says `D` once more of the request that it answered last |
//! | `m`, ticket | the worker is to fork the process that others are forked from; the ticket is none |
//!
//! A worker that answers many at once hears of each as well:
//!
//! | begins with | then |
//! | --- | --- |
//! | `w`, ticket | a number: the client has taken so many bytes of the body, so there is room for as many more |
//! | `k`, ticket | it took too long; the worker gives it up and says `D` |
//! | `s`, ticket | a request whose body follows, when there is room for it |
//! | `p`, ticket | a piece of that |
//! | `e`, ticket | the end of that |
//! | `u`, ticket | a request for a WebSocket; the worker agrees with a head whose status is 101 |
//! | `t`, `y`, ticket | a text or bytes that the client said |
//! | `T`, `Y`, ticket | a piece of such; more follows |
//! | `c`, ticket, four digits | a WebSocket is closed: the code, and behind it the reason |
//!
//! and it says, besides what follows for all:
//!
//! | begins with | then |
//! | --- | --- |
//! | `W` | a number: the application has received so many bytes, so there is room for as many more; there is none at first for bodies |
//! | `t`, `y`, `T`, `Y` | messages to the client |
//! | `C` | the WebSocket is to be closed: four digits, the code, and the reason |
//!
//! 256 KiB may be under way in each direction, so that neither a slow client nor a slow application fills the memory or holds up
//! others. Messages weigh 64 bytes more than they have.
//!
//! From a worker, on the socket of the thread that the ticket names:
//!
//! | begins with | then |
//! | --- | --- |
//! | `R`, what the request began with | a whole response: status, names and values, each behind a NUL; two NULs; the body |
//! | `H` | the same, and more of the body follows |
//! | `F` | the same, but the body is a file, whose descriptor comes along; here may stand the number of the first byte to send |
//! | `B` | a piece of the body |
//! | `E` | the body has ended |
//! | `I` | an interim response, as `R` without a body |
//! | `L` | the body has ended, and here are its trailers: names and values, each behind a NUL; two NULs |
//! | `X` | the application failed: what it said of that, for the log |
//! | `G` | the worker asks for the file that is the body of its request, and waits for it on this same socket: there comes the
//! | | ticket with the file's descriptor, or without one where nobody waits for the response any more |
//! | `S` | one of the packets that follow has a descriptor along: a file's for `F`, a socket's for `U` |
//! | `U` | the application writes the rest of the response to the other end of this socket. As `R` without a body; or
//! | | nothing, and the application writes all of it, as of HTTP/1.1. `D` follows |
//! | `D` | the worker is free again, after a kind in lower case |
//!
//! `r`, `e`, `x` and `f` are `R`, `E`, `X` and `F` from a worker that is not free yet: `D` follows. One that ends with this
//! request says `leaving` to its keeper instead of `D`.
//!
//! A file as a request's body is asked for, rather than sent along with the request: most requests are received in the cheapest way,
//! which closes descriptors that come along; a request that is taken back takes its file with it; and there is nothing to clean up
//! where no worker ever takes it. All workers can receive descriptors; they could not open `/proc/PID/fd` of a process that has
//! keys of TLS in its memory and is closed to others of its user (PR_SET_DUMPABLE).
//!
//! A ticket is ten bytes: the kind, the thread (`!` is the first) and eight hexadecimal digits. A worker copies it.

mod head;
mod reply;

pub(crate) use self::{
    head::{announced, parse_head, parse_trailers},
    reply::{InvalidReplyError, Reply, ReplyKind, parse_close, parse_room},
};
use crate::pool::Ticket;

/// How many bytes a request begins with: kind, thread and number.
pub(crate) const TICKET_LENGTH: usize = 10;

/// The first thread in tickets; what follows are printable bytes, so that they can be read in traces, and never NUL.
const FIRST_THREAD: u8 = b'!';

/// How many threads tickets can name.
pub(crate) const MAX_THREADS: usize = 200;

/// Writes what a request begins with.
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
/// A request with its body behind it.
pub(crate) const WITH_BODY: u8 = b'b';
/// A request whose body is a file.
pub(crate) const WITH_FILE: u8 = b'f';
/// Nobody waits for the response any more.
pub(crate) const CANCEL: u8 = b'c';
/// Time to collect garbage.
pub(crate) const COLLECT: u8 = b'g';
/// Others are to be forked from what this worker has become.
pub(crate) const REFORK: u8 = b'm';
/// There is room for more of the body.
pub(crate) const ROOM: u8 = b'w';
/// The request is to be given up.
pub(crate) const GIVE_UP: u8 = b'k';
/// A request whose body follows.
pub(crate) const WITH_STREAM: u8 = b's';
/// A piece of a body.
pub(crate) const BODY_PIECE: u8 = b'p';
/// The end of a body.
pub(crate) const BODY_END: u8 = b'e';
/// A request for a WebSocket.
pub(crate) const WEBSOCKET: u8 = b'u';

/// Bytes that may be under way to a client or an application: some round trips of a quick one.
pub(crate) const WINDOW: usize = 256 * 1024;

/// Bytes of a body or a message in one packet: two of them fit into a socket.
pub(crate) const PIECE: usize = 64 * 1024;

/// Bytes of a request's packet at most: sockets that hold 208 KiB (net.core.wmem_default) refuse longer ones. Heads are below 32 KiB
/// by default, and a body in a packet is 64 KiB at most.
pub(crate) const MAX_REQUEST: usize = 200 * 1024;

/// What a WebSocket carries.
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

/// How much room a message takes: empty ones are not free, or any number of them could be under way.
pub(crate) fn weight(message: &[u8]) -> usize {
    message.len() + 64
}
