//! Receiving heads: the first line and the header fields.

use bytes::{Bytes, BytesMut};
use serow_message::{HeadFields, Headers, Method, RequestHead, ResponseHead, StatusCode, Target, Version};

use crate::{
    Limits, ProtocolError,
    limits::MAX_METHOD_LENGTH,
    scan::{Scanner, TARGET, TOKEN},
};

/// How much of an unfinished head has been looked at, so that a peer that sends it byte by byte does not have it parsed
/// again for each.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct HeadProgress {
    seen: usize,
}

/// The result of parsing a text: a complete head with its length, or `None` where the head is not complete yet.
type Found<P> = Option<(P, usize)>;

/// A kind of head that can be received.
trait Parts: Sized {
    type Head;

    /// Finds the parts of a complete head.
    fn parse(text: &[u8], limits: &Limits) -> Result<Found<Self>, ProtocolError>;

    /// Refuses a first line that is too long; a line that is not complete is judged by its bytes so far.
    fn check_first_line(line: &[u8], limits: &Limits) -> Result<(), ProtocolError>;

    /// Makes the head of its parts and text.
    fn into_head(self, text: Bytes) -> Result<Self::Head, ProtocolError>;
}

impl HeadProgress {
    /// Takes a request's head from the front of the input.
    #[inline(always)]
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

    #[inline(always)]
    fn receive<P: Parts>(&mut self, input: &mut BytesMut, limits: &Limits) -> Result<Option<P::Head>, ProtocolError> {
        if input.is_empty() {
            // The byte seen may have been half of an empty line.
            self.seen = 0;
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
        P::check_first_line(&window[..first_line], limits)?;
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
    fields: HeadFields,
}

impl Parts for RequestParts {
    type Head = RequestHead;

    /// RFC 9112 §3: method SP request-target SP HTTP-version CRLF.
    #[inline(always)]
    fn parse(text: &[u8], limits: &Limits) -> Result<Found<Self>, ProtocolError> {
        let mut scanner = Scanner::new(text);
        let Some(method) = scanner.word(&TOKEN)? else { return Ok(None) };
        let start = scanner.place();
        let Some(target) = scanner.word(&TARGET)? else { return Ok(None) };
        let Some(version) = scanner.bytes::<8>()? else { return Ok(None) };
        let version = parse_version(version)?;
        if scanner.line_end(ProtocolError::StartLine)?.is_none() {
            return Ok(None);
        }
        Self::check_first_line(&text[..scanner.place() - 1], limits)?;
        if target.len() > limits.target {
            return Err(ProtocolError::TargetTooLong);
        }
        if method.len() > MAX_METHOD_LENGTH {
            return Err(ProtocolError::MethodTooLong);
        }
        let method = Method::from_bytes(method).map_err(|_| ProtocolError::StartLine)?;
        let Some(fields) = scanner.fields(limits)? else { return Ok(None) };
        Ok(Some((Self { method, target: (start, target.len()), version, fields }, scanner.place())))
    }

    #[inline]
    fn check_first_line(line: &[u8], limits: &Limits) -> Result<(), ProtocolError> {
        let beside_target = MAX_METHOD_LENGTH + 1 + VERSION_LENGTH + 1;
        if line.len() > limits.target + beside_target { Err(too_long(line)) } else { Ok(()) }
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
    fields: HeadFields,
}

impl Parts for ResponseParts {
    type Head = ResponseHead;

    /// RFC 9112 §4: HTTP-version SP status-code SP [ reason-phrase ] CRLF. The space before a reason that is empty is
    /// often left out.
    fn parse(text: &[u8], limits: &Limits) -> Result<Found<Self>, ProtocolError> {
        let mut scanner = Scanner::new(text);
        let Some(version) = scanner.bytes::<8>()? else { return Ok(None) };
        let version = parse_version(version)?;
        let Some(status) = scanner.bytes::<4>()? else { return Ok(None) };
        let [b' ', digits @ ..] = status else { return Err(ProtocolError::StartLine) };
        let status = StatusCode::from_bytes(digits).map_err(|_| ProtocolError::StartLine)?;
        let Some(reason) = scanner.rest_of_line(ProtocolError::StartLine)? else { return Ok(None) };
        if !matches!(reason, [] | [b' ', ..]) {
            return Err(ProtocolError::StartLine);
        }
        let Some(fields) = scanner.fields(limits)? else { return Ok(None) };
        Ok(Some((Self { status, version, fields }, scanner.place())))
    }

    fn check_first_line(_: &[u8], _: &Limits) -> Result<(), ProtocolError> {
        Ok(())
    }

    fn into_head(self, text: Bytes) -> Result<ResponseHead, ProtocolError> {
        let headers = self.fields.into_headers(text).map_err(|_| ProtocolError::HeadTooLarge)?;
        Ok(ResponseHead { status: self.status, version: self.version, headers })
    }
}

struct Trailers(HeadFields);

impl Parts for Trailers {
    type Head = Headers;

    fn parse(text: &[u8], limits: &Limits) -> Result<Found<Self>, ProtocolError> {
        let mut scanner = Scanner::new(text);
        Ok(scanner.fields(limits)?.map(|fields| (Self(fields), scanner.place())))
    }

    fn check_first_line(_: &[u8], _: &Limits) -> Result<(), ProtocolError> {
        Ok(())
    }

    fn into_head(self, text: Bytes) -> Result<Headers, ProtocolError> {
        self.0.into_headers(text).map_err(|_| ProtocolError::HeadTooLarge)
    }
}

/// The error of a request line that is too long, by its method or its target.
#[cold]
fn too_long(line: &[u8]) -> ProtocolError {
    match line.iter().take(MAX_METHOD_LENGTH + 1).all(|&byte| TOKEN[byte as usize]) {
        true => ProtocolError::MethodTooLong,
        false => ProtocolError::TargetTooLong,
    }
}

/// RFC 9110 §15.6.6: a version of the right shape is refused as such, anything else as a malformed line.
#[inline]
fn parse_version(version: &[u8; 8]) -> Result<Version, ProtocolError> {
    match version {
        b"HTTP/1.1" => Ok(Version::HTTP_11),
        b"HTTP/1.0" => Ok(Version::HTTP_10),
        [b'H', b'T', b'T', b'P', b'/', b'0'..=b'9', b'.', b'0'..=b'9'] => Err(ProtocolError::Version),
        _ => Err(ProtocolError::StartLine),
    }
}

/// `HTTP/1.1` and CR
const VERSION_LENGTH: usize = 9;
