//! A client that writes raw bytes and reads answers strictly.

use std::{
    io::{self, Read, Write},
    net::SocketAddr,
    path::Path,
    time::Duration,
};

use super::{
    Instant, TIMEOUT,
    answer::Answer,
    under::{Stream, Writing},
};

/// One connection. Every wait ends with a panic after [`TIMEOUT`].
pub(crate) struct Client {
    stream: Stream,
    /// Received and not yet read.
    pub(crate) received: Vec<u8>,
}

impl Client {
    pub(crate) fn tcp(address: SocketAddr) -> Self {
        Self { stream: Stream::connect(address).unwrap(), received: Vec::new() }
    }

    pub(crate) fn unix(path: &Path) -> Self {
        Self { stream: Stream::connect_unix(path).unwrap(), received: Vec::new() }
    }

    #[track_caller]
    pub(crate) fn send(&mut self, bytes: impl AsRef<[u8]>) -> &mut Self {
        self.try_send(bytes).unwrap();
        self
    }

    pub(crate) fn try_send(&mut self, bytes: impl AsRef<[u8]>) -> io::Result<()> {
        self.stream.write_all(bytes.as_ref())
    }

    /// A second handle to the same connection.
    pub(crate) fn twin(&self) -> Self {
        Self { stream: self.stream.twin(), received: Vec::new() }
    }

    /// Writes piece after piece with pauses, beside the test, until the connection is gone.
    pub(crate) fn write_beside(&self, pieces: Vec<Vec<u8>>, pause: Duration) -> Writing {
        Writing::start(self.stream.twin(), pieces, pause)
    }

    pub(crate) fn finish_sending(&mut self) {
        self.stream.finish_sending();
    }

    pub(crate) fn local_address(&self) -> SocketAddr {
        self.stream.local_address()
    }

    /// `GET target`, and its answer.
    #[track_caller]
    pub(crate) fn get(&mut self, target: &str) -> Answer {
        self.send(format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n"));
        self.answer()
    }

    /// The next answer, to anything but HEAD. InformationalSender ones are answers of their own.
    #[track_caller]
    pub(crate) fn answer(&mut self) -> Answer {
        self.try_answer(false).unwrap()
    }

    /// The next answer, to HEAD.
    #[track_caller]
    pub(crate) fn answer_to_head(&mut self) -> Answer {
        self.try_answer(true).unwrap()
    }

    /// The next answer; an error where the client can tell that it is not whole.
    pub(crate) fn try_answer(&mut self, head_only: bool) -> io::Result<Answer> {
        let mut answer = self.begin_answer()?;
        self.finish_answer(&mut answer, head_only)?;
        Ok(answer)
    }

    /// The head of the next answer.
    pub(crate) fn begin_answer(&mut self) -> io::Result<Answer> {
        let head = self.take_head()?;
        let status = head[9..12].parse().map_err(io::Error::other)?;
        Ok(Answer { status, head, body: Vec::new(), trailers: String::new() })
    }

    /// Takes the rest of this answer behind its head; some of its chunks may have been taken before.
    pub(crate) fn finish_answer(&mut self, answer: &mut Answer, head_only: bool) -> io::Result<()> {
        if head_only || matches!(answer.status, 100..200 | 204 | 304) {
            return Ok(());
        }
        if let Some(length) = answer.field("content-length") {
            let length = length.parse().map_err(io::Error::other)?;
            answer.body = self.take(length)?;
        } else if answer.field("transfer-encoding").is_some() {
            while let Some(chunk) = self.take_chunk()? {
                answer.body.extend(chunk);
            }
            self.take_trailers(answer)?;
        } else {
            answer.body = self.rest()?;
        }
        Ok(())
    }

    /// Whether a head has come and not been taken.
    pub(crate) fn holds_head(&self) -> bool {
        self.received.windows(4).any(|four| four == b"\r\n\r\n")
    }

    pub(crate) fn take_head(&mut self) -> io::Result<String> {
        loop {
            if let Some(end) = self.received.windows(4).position(|four| four == b"\r\n\r\n") {
                let head = self.received.drain(..end + 4).collect::<Vec<u8>>();
                return String::from_utf8(head[..end].to_vec()).map_err(io::Error::other);
            }
            self.receive_some()?;
        }
    }

    /// The next chunk; behind the last one there are trailers.
    pub(crate) fn take_chunk(&mut self) -> io::Result<Option<Vec<u8>>> {
        let size = self.take_line()?;
        let size = usize::from_str_radix(&size, 16).map_err(io::Error::other)?;
        if size == 0 {
            return Ok(None);
        }
        let chunk = self.take(size)?;
        assert_eq!(self.take_line()?, "");
        Ok(Some(chunk))
    }

    fn take_trailers(&mut self, answer: &mut Answer) -> io::Result<()> {
        loop {
            match self.take_line()? {
                line if line.is_empty() => return Ok(()),
                line => answer.trailers += &(line + "\n"),
            }
        }
    }

    fn take_line(&mut self) -> io::Result<String> {
        loop {
            if let Some(end) = self.received.windows(2).position(|two| two == b"\r\n") {
                let line = self.received.drain(..end + 2).collect::<Vec<u8>>();
                return String::from_utf8(line[..end].to_vec()).map_err(io::Error::other);
            }
            self.receive_some()?;
        }
    }

    /// So many bytes.
    pub(crate) fn take(&mut self, count: usize) -> io::Result<Vec<u8>> {
        while self.received.len() < count {
            self.receive_some()?;
        }
        Ok(self.received.drain(..count).collect())
    }

    /// Everything until the connection ends in order; an error if it is reset.
    pub(crate) fn rest(&mut self) -> io::Result<Vec<u8>> {
        loop {
            match self.receive_some() {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                    return Ok(std::mem::take(&mut self.received));
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Asserts that the connection ends here, in order and without another byte.
    #[track_caller]
    pub(crate) fn ends(&mut self) {
        assert_eq!(self.rest().unwrap().escape_ascii().to_string(), "");
    }

    /// Asserts that the connection is cut: with a reset, whatever came before.
    #[track_caller]
    pub(crate) fn is_reset(&mut self) {
        let kind = self.rest().map(|bytes| bytes.len()).unwrap_err().kind();
        assert_eq!(kind, io::ErrorKind::ConnectionReset);
    }

    /// Asserts that nothing arrives for a moment.
    #[track_caller]
    pub(crate) fn receives_nothing_for(&mut self, time: Duration) {
        assert!(self.received.is_empty(), "{}", self.received.escape_ascii());
        self.stream.set_read_timeout(time);
        let received = self.receive_some();
        self.stream.set_read_timeout(TIMEOUT);
        match received {
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {}
            Ok(()) => panic!("received {}", self.received.escape_ascii()),
            Err(error) => panic!("{error}"),
        }
    }

    /// Takes what comes for so long, or until the connection ends.
    pub(crate) fn go_on_for(&mut self, time: Duration) {
        let began = Instant::now();
        while let Some(left) = time.checked_sub(began.elapsed()).filter(|left| !left.is_zero()) {
            self.stream.set_read_timeout(left);
            match self.receive_some() {
                Ok(()) => {}
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => break,
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => break,
                Err(error) => panic!("{error}"),
            }
        }
        self.stream.set_read_timeout(TIMEOUT);
    }

    /// Receives one byte, and no more.
    pub(crate) fn receive_byte(&mut self) -> io::Result<u8> {
        let mut byte = [0];
        self.stream.read_exact(&mut byte)?;
        Ok(byte[0])
    }

    /// Receives something; the end is an error.
    pub(crate) fn receive_some(&mut self) -> io::Result<()> {
        let mut buffer = [0; 64 * 1024];
        let count = loop {
            match self.stream.read(&mut buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read?,
            }
        };
        self.received.extend_from_slice(&buffer[..count]);
        if count == 0 { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(()) }
    }
}

#[cfg(not(feature = "simulation"))]
impl std::os::fd::AsFd for Client {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.stream.as_fd()
    }
}
