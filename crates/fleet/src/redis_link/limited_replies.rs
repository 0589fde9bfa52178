//! A connection on which an answer that is too large becomes an error, and those behind it arrive nevertheless.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A connection whose answers have [`MAX_REPLY`] bytes at most: a larger one is received and dropped, and an error is in
/// its place. So one value cannot fill the memory, nor fail the commands beside it.
pub(super) struct LimitedReplies<S> {
    stream: S,
    limit: ReplyLimit,
    /// Bytes that may be read, and how many of them have been.
    passed: Vec<u8>,
    read: usize,
}

/// Finds where answers end (RESP, version 2, which a connection has without HELLO).
#[derive(Debug, Default)]
struct ReplyLimit {
    /// The answer so far; nothing of one that is too large.
    reply: Vec<u8>,
    size: u64,
    /// Values that belong to the answer and are not complete: none between two answers.
    missing: u64,
    /// The begin of a line, and what is left of a text.
    line: Vec<u8>,
    text: u64,
}

impl ReplyLimit {
    /// Appends all answers that are complete with this input.
    fn pass(&mut self, mut input: &[u8], passed: &mut Vec<u8>) -> io::Result<()> {
        while !input.is_empty() {
            let length = match self.text {
                0 => input.iter().position(|byte| *byte == b'\n').map_or(input.len(), |end| end + 1),
                left => usize::try_from(left).unwrap_or(usize::MAX).min(input.len()),
            };
            let (part, rest) = input.split_at(length);
            input = rest;
            self.missing = self.missing.max(1);
            self.size += part.len() as u64;
            if self.size <= MAX_REPLY {
                self.reply.extend_from_slice(part);
            } else {
                self.reply = Vec::new();
            }
            let is_complete = if self.text > 0 {
                self.text -= part.len() as u64;
                self.text == 0
            } else {
                self.read_line(part)?
            };
            if is_complete {
                self.end_value(passed);
            }
        }
        Ok(())
    }

    /// Reads more of a line; returns whether a value has ended with it. A list is one, and has others behind it.
    fn read_line(&mut self, part: &[u8]) -> io::Result<bool> {
        if self.line.len() + part.len() > MAX_LINE {
            return Err(io::Error::other("it sends a line that is far too long: is it Redis?"));
        }
        self.line.extend_from_slice(part);
        let Some(line) = self.line.strip_suffix(b"\n") else { return Ok(false) };
        let number = || str::from_utf8(&line[1..]).ok()?.trim_ascii_end().parse::<i64>().ok();
        let is_complete = match line.first() {
            Some(b'$') => {
                // With the end of the line behind it; a negative length is that of nothing.
                self.text =
                    number().and_then(|length| u64::try_from(length).ok()).map_or(0, |length| length.saturating_add(2));
                self.text == 0
            }
            Some(b'*') => {
                let values = number().and_then(|count| u64::try_from(count).ok()).unwrap_or_default();
                self.missing = self.missing.saturating_add(values);
                true
            }
            _ => true,
        };
        self.line.clear();
        Ok(is_complete)
    }

    fn end_value(&mut self, passed: &mut Vec<u8>) {
        self.missing -= 1;
        if self.missing > 0 {
            return;
        }
        if self.size > MAX_REPLY {
            passed.extend_from_slice(format!("-ERR the answer has more than {MAX_REPLY} bytes\r\n").as_bytes());
        } else {
            passed.append(&mut self.reply);
        }
        *self = Self::default();
    }
}

impl<S> LimitedReplies<S> {
    pub(super) fn new(stream: S) -> Self {
        Self { stream, limit: ReplyLimit::default(), passed: Vec::new(), read: 0 }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for LimitedReplies<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        while this.read == this.passed.len() {
            (this.read, this.passed) = (0, Vec::new());
            let mut received = [0; PIECE];
            let mut received = ReadBuf::new(&mut received);
            ready!(Pin::new(&mut this.stream).poll_read(context, &mut received))?;
            if received.filled().is_empty() {
                return Poll::Ready(Ok(()));
            }
            this.limit.pass(received.filled(), &mut this.passed)?;
        }
        let length = buffer.remaining().min(this.passed.len() - this.read);
        buffer.put_slice(&this.passed[this.read..this.read + length]);
        this.read += length;
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for LimitedReplies<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

/// Bytes of an answer: more than a script can use, and little memory for all commands in flight together.
const MAX_REPLY: u64 = 8 * 1024 * 1024;

/// Bytes of a line: errors of scripts are the longest.
const MAX_LINE: usize = 64 * 1024;

const PIECE: usize = 16 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the bytes that pass, and checks that they are the same when the input comes byte by byte.
    fn passed(input: &[u8]) -> Vec<u8> {
        let (mut whole, mut limit) = (Vec::new(), ReplyLimit::default());
        limit.pass(input, &mut whole).unwrap();
        if input.len() < 1000 {
            let (mut pieces, mut limit) = (Vec::new(), ReplyLimit::default());
            input.chunks(1).for_each(|byte| limit.pass(byte, &mut pieces).unwrap());
            assert_eq!(whole, pieces);
        }
        whole
    }

    #[test]
    fn complete_answers_pass_unchanged_and_incomplete_ones_wait() {
        for reply in [
            "+OK\r\n",
            "-ERR no\r\n",
            ":7\r\n",
            "$-1\r\n",
            "$0\r\n\r\n",
            "$5\r\na\r\n*1\r\n",
            "*0\r\n",
            "*-1\r\n",
            "*2\r\n$1\r\na\r\n:1\r\n",
            "*2\r\n*2\r\n:1\r\n*0\r\n$1\r\n*\r\n",
        ] {
            let twice = [reply, reply].concat();
            assert_eq!(passed(twice.as_bytes()), twice.as_bytes(), "{reply:?}");
            let cut = &twice.as_bytes()[..twice.len() - 1];
            assert_eq!(passed(cut), reply.as_bytes(), "{reply:?}");
        }
    }

    #[test]
    fn an_answer_that_is_too_large_becomes_an_error_and_the_next_passes() {
        let text = |length: usize| [format!("${length}\r\n").as_bytes(), &vec![b'x'; length], b"\r\n"].concat();
        let large = text(MAX_REPLY as usize);
        let list = [&b"*3\r\n"[..], &text(MAX_REPLY as usize / 2), &text(MAX_REPLY as usize / 2), b":1\r\n"].concat();
        for reply in [large, list] {
            let found = passed(&[&b":1\r\n"[..], &reply, b":2\r\n"].concat());
            assert_eq!(
                String::from_utf8(found).unwrap(),
                ":1\r\n-ERR the answer has more than 8388608 bytes\r\n:2\r\n"
            );
        }
        let almost = text(MAX_REPLY as usize - 20);
        assert_eq!(passed(&almost), almost);
        let endless = vec![b'x'; MAX_LINE + 1];
        assert!(ReplyLimit::default().pass(&endless, &mut Vec::new()).is_err());
    }
}
