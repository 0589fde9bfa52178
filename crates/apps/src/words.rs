//! What front and worker say to each other. A message is one packet of a SEQPACKET socket.
//!
//! To a worker, on the socket of its requests:
//!
//! | begins with | then |
//! | --- | --- |
//! | `r`, ticket | a request without a body, as its language likes it best: [`crate::environment`] |
//! | `b`, ticket | eight digits: the length of that; that; the body |
//! | `f`, ticket | eight digits: the length of the request; that; the path of a file, which is the body and is the worker's to delete |
//! | `c`, ticket | nobody waits for the response any more |
//! | `g`, ticket | the worker is to collect garbage, and says `D` once more of the request that it answered last |
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
//! | `F` | the same, but the body is a file: here stands its absolute path, perhaps behind the number of the first byte to send |
//! | `B` | a piece of the body |
//! | `E` | the body has ended |
//! | `I` | an interim response, as `R` without a body |
//! | `L` | the body has ended, and here are its trailers: names and values, each behind a NUL; two NULs |
//! | `X` | the application failed: what it said of that, for the log |
//! | `S` | one of the packets that follow has a descriptor along: a file's for `F`, a socket's for `U` |
//! | `U` | the application writes the rest of the response to the other end of this socket. As `R` without a body; or
//! | | nothing, and the application writes all of it, as of HTTP/1.1. `D` follows |
//! | `D` | the worker is free again, after a kind in lower case |
//!
//! `r`, `e`, `x` and `f` are `R`, `E`, `X` and `F` from a worker that is not free yet: `D` follows. One that ends with this
//! request says `leaving` to its keeper instead of `D`.
//!
//! A ticket is ten bytes: the kind, the thread (`!` is the first) and eight hexadecimal digits. A worker copies it.

use serow_message::{Headers, Known, StatusCode};

use crate::pool::Ticket;

/// How many bytes a request begins with: kind, thread and number.
pub(crate) const TICKET_LENGTH: usize = 10;

/// The first thread in tickets; what follows are printable bytes, so that they can be read in traces, and never NUL.
const FIRST_THREAD: u8 = b'!';

/// How many threads tickets can name.
pub(crate) const MOST_THREADS: usize = 200;

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

/// Reads how much room there is.
pub(crate) fn parse_room(content: &[u8]) -> Result<usize, Nonsense> {
    let number = std::str::from_utf8(content).ok().and_then(|digits| digits.parse().ok());
    number.ok_or(Nonsense("room that is no number"))
}

/// Reads code and reason of a WebSocket's end (RFC 6455 §7.4.2).
pub(crate) fn parse_close(content: &[u8]) -> Result<(u16, String), Nonsense> {
    let (code, reason) = content.split_at_checked(4).ok_or(Nonsense("a close without a code"))?;
    let code = std::str::from_utf8(code).ok().and_then(|code| code.parse().ok());
    let code = code.filter(|code| matches!(code, 1000..=1003 | 1007..=1014 | 3000..=4999));
    let code = code.ok_or(Nonsense("a code that no WebSocket may be closed with"))?;
    let mut reason = String::from_utf8_lossy(reason).into_owned();
    // RFC 6455 §5.5: a frame of 125 bytes, of which the code has two.
    let end = (0..=123.min(reason.len())).rev().find(|end| reason.is_char_boundary(*end));
    reason.truncate(end.unwrap_or(0));
    Ok((code, reason))
}

/// What a worker says of a request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Reply<'a> {
    pub(crate) ticket: Ticket,
    pub(crate) kind: ReplyKind,
    /// The response is complete, and the worker not free yet.
    pub(crate) stays_busy: bool,
    /// What stands behind the ticket.
    pub(crate) content: &'a [u8],
}

/// What a worker says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReplyKind {
    /// A whole response.
    Whole,
    /// Its head, and the first piece.
    Head,
    /// Its head, and the path of the file that is the body.
    File,
    /// A piece.
    Piece,
    /// The body has ended.
    End,
    /// The body has ended with trailers.
    Trailers,
    /// An interim response.
    Interim,
    /// The application failed.
    Failed,
    /// A descriptor follows.
    Announced,
    /// A socket, to which the application writes the rest of the response.
    Socket,
    /// The worker is free again.
    Free,
    /// There is room for more of what the client sends.
    Room,
    /// A message, or a piece of one.
    Message { kind: MessageKind, is_last: bool },
    /// The WebSocket is to be closed.
    Close,
}

impl ReplyKind {
    /// Whether nothing of this response follows.
    pub(crate) fn is_last(self) -> bool {
        matches!(self, Self::Whole | Self::File | Self::End | Self::Trailers | Self::Failed | Self::Socket)
    }
}

/// A worker said what is no reply, or a response that is none.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Nonsense(pub(crate) &'static str);

impl<'a> Reply<'a> {
    /// Reads a packet.
    pub(crate) fn parse(packet: &'a [u8]) -> Result<Self, Nonsense> {
        let nonsense = Nonsense("a packet that is no reply");
        let (Some((kind, rest)), Some(content)) = (packet.split_first(), packet.get(1 + TICKET_LENGTH..)) else {
            return Err(nonsense);
        };
        let ticket = ticket_of(rest);
        let (kind, stays_busy) = match kind {
            b'R' => (ReplyKind::Whole, false),
            b'r' => (ReplyKind::Whole, true),
            b'H' => (ReplyKind::Head, false),
            b'F' => (ReplyKind::File, false),
            b'f' => (ReplyKind::File, true),
            b'B' => (ReplyKind::Piece, false),
            b'E' => (ReplyKind::End, false),
            b'e' => (ReplyKind::End, true),
            b'L' => (ReplyKind::Trailers, false),
            b'I' => (ReplyKind::Interim, false),
            b'X' => (ReplyKind::Failed, false),
            b'x' => (ReplyKind::Failed, true),
            b'S' => (ReplyKind::Announced, false),
            b'U' => (ReplyKind::Socket, true),
            b'D' => (ReplyKind::Free, false),
            b'W' => (ReplyKind::Room, false),
            b't' => (ReplyKind::Message { kind: MessageKind::Text, is_last: true }, false),
            b'T' => (ReplyKind::Message { kind: MessageKind::Text, is_last: false }, false),
            b'y' => (ReplyKind::Message { kind: MessageKind::Binary, is_last: true }, false),
            b'Y' => (ReplyKind::Message { kind: MessageKind::Binary, is_last: false }, false),
            b'C' => (ReplyKind::Close, false),
            _ => return Err(nonsense),
        };
        Ok(Self { ticket: ticket.ok_or(nonsense)?, kind, stays_busy, content })
    }
}

/// Reads status and fields: `\0200\0name\0value…\0\0`, and says what stands behind.
pub(crate) fn parse_head(content: &[u8]) -> Result<(StatusCode, Headers, &[u8]), Nonsense> {
    let mut parts = Parts { rest: content.strip_prefix(b"\0").ok_or(Nonsense("a response without a status"))? };
    let status = parts.next().and_then(|status| StatusCode::from_bytes(status).ok());
    let status = status.ok_or(Nonsense("a status that is no number from 100 to 999"))?;
    let (headers, body) = parse_fields(parts)?;
    Ok((status, headers, body))
}

/// Reads trailers: `\0name\0value…\0\0`.
pub(crate) fn parse_trailers(content: &[u8]) -> Result<Headers, Nonsense> {
    let parts = Parts { rest: content.strip_prefix(b"\0").ok_or(Nonsense("trailers that are none"))? };
    parse_fields(parts).map(|(headers, _)| headers)
}

fn parse_fields(mut parts: Parts<'_>) -> Result<(Headers, &[u8]), Nonsense> {
    let mut headers = Headers::new();
    loop {
        match parts.next() {
            Some(b"") => return Ok((headers, parts.rest)),
            Some(name) => {
                let value = parts.next().ok_or(Nonsense("a header field without a value"))?;
                append(&mut headers, name, value)?;
            }
            None => return Err(Nonsense("a response whose header does not end")),
        }
    }
}

/// How long an application says that a body is.
pub(crate) fn announced(headers: &Headers) -> Option<u64> {
    headers.get_str(Known::ContentLength)?.parse().ok()
}

/// Adds a field; one whose value has several lines is several fields (Rack 2's way of saying so).
fn append(headers: &mut Headers, name: &[u8], value: &[u8]) -> Result<(), Nonsense> {
    let refused = |_| Nonsense("a header field whose name or value has characters that none may have");
    if !value.contains(&b'\n') {
        return headers.append(name, value.trim_ascii()).map_err(refused);
    }
    let lines = value.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines.into_iter().try_for_each(|line| headers.append(name, line.trim_ascii()).map_err(refused))
}

/// What stands between NULs.
struct Parts<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Parts<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let end = self.rest.iter().position(|byte| *byte == 0)?;
        let (part, rest) = self.rest.split_at(end);
        self.rest = rest.get(1..).unwrap_or_default();
        Some(part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tickets_come_back() {
        for (thread, ticket) in [(0, 0), (1, 0xdead_beef), (MOST_THREADS - 1, u32::MAX)] {
            let mut packet = vec![b'R'];
            write_ticket(b'r', thread, ticket, &mut packet);
            assert_eq!(packet.len(), 1 + TICKET_LENGTH);
            packet.extend_from_slice(b"\x00200\0\0body");
            let reply = Reply::parse(&packet).unwrap();
            let expected = Reply { ticket, kind: ReplyKind::Whole, stays_busy: false, content: b"\x00200\0\0body" };
            assert_eq!(reply, expected);
        }
    }

    #[test]
    fn heads() {
        let (status, headers, body) =
            parse_head(b"\x00404\0Content-Type\0text/plain\0Set-Cookie\0a=1\nb=2\0\0a\0b").unwrap();
        assert_eq!((status.as_u16(), body), (404, &b"a\0b"[..]));
        let fields: Vec<_> = headers.iter().collect();
        let expected = [(&b"Content-Type"[..], &b"text/plain"[..]), (b"Set-Cookie", b"a=1"), (b"Set-Cookie", b"b=2")];
        assert_eq!(fields, expected);
        for wrong in [
            &b""[..],
            b"200\0\0",
            b"\x0020\0\0",
            b"\0abc\0\0",
            b"\x00200",
            b"\x00200\0",
            b"\x00200\0a",
            b"\x00200\0a\0",
            b"\x00200\0a\0b",
            b"\x00200\0a b\0c\0\0",
            b"\x00200\0a\0b\rc: d\0\0",
        ] {
            assert!(parse_head(wrong).is_err(), "{}", wrong.escape_ascii());
        }
    }

    #[test]
    fn what_is_no_reply_is_refused() {
        for wrong in [&b""[..], b"R", b"Rr!0000000", b"Zr!00000000", b"Rr!0000000g"] {
            assert!(Reply::parse(wrong).is_err(), "{}", wrong.escape_ascii());
        }
    }
}
