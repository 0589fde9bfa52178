//! Reading and writing messages of HTTP/1.1, for clients and servers of the simulation: written apart from the server's own
//! code, which it tests.

use std::{future::poll_fn, io, rc::Rc, time::Duration};

use bytes::{Bytes, BytesMut};
use serow_net::{More, Socket};

/// A connection, and what was received and not read.
pub(crate) struct Wire {
    pub(crate) socket: Rc<Socket>,
    input: BytesMut,
}

/// The framing of a body (RFC 9112 §6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    Length(usize),
    Chunked,
    UntilClose,
}

/// A head: its first line, and the fields with names in lower case.
#[derive(Clone, Debug, Default)]
pub(crate) struct Head {
    pub(crate) line: String,
    pub(crate) fields: Vec<(String, String)>,
}

/// Why nothing more comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lost {
    /// In order: the peer has closed.
    Closed,
    Reset,
    /// The input is not HTTP/1.1.
    Malformed,
}

impl Wire {
    pub(crate) fn new(socket: Rc<Socket>) -> Self {
        Self { socket, input: BytesMut::new() }
    }

    /// Waits for more input; whether there is some.
    pub(crate) async fn receive(&mut self) -> Result<(), Lost> {
        let input = &mut self.input;
        let received =
            poll_fn(|context| self.socket.poll_receive(context, input, |input| input.reserve(16 * 1024))).await;
        match received {
            Ok(0) => Err(Lost::Closed),
            Ok(_) => Ok(()),
            Err(_) => Err(Lost::Reset),
        }
    }

    /// Whether there is input that was not read.
    pub(crate) fn has_input(&self) -> bool {
        !self.input.is_empty()
    }

    /// The next head; `None` if the connection ends in front of it.
    pub(crate) async fn head(&mut self) -> Result<Option<Head>, Lost> {
        loop {
            if let Some(end) = self.input.windows(4).position(|window| window == b"\r\n\r\n") {
                let text = self.input.split_to(end + 4);
                return Head::read(&text).map(Some).ok_or(Lost::Malformed);
            }
            match self.receive().await {
                Ok(()) => {}
                Err(Lost::Closed) if self.input.is_empty() => return Ok(None),
                Err(lost) => return Err(lost),
            }
        }
    }

    /// Reads a body to its end, piece by piece.
    pub(crate) async fn body(&mut self, framing: Framing, take: &mut dyn FnMut(&[u8])) -> Result<(), Lost> {
        match framing {
            Framing::Length(length) => self.bytes(length, take).await,
            Framing::Chunked => loop {
                let line = self.line().await?;
                let digits = line.split(';').next().unwrap_or_default();
                let length = usize::from_str_radix(digits, 16).map_err(|_| Lost::Malformed)?;
                if length == 0 {
                    // Trailers.
                    while !self.line().await?.is_empty() {}
                    return Ok(());
                }
                self.bytes(length, take).await?;
                if !self.line().await?.is_empty() {
                    return Err(Lost::Malformed);
                }
            },
            Framing::UntilClose => loop {
                take(&self.input.split());
                match self.receive().await {
                    Ok(()) => {}
                    Err(Lost::Closed) => return Ok(()),
                    Err(lost) => return Err(lost),
                }
            },
        }
    }

    async fn bytes(&mut self, mut length: usize, take: &mut dyn FnMut(&[u8])) -> Result<(), Lost> {
        while length > 0 {
            if self.input.is_empty() {
                self.receive().await?;
            }
            let piece = self.input.split_to(length.min(self.input.len()));
            length -= piece.len();
            take(&piece);
        }
        Ok(())
    }

    async fn line(&mut self) -> Result<String, Lost> {
        loop {
            if let Some(end) = self.input.windows(2).position(|window| window == b"\r\n") {
                let line = self.input.split_to(end + 2);
                return String::from_utf8(line[..end].to_vec()).map_err(|_| Lost::Malformed);
            }
            self.receive().await?;
        }
    }

    /// Waits until the peer ends the connection, or for so long.
    pub(crate) async fn linger(&mut self, time: Duration) {
        let _ = tokio::time::timeout(time, async {
            while self.receive().await.is_ok() {
                self.input.clear();
            }
        })
        .await;
    }
}

impl Head {
    fn read(text: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(text).ok()?;
        let mut lines = text.split("\r\n");
        let line = lines.next()?.to_owned();
        let fields = lines.take_while(|line| !line.is_empty()).map(|line| {
            let (name, value) = line.split_once(':')?;
            Some((name.to_ascii_lowercase(), value.trim().to_owned()))
        });
        Some(Self { line, fields: fields.collect::<Option<_>>()? })
    }

    /// The first value of a field.
    pub(crate) fn value(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(other, _)| other == name).map(|(_, value)| &**value)
    }

    /// The framing that the fields tell of.
    pub(crate) fn framing(&self) -> Option<Framing> {
        match (self.value("transfer-encoding"), self.value("content-length")) {
            (Some(_), _) => Some(Framing::Chunked),
            (None, Some(length)) => Some(Framing::Length(length.parse().ok()?)),
            (None, None) => None,
        }
    }
}

/// Sends all of these bytes.
pub(crate) async fn send(socket: &Socket, bytes: &[u8]) -> io::Result<()> {
    let mut rest = Bytes::copy_from_slice(bytes);
    while !rest.is_empty() {
        let sent = poll_fn(|context| socket.poll_send(context, &rest, More::Nothing)).await?;
        drop(rest.split_to(sent));
    }
    Ok(())
}

/// A piece of a chunked body; the last one if it is empty.
pub(crate) fn chunk(piece: &[u8]) -> Vec<u8> {
    [format!("{:x}\r\n", piece.len()).as_bytes(), piece, b"\r\n"].concat()
}
