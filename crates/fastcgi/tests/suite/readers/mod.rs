//! Reads the same bytes whole and in pieces, and asserts that it makes no difference: the other end's stream can be split
//! anywhere.

// Each test takes from here what it needs.
#![allow(dead_code)]

use bytes::{Bytes, BytesMut};
use serow_fastcgi::{
    Application, CgiEvent, CgiResponse, Persistence, RequestEvent, ResponseEvent, ResponseForm, Role, SectionLimits,
    Variables, WebServer,
};
use serow_message::Method;

/// A reader of one role, fed piece by piece.
pub(crate) trait Reader {
    /// Adds bytes and takes all events there are.
    fn feed(&mut self, piece: &[u8]);

    /// The input ended. Returns all events as lines; neighbouring pieces of a stream are one.
    fn finish(self) -> Vec<String>;
}

/// Reads pieces that end at these places.
pub(crate) fn split_at<R: Reader>(mut reader: R, input: &[u8], places: impl IntoIterator<Item = usize>) -> Vec<String> {
    let mut start = 0;
    for place in places {
        let place = place.clamp(start, input.len());
        reader.feed(&input[start..place]);
        start = place;
    }
    reader.feed(&input[start..]);
    reader.finish()
}

/// Reads the input whole, byte by byte, and in two pieces at every place; asserts that all see the same.
pub(crate) fn every_way<R: Reader>(new: impl Fn() -> R, input: &[u8]) -> Vec<String> {
    let seen = split_at(new(), input, []);
    assert_eq!(split_at(new(), input, 1..input.len()), seen, "byte by byte: {}", input.escape_ascii());
    for place in 0..=input.len() {
        assert_eq!(split_at(new(), input, [place]), seen, "split at {place}: {}", input.escape_ascii());
    }
    seen
}

#[derive(Default)]
struct Lines {
    lines: Vec<String>,
    stream: &'static str,
    data: Vec<u8>,
}

impl Lines {
    fn line(&mut self, line: impl Into<String>) {
        self.flush();
        self.lines.push(line.into());
    }

    fn flush(&mut self) {
        if !self.data.is_empty() {
            self.lines.push(format!("{} {}", self.stream, self.data.escape_ascii()));
            self.data.clear();
        }
    }

    fn data(&mut self, stream: &'static str, bytes: &[u8]) {
        assert!(!bytes.is_empty(), "an event without bytes");
        if self.stream != stream {
            self.flush();
        }
        self.stream = stream;
        self.data.extend_from_slice(bytes);
    }
}

/// A CGI response.
pub(crate) struct CgiReader {
    response: CgiResponse,
    lines: Lines,
    is_broken: bool,
}

impl CgiReader {
    pub(crate) fn new(limits: SectionLimits, form: ResponseForm, method: &Method) -> Self {
        Self { response: CgiResponse::new(limits, form, method), lines: Lines::default(), is_broken: false }
    }

    fn feed_piece(&mut self, mut piece: Bytes) {
        while !self.is_broken {
            match self.response.receive(&mut piece) {
                Ok(None) => {
                    assert!(piece.is_empty(), "a part of a piece was left");
                    return;
                }
                Ok(Some(CgiEvent::Data(data))) => self.lines.data("data", &data),
                Ok(Some(CgiEvent::Excess)) => self.lines.line("excess"),
                Ok(Some(CgiEvent::Head(head))) => {
                    let length = head.content_length.map(|length| format!(" length {length}")).unwrap_or_default();
                    self.lines.line(format!("{}{length}", head.status.as_u16()));
                    for (name, value) in &head.headers {
                        self.lines.line(format!("{}: {}", name.escape_ascii(), value.escape_ascii()));
                    }
                }
                Err(error) => {
                    assert_eq!(self.response.receive(&mut piece), Err(error), "the error is kept");
                    assert_eq!(self.response.handle_end(), Err(error), "the error is kept");
                    self.lines.line(format!("{error:?}"));
                    self.is_broken = true;
                }
            }
        }
    }

    fn end(&mut self) {
        if !self.is_broken {
            self.lines.line(match self.response.handle_end() {
                Ok(()) => "end".into(),
                Err(error) => format!("{error:?}"),
            });
        }
    }
}

impl Reader for CgiReader {
    fn feed(&mut self, piece: &[u8]) {
        self.feed_piece(Bytes::copy_from_slice(piece));
    }

    fn finish(mut self) -> Vec<String> {
        self.end();
        self.lines.lines
    }
}

/// The response to a FastCGI request that has been sent: records, and a CGI response within them if there is a reader for
/// that.
pub(crate) struct ResponseReader {
    server: WebServer,
    input: BytesMut,
    lines: Lines,
    cgi: Option<CgiReader>,
    is_broken: bool,
}

impl ResponseReader {
    pub(crate) fn new(cgi: Option<CgiReader>) -> Self {
        let (mut output, variables) = (Vec::new(), Variables::default());
        let begun = WebServer::begin_request(Role::Responder, Persistence::Keep, &variables, &mut output);
        let mut server = begun.expect("no variable is too long");
        server.end_stream(&mut output).expect("the end's turn");
        Self { server, input: BytesMut::new(), lines: Lines::default(), cgi, is_broken: false }
    }
}

impl Reader for ResponseReader {
    fn feed(&mut self, piece: &[u8]) {
        self.input.extend_from_slice(piece);
        while !self.is_broken {
            match (self.server.receive(&mut self.input), &mut self.cgi) {
                (Ok(None), _) => return,
                (Ok(Some(ResponseEvent::Stdout(data))), Some(cgi)) => cgi.feed_piece(data),
                (Ok(Some(ResponseEvent::Stdout(data))), None) => self.lines.data("stdout", &data),
                (Ok(Some(ResponseEvent::Stderr(data))), _) => self.lines.data("stderr", &data),
                (Ok(Some(ResponseEvent::End { application_status })), cgi) => {
                    self.lines.line(format!("end {application_status}"));
                    cgi.iter_mut().for_each(CgiReader::end);
                }
                (Err(error), _) => {
                    assert_eq!(self.server.receive(&mut self.input), Err(error), "the error is kept");
                    self.lines.line(format!("{error:?}"));
                    self.is_broken = true;
                }
            }
        }
    }

    fn finish(mut self) -> Vec<String> {
        if !self.is_broken {
            match self.server.handle_end() {
                Ok(()) => assert!(self.server.can_reuse(&self.input), "the exchange is complete"),
                Err(error) => self.lines.line(format!("{error:?}")),
            }
        }
        if let Some(mut cgi) = self.cgi {
            cgi.lines.flush();
            self.lines.lines.append(&mut cgi.lines.lines);
        }
        self.lines.lines
    }
}

/// FastCGI requests, which the application never ends.
pub(crate) struct RequestReader {
    application: Application,
    input: BytesMut,
    lines: Lines,
    is_broken: bool,
}

impl RequestReader {
    pub(crate) fn new(max_params: usize) -> Self {
        let application = Application::new(max_params);
        Self { application, input: BytesMut::new(), lines: Lines::default(), is_broken: false }
    }
}

impl Reader for RequestReader {
    fn feed(&mut self, piece: &[u8]) {
        self.input.extend_from_slice(piece);
        while !self.is_broken {
            match self.application.receive(&mut self.input) {
                Ok(None) => return,
                Ok(Some(RequestEvent::Stdin(data))) => self.lines.data("stdin", &data),
                Ok(Some(RequestEvent::Data(data))) => self.lines.data("data", &data),
                Ok(Some(RequestEvent::Head(head))) => {
                    self.lines.line(format!("{:?} {:?}", head.role, head.persistence));
                    for (name, value) in head.variables.iter() {
                        self.lines.line(format!("{}={}", name.escape_ascii(), value.escape_ascii()));
                    }
                }
                Ok(Some(event)) => self.lines.line(format!("{event:?}")),
                Err(error) => {
                    assert_eq!(self.application.receive(&mut self.input), Err(error), "the error is kept");
                    assert_eq!(self.application.handle_end(&self.input), Err(error), "the error is kept");
                    self.lines.line(format!("{error:?}"));
                    self.is_broken = true;
                }
            }
        }
    }

    fn finish(mut self) -> Vec<String> {
        if !self.is_broken {
            self.lines.line(match self.application.handle_end(&self.input) {
                Ok(()) => "end".into(),
                Err(error) => format!("{error:?}"),
            });
        }
        self.lines.lines
    }
}
