//! One client for both versions of HTTP: the same request must come to the same end.

use std::io;

use serow_http2::BodyLength;

use super::{
    Running,
    client::{Answer, Client},
    multiplexed::{Ended, Multiplexed, Opening},
};

/// A version of HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spoken {
    Http1,
    Http2,
}

/// Those that a test goes through.
pub(crate) const BOTH: [Spoken; 2] = [Spoken::Http1, Spoken::Http2];

/// A connection of either version.
pub(crate) enum Either {
    Http1(Client),
    Http2(Box<Multiplexed>),
}

/// A request, whichever version carries it.
#[derive(Clone, Debug)]
pub(crate) struct Asked<'a> {
    pub(crate) method: &'a str,
    pub(crate) target: &'a str,
    pub(crate) fields: &'a [(&'a str, &'a str)],
    pub(crate) body: Option<&'a [u8]>,
    pub(crate) says_length: bool,
}

impl<'a> Asked<'a> {
    pub(crate) fn get(target: &'a str) -> Self {
        Self { method: "GET", target, fields: &[], body: None, says_length: true }
    }

    pub(crate) fn post(target: &'a str, body: &'a [u8]) -> Self {
        Self { method: "POST", target, fields: &[], body: Some(body), says_length: true }
    }
}

impl Running {
    /// Connects as a client of this version.
    pub(crate) fn connect_with(&self, spoken: Spoken) -> Either {
        match spoken {
            Spoken::Http1 => Either::Http1(self.connect()),
            Spoken::Http2 => Either::Http2(Box::new(self.connect_http2())),
        }
    }

    pub(crate) fn connect_http2(&self) -> Multiplexed {
        Multiplexed::new(self.address())
    }
}

impl Either {
    /// The whole answer.
    #[track_caller]
    pub(crate) fn ask(&mut self, asked: &Asked<'_>) -> Answer {
        self.try_ask(asked).unwrap()
    }

    /// The answer; an error where the client can tell that it is not whole.
    pub(crate) fn try_ask(&mut self, asked: &Asked<'_>) -> io::Result<Answer> {
        match self {
            Self::Http1(client) => ask_http1(client, asked),
            Self::Http2(client) => ask_http2(client, asked),
        }
    }
}

fn ask_http1(client: &mut Client, asked: &Asked<'_>) -> io::Result<Answer> {
    let mut head = format!("{} {} HTTP/1.1\r\nHost: a\r\n", asked.method, asked.target);
    for (name, value) in asked.fields {
        head += &format!("{name}: {value}\r\n");
        if *name == "te" {
            head += "Connection: te\r\n";
        }
    }
    let mut request = match asked.body {
        None => head + "\r\n",
        Some(body) if asked.says_length => format!("{head}Content-Length: {}\r\n\r\n", body.len()),
        Some(_) => head + "Transfer-Encoding: chunked\r\n\r\n",
    }
    .into_bytes();
    if let Some(body) = asked.body {
        if asked.says_length {
            request.extend(body);
        } else {
            for chunk in body.chunks(1000) {
                request.extend(format!("{:x}\r\n", chunk.len()).bytes());
                request.extend(chunk);
                request.extend(b"\r\n");
            }
            request.extend(b"0\r\n\r\n");
        }
    }
    client.try_send(&request)?;
    loop {
        let answer = client.try_answer(asked.method == "HEAD")?;
        if answer.status >= 200 {
            return Ok(answer);
        }
    }
}

fn ask_http2(client: &mut Multiplexed, asked: &Asked<'_>) -> io::Result<Answer> {
    let length = asked.body.map(|body| match asked.says_length {
        true => BodyLength::Known(body.len() as u64),
        false => BodyLength::Unknown,
    });
    let opening = Opening { fields: asked.fields.to_vec(), length, protocol: None };
    let stream = client.try_open(asked.method, asked.target, &opening).map_err(io::Error::other)?;
    if let Some(body) = asked.body
        && length != Some(BodyLength::Known(0))
    {
        client.send(stream, body.to_vec());
        client.finish(stream, None);
    }
    match client.outcome(stream) {
        (Some(answer), Ended::Whole) => Ok(answer),
        (_, ended) => Err(io::Error::other(format!("{ended:?}"))),
    }
}
