//! Replies of workers to requests.

use super::{MessageKind, TICKET_LENGTH, ticket_of};
use crate::pool::Ticket;

/// A reply of a worker to a request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Reply<'a> {
    pub(crate) ticket: Ticket,
    pub(crate) kind: ReplyKind,
    /// The response is complete, and the worker not free yet.
    pub(crate) stays_busy: bool,
    /// The rest after the ticket.
    pub(crate) content: &'a [u8],
}

/// The kind of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReplyKind {
    /// A whole response.
    Whole,
    /// Its head, and the first piece.
    Head,
    /// Its head; the body is a file, whose descriptor comes along.
    File,
    /// A piece.
    Piece,
    /// The body has ended.
    End,
    /// The body has ended with trailers.
    Trailers,
    /// An informational response.
    InformationalSender,
    /// The application failed.
    Failed,
    /// A descriptor follows.
    Announced,
    /// The worker asks for the file that is the request's body.
    BodyFile,
    /// A socket, to which the application writes the rest of the response.
    Socket,
    /// The worker is free again.
    Free,
    /// There is room for more data from the client.
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

/// A worker sent an invalid reply, or an invalid response.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct InvalidReplyError(pub(crate) &'static str);

impl<'a> Reply<'a> {
    /// Reads a packet.
    pub(crate) fn parse(packet: &'a [u8]) -> Result<Self, InvalidReplyError> {
        let nonsense = InvalidReplyError("unknown packet");
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
            b'I' => (ReplyKind::InformationalSender, false),
            b'X' => (ReplyKind::Failed, false),
            b'x' => (ReplyKind::Failed, true),
            b'S' => (ReplyKind::Announced, false),
            b'G' => (ReplyKind::BodyFile, false),
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

/// Parses a window update.
pub(crate) fn parse_room(content: &[u8]) -> Result<usize, InvalidReplyError> {
    let number = std::str::from_utf8(content).ok().and_then(|digits| digits.parse().ok());
    number.ok_or(InvalidReplyError("the window update is not a number"))
}

/// Reads code and reason of a WebSocket's end (RFC 6455 §7.4.2).
pub(crate) fn parse_close(content: &[u8]) -> Result<(u16, String), InvalidReplyError> {
    let (code, reason) = content.split_at_checked(4).ok_or(InvalidReplyError("a close without a code"))?;
    let code = std::str::from_utf8(code).ok().and_then(|code| code.parse().ok());
    let code = code.filter(|code| matches!(code, 1000..=1003 | 1007..=1014 | 3000..=4999));
    let code = code.ok_or(InvalidReplyError("invalid WebSocket close code"))?;
    let mut reason = String::from_utf8_lossy(reason).into_owned();
    // RFC 6455 §5.5: a frame of 125 bytes, of which the code has two.
    let end = (0..=123.min(reason.len())).rev().find(|end| reason.is_char_boundary(*end));
    reason.truncate(end.unwrap_or(0));
    Ok((code, reason))
}

#[cfg(test)]
mod tests {
    use super::{
        super::{MAX_THREADS, write_ticket},
        *,
    };

    #[test]
    fn tickets_round_trip() {
        for (thread, ticket) in [(0, 0), (1, 0xdead_beef), (MAX_THREADS - 1, u32::MAX)] {
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
    fn invalid_replies_are_refused() {
        for wrong in [&b""[..], b"R", b"Rr!0000000", b"Zr!00000000", b"Rr!0000000g"] {
            assert!(Reply::parse(wrong).is_err(), "{}", wrong.escape_ascii());
        }
    }
}
