//! Parsing of heads: the first line and the header fields.
//!
//! `httparse` finds the parts; the rules that it does not have, or has laxer than RFC 9112 asks, are here.

use core::mem::MaybeUninit;

use bytes::{Bytes, BytesMut};
use serow_message::{Headers, Method, ReceivedFields, RequestHead, ResponseHead, Span, StatusCode, Target, Version};

use crate::{
    Limits, ProtocolError,
    limits::{LONGEST_METHOD, MOST_FIELDS},
};

/// How much of an unfinished head has been looked at, so that a peer that sends it byte by byte does not have it parsed
/// again for each.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct HeadProgress {
    seen: usize,
}

/// What a parser found in the text it was given: a complete head with its length, or not yet.
type Found<P> = Option<(P, usize)>;

/// A kind of head that can be received.
trait Parts: Sized {
    type Head;

    /// Finds the parts of a complete head.
    fn parse(text: &[u8], limits: &Limits) -> Result<Found<Self>, ProtocolError>;

    /// What is wrong with a first line of this length.
    fn check_first_line(length: usize, limits: &Limits) -> Result<(), ProtocolError>;

    /// Makes the head of its parts and text.
    fn into_head(self, text: Bytes) -> Result<Self::Head, ProtocolError>;
}

impl HeadProgress {
    /// Takes a request's head from the front of the input.
    #[inline]
    pub(crate) fn receive_request(
        &mut self,
        input: &mut BytesMut,
        limits: &Limits,
    ) -> Result<Option<RequestHead>, ProtocolError> {
        skip_empty_lines(input)?;
        self.receive::<RequestParts>(input, limits)
    }

    /// Takes a response's head from the front of the input.
    pub(crate) fn receive_response(
        &mut self,
        input: &mut BytesMut,
        limits: &Limits,
    ) -> Result<Option<ResponseHead>, ProtocolError> {
        self.receive::<ResponseParts>(input, limits)
    }

    /// Whether a part of a head has come.
    pub(crate) fn has_begun(self) -> bool {
        self.seen != 0
    }

    #[inline]
    fn receive<P: Parts>(&mut self, input: &mut BytesMut, limits: &Limits) -> Result<Option<P::Head>, ProtocolError> {
        if input.is_empty() {
            return Ok(None);
        }
        let window = &input[..input.len().min(limits.head)];
        let worth_parsing = self.seen == 0 || window[self.seen.min(window.len())..].contains(&b'\n');
        if worth_parsing && let Ok(Some((parts, length))) = P::parse(window, limits) {
            self.seen = 0;
            return parts.into_head(input.split_to(length).freeze()).map(Some);
        }
        self.judge_lines::<P>(input, limits, worth_parsing)?;
        Ok(None)
    }

    /// Judges a head that is not complete, or not right.
    #[cold]
    fn judge_lines<P: Parts>(
        &mut self,
        input: &[u8],
        limits: &Limits,
        worth_parsing: bool,
    ) -> Result<(), ProtocolError> {
        let window = &input[..input.len().min(limits.head)];
        // Anything but a complete head is judged by complete lines only, so that the verdict does not depend on how the
        // bytes came.
        let first_line = window.iter().position(|&byte| byte == b'\n').unwrap_or(window.len());
        P::check_first_line(first_line, limits)?;
        if worth_parsing {
            P::parse(complete_lines(window), limits)?;
        }
        if input.len() > limits.head {
            return Err(ProtocolError::HeadTooLarge);
        }
        self.seen = input.len();
        Ok(())
    }
}

/// Takes trailers and the empty line behind them from the front of the input (RFC 9112 §7.1.2).
pub(crate) fn receive_trailers(
    progress: &mut HeadProgress,
    input: &mut BytesMut,
    limits: &Limits,
) -> Result<Option<Headers>, ProtocolError> {
    progress.receive::<Trailers>(input, limits)
}

/// Everything up to the last line feed.
fn complete_lines(text: &[u8]) -> &[u8] {
    let end = text.iter().rposition(|&byte| byte == b'\n').map_or(0, |place| place + 1);
    &text[..end]
}

/// RFC 9112 §2.2: a server ignores an empty line before a request; old clients end a POST with one.
#[inline]
fn skip_empty_lines(input: &mut BytesMut) -> Result<(), ProtocolError> {
    while let Some(b'\r' | b'\n') = input.first() {
        match input[..] {
            [b'\r'] => return Ok(()),
            [b'\r', b'\n', ..] => drop(input.split_to(2)),
            _ => return Err(ProtocolError::LineEnd),
        }
    }
    Ok(())
}

struct RequestParts {
    method: Method,
    /// Where the target begins and how long it is.
    target: (usize, usize),
    version: Version,
    fields: ReceivedFields,
}

impl Parts for RequestParts {
    type Head = RequestHead;

    #[inline]
    fn parse(text: &[u8], limits: &Limits) -> Result<Found<Self>, ProtocolError> {
        let mut slots = [const { MaybeUninit::uninit() }; MOST_FIELDS];
        let mut request = httparse::Request::new(&mut []);
        let length = match request.parse_with_uninit_headers(text, &mut slots[..limits.fields.min(MOST_FIELDS)]) {
            Ok(httparse::Status::Complete(length)) => length,
            Ok(httparse::Status::Partial) => return Ok(None),
            Err(httparse::Error::Version) => return Err(version_error(text)),
            Err(error) => return Err(parse_error(error)),
        };
        let (method, path) = (request.method.unwrap_or_default(), request.path.unwrap_or_default());
        let target = (offset(path.as_bytes(), text), path.len());
        let first_line = target.0 + target.1 + VERSION_LENGTH;
        Self::check_first_line(first_line, limits)?;
        if target.1 > limits.target {
            return Err(ProtocolError::TargetTooLong);
        }
        if method.len() > LONGEST_METHOD {
            return Err(ProtocolError::MethodTooLong);
        }
        let method = Method::from_bytes(method.as_bytes()).map_err(|_| ProtocolError::StartLine)?;
        let version = if request.version == Some(0) { Version::HTTP_10 } else { Version::HTTP_11 };
        let fields = collect_fields(request.headers, text, line_end(text, first_line)?, length)?;
        Ok(Some((Self { method, target, version, fields }, length)))
    }

    fn check_first_line(length: usize, limits: &Limits) -> Result<(), ProtocolError> {
        let beside_target = LONGEST_METHOD + 1 + VERSION_LENGTH + 1;
        if length > limits.target + beside_target { Err(ProtocolError::TargetTooLong) } else { Ok(()) }
    }

    #[inline]
    fn into_head(self, text: Bytes) -> Result<RequestHead, ProtocolError> {
        let (start, length) = self.target;
        let connect = self.method == Method::CONNECT;
        let target = Target::parse(text.slice(start..start + length), connect).map_err(|_| ProtocolError::Target)?;
        let headers = self.fields.into_headers(text).map_err(|_| ProtocolError::HeadTooLarge)?;
        Ok(RequestHead { method: self.method, target, version: self.version, headers })
    }
}

struct ResponseParts {
    status: StatusCode,
    version: Version,
    fields: ReceivedFields,
}

impl Parts for ResponseParts {
    type Head = ResponseHead;

    fn parse(text: &[u8], limits: &Limits) -> Result<Found<Self>, ProtocolError> {
        let mut slots = [const { MaybeUninit::uninit() }; MOST_FIELDS];
        let mut response = httparse::Response::new(&mut []);
        let slots = &mut slots[..limits.fields.min(MOST_FIELDS)];
        let parser = httparse::ParserConfig::default();
        let length = match parser.parse_response_with_uninit_headers(&mut response, text, slots) {
            Ok(httparse::Status::Complete(length)) => length,
            Ok(httparse::Status::Partial) => return Ok(None),
            Err(httparse::Error::Version) => return Err(status_line_error(text)),
            Err(error) => return Err(parse_error(error)),
        };
        // `httparse` passes over empty lines; RFC 9112 §2.2 allows that before requests only.
        if !text.starts_with(b"HTTP/") {
            return Err(ProtocolError::StartLine);
        }
        let first_line = text.iter().position(|&byte| byte == b'\n').unwrap_or_default();
        let start = line_end(text, first_line.saturating_sub(1))?;
        let status = StatusCode::from_u16(response.code.unwrap_or_default()).map_err(|_| ProtocolError::StartLine)?;
        let version = if response.version == Some(0) { Version::HTTP_10 } else { Version::HTTP_11 };
        let fields = collect_fields(response.headers, text, start, length)?;
        Ok(Some((Self { status, version, fields }, length)))
    }

    fn check_first_line(_: usize, _: &Limits) -> Result<(), ProtocolError> {
        Ok(())
    }

    fn into_head(self, text: Bytes) -> Result<ResponseHead, ProtocolError> {
        let headers = self.fields.into_headers(text).map_err(|_| ProtocolError::HeadTooLarge)?;
        Ok(ResponseHead { status: self.status, version: self.version, headers })
    }
}

struct Trailers(ReceivedFields);

impl Parts for Trailers {
    type Head = Headers;

    fn parse(text: &[u8], limits: &Limits) -> Result<Found<Self>, ProtocolError> {
        let mut slots = [httparse::EMPTY_HEADER; MOST_FIELDS];
        match httparse::parse_headers(text, &mut slots[..limits.fields.min(MOST_FIELDS)]).map_err(parse_error)? {
            httparse::Status::Partial => Ok(None),
            httparse::Status::Complete((length, fields)) => {
                Ok(Some((Self(collect_fields(fields, text, 0, length)?), length)))
            }
        }
    }

    fn check_first_line(_: usize, _: &Limits) -> Result<(), ProtocolError> {
        Ok(())
    }

    fn into_head(self, text: Bytes) -> Result<Headers, ProtocolError> {
        self.0.into_headers(text).map_err(|_| ProtocolError::HeadTooLarge)
    }
}

/// The places of parsed fields; the first line of fields begins at `start`, the head ends at `end`.
///
/// What stands between a value and the next name must be optional white space and CR LF, nothing else: `httparse` lets a
/// bare LF end a line (RFC 9112 §2.2 allows it; but two servers that differ in this see different requests).
#[inline]
fn collect_fields(
    fields: &[httparse::Header<'_>],
    text: &[u8],
    start: usize,
    end: usize,
) -> Result<ReceivedFields, ProtocolError> {
    let mut received = ReceivedFields::with_capacity(fields.len());
    let mut line = start;
    for field in fields {
        let name = field.name.as_bytes();
        let span = Span {
            name_start: offset(name, text),
            name_length: name.len(),
            value_start: offset(field.value, text),
            value_length: field.value.len(),
        };
        // RFC 9112 §5.2: a line folded from the one before has no name of its own.
        if span.name_start != line {
            return Err(ProtocolError::Field);
        }
        received.push(name, span).map_err(|_| ProtocolError::HeadTooLarge)?;
        line = line_end(text, span.value_start + span.value_length)?;
    }
    if line_end(text, line)? == end { Ok(received) } else { Err(ProtocolError::LineEnd) }
}

/// Where the next line begins, if nothing but white space and CR LF stands at `place`.
#[inline]
fn line_end(text: &[u8], place: usize) -> Result<usize, ProtocolError> {
    let mut place = place;
    while let Some(b' ' | b'\t') = text.get(place) {
        place += 1;
    }
    match text.get(place..place + 2) {
        Some(b"\r\n") => Ok(place + 2),
        _ => Err(ProtocolError::LineEnd),
    }
}

/// Where a part that a parser gave stands in the text it was given. A part that is none would give a place outside of it,
/// which every use of the place refuses.
#[inline]
fn offset(part: &[u8], text: &[u8]) -> usize {
    (part.as_ptr() as usize).wrapping_sub(text.as_ptr() as usize)
}

/// RFC 9110 §15.6.6: a version of the right shape is refused as such, anything else as a malformed line.
fn version_error(text: &[u8]) -> ProtocolError {
    let line = text.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let line = line.strip_suffix(b"\r").unwrap_or_default();
    let mut words = line.split(|&byte| byte == b' ');
    match (words.nth(2), words.next()) {
        (Some(version), None) => shape_error(version),
        _ => ProtocolError::StartLine,
    }
}

/// The same of a response, whose line begins with the version.
fn status_line_error(text: &[u8]) -> ProtocolError {
    shape_error(text.split(|&byte| matches!(byte, b' ' | b'\r' | b'\n')).next().unwrap_or_default())
}

fn shape_error(version: &[u8]) -> ProtocolError {
    match version {
        [b'H', b'T', b'T', b'P', b'/', b'0'..=b'9', b'.', b'0'..=b'9'] => ProtocolError::Version,
        _ => ProtocolError::StartLine,
    }
}

fn parse_error(error: httparse::Error) -> ProtocolError {
    match error {
        httparse::Error::HeaderName | httparse::Error::HeaderValue => ProtocolError::Field,
        httparse::Error::NewLine => ProtocolError::LineEnd,
        httparse::Error::TooManyHeaders => ProtocolError::HeadTooLarge,
        httparse::Error::Version => ProtocolError::Version,
        httparse::Error::Status | httparse::Error::Token => ProtocolError::StartLine,
    }
}

/// ` HTTP/1.1`
const VERSION_LENGTH: usize = 9;
