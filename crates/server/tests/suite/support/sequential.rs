//! A client of HTTP/1 that a test drives by hand, one exchange after the other.

use std::io;

use serow_http2::BodyLength;

use super::{answer::Answer, client::Client, multiplexed::Opening};

/// One connection, and the exchange that is under way on it.
pub(crate) struct Sequential {
    pub(crate) client: Client,
    /// Whether the request's body comes in chunks.
    chunked: bool,
    head_only: bool,
    /// The part of the answer that has come, once its head has.
    answer: Option<Answer>,
}

impl Sequential {
    pub(crate) fn new(client: Client) -> Self {
        Self { client, chunked: false, head_only: false, answer: None }
    }

    /// Sends a head, and the part of the body that goes with it.
    pub(crate) fn open(&mut self, method: &str, target: &str, opening: &Opening<'_>, body: &[u8]) {
        self.chunked = opening.length == Some(BodyLength::Unknown);
        self.head_only = method == "HEAD";
        self.answer = None;
        self.write(&[head(method, target, opening).as_bytes(), body].concat());
    }

    /// Sends a piece of the body.
    pub(crate) fn send(&mut self, piece: &[u8]) {
        if self.chunked && !piece.is_empty() {
            self.write(&chunk(piece));
        } else {
            self.write(piece);
        }
    }

    /// Ends the body.
    pub(crate) fn finish(&mut self, trailers: &[(&str, &str)]) {
        if self.chunked {
            let trailers: String = trailers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
            self.write(format!("0\r\n{trailers}\r\n").as_bytes());
        }
    }

    fn write(&mut self, bytes: &[u8]) {
        // Where it fails, what the server said before is still to be read.
        let _ = self.client.try_send(bytes);
    }

    /// The next informational answer.
    #[track_caller]
    pub(crate) fn informational(&mut self) -> Answer {
        let answer = self.client.answer();
        assert!(answer.is_informational(), "{}", answer.head);
        answer
    }

    /// Whether the answer has begun to come.
    pub(crate) fn has_answer(&self) -> bool {
        self.answer.is_some() || self.client.holds_head()
    }

    /// Waits for the head of the answer.
    #[track_caller]
    pub(crate) fn wait_for_head(&mut self) -> io::Result<&mut Answer> {
        if self.answer.is_none() {
            let answer = self.client.begin_answer()?;
            assert!(!answer.is_informational(), "not asked for: {}", answer.head);
            self.answer = Some(answer);
        }
        Ok(self.answer.as_mut().expect("it has come"))
    }

    /// Waits until so much of a body in chunks has come.
    #[track_caller]
    pub(crate) fn wait_for_body(&mut self, length: usize) -> &[u8] {
        self.wait_for_head().unwrap();
        let answer = self.answer.as_mut().expect("it has come");
        while answer.body.len() < length {
            let chunk = self.client.take_chunk().unwrap().expect("the body goes on");
            answer.body.extend(chunk);
        }
        &answer.body
    }

    /// The answer; an error where the client can tell that it is not whole.
    #[track_caller]
    pub(crate) fn try_answer(&mut self) -> io::Result<Answer> {
        self.wait_for_head()?;
        let mut answer = self.answer.take().expect("it has come");
        self.client.finish_answer(&mut answer, self.head_only)?;
        Ok(answer)
    }
}

/// A request's head.
pub(crate) fn head(method: &str, target: &str, opening: &Opening<'_>) -> String {
    let mut head = format!("{method} {target} HTTP/1.1\r\nHost: a\r\n");
    for (name, value) in &opening.fields {
        head += &format!("{name}: {value}\r\n");
        if *name == "te" {
            head += "Connection: te\r\n";
        }
    }
    match opening.length {
        None => head + "\r\n",
        Some(BodyLength::Known(length)) => head + &format!("Content-Length: {length}\r\n\r\n"),
        Some(BodyLength::Unknown) => head + "Transfer-Encoding: chunked\r\n\r\n",
    }
}

/// A whole body in chunks of several lengths, some of which fit into a buffer.
pub(crate) fn in_chunks(mut body: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for length in [1000, 3000, 7000, 10_000].into_iter().cycle() {
        if body.is_empty() {
            break;
        }
        let (piece, rest) = body.split_at(body.len().min(length));
        bytes.extend(chunk(piece));
        body = rest;
    }
    bytes.extend(b"0\r\n\r\n");
    bytes
}

fn chunk(piece: &[u8]) -> Vec<u8> {
    [format!("{:x}\r\n", piece.len()).as_bytes(), piece, b"\r\n"].concat()
}
