//! The header section of a script's response (RFC 3875 §6.3), line by line.
//!
//! Lines end in LF or CR LF. Otherwise they are as strict as those of HTTP/1.1 (RFC 9112 §5): what one recipient forgives,
//! another takes for a different field.

use core::fmt;

use bytes::Bytes;
use serow_message::{
    HeadFields, KnownHeader, KnownNames, Span, StatusCode, content, hop_by_hop, is_token_byte, text_length,
};

use crate::{CgiError, CgiHead, ResponseForm, SectionLimits};

/// The lines that have been looked at, so that those of a section that comes byte by byte are looked at once.
#[derive(Default)]
pub(crate) struct Section {
    fields: HeadFields,
    /// Fields, including those that are dropped.
    count: usize,
    lines: usize,
    /// The beginning of the first line that is not complete.
    line_start: usize,
    /// There is no line feed between that and this place.
    searched: usize,
    status: Option<StatusCode>,
    is_redirect: bool,
    content_length: Option<u64>,
}

impl Section {
    /// Looks at the lines that are complete. Returns the length of the section with its empty line, once that is there.
    /// `text` is the section from its beginning; it may have more than before.
    pub(crate) fn scan(
        &mut self,
        text: &[u8],
        limits: SectionLimits,
        form: ResponseForm,
    ) -> Result<Option<usize>, CgiError> {
        let window = &text[..text.len().min(limits.bytes)];
        while let Some(found) = window[self.searched..].iter().position(|&byte| byte == b'\n') {
            let end = self.searched + found;
            let start = core::mem::replace(&mut self.line_start, end + 1);
            self.searched = end + 1;
            let has_return = end > start && window[end - 1] == b'\r';
            let line = &window[start..end - usize::from(has_return)];
            if line.is_empty() {
                return Ok(Some(end + 1));
            }
            self.lines += 1;
            if self.lines == 1 && form == ResponseForm::CgiOrHttp && line.starts_with(b"HTTP/") {
                self.status = Some(parse_status_line(line)?);
                continue;
            }
            self.add_line(line, start, has_return, limits)?;
        }
        if text.len() > limits.bytes {
            return Err(CgiError::SectionTooLong);
        }
        self.searched = window.len();
        Ok(None)
    }

    /// The head, of the text of the section.
    pub(crate) fn into_head(self, text: Bytes) -> Result<CgiHead, CgiError> {
        let default = if self.is_redirect { StatusCode::FOUND } else { StatusCode::OK };
        let status = self.status.unwrap_or(default);
        let content_length = self.content_length.filter(|_| status != StatusCode::NO_CONTENT);
        let headers = self.fields.into_headers(text).map_err(|_| CgiError::SectionTooLong)?;
        Ok(CgiHead { status, headers, content_length })
    }

    fn add_line(&mut self, line: &[u8], start: usize, has_return: bool, limits: SectionLimits) -> Result<(), CgiError> {
        let malformed = CgiError::Field(self.lines);
        if self.count == limits.fields {
            return Err(CgiError::TooManyFields);
        }
        self.count += 1;
        let name_length = line.iter().position(|&byte| !is_token_byte(byte)).unwrap_or(line.len());
        // RFC 9112 §5.1, §5.2: neither white space before the colon nor a folded line.
        if name_length == 0 || line.get(name_length) != Some(&b':') {
            return Err(malformed);
        }
        let (name, rest) = (&line[..name_length], &line[name_length + 1..]);
        if text_length(rest) != rest.len() {
            return Err(malformed);
        }
        // A value has no white space other than these after the look at its characters.
        let value = rest.trim_ascii();
        let leading = rest.len() - rest.trim_ascii_start().len();
        let known = KnownHeader::recognise(name);
        match known {
            None if name.eq_ignore_ascii_case(b"status") => return self.set_status(value),
            Some(KnownHeader::ContentLength) => return self.set_length(value),
            Some(known) if OF_CONNECTION.contains(known) => return Ok(()),
            Some(KnownHeader::Location) => self.is_redirect |= !value.is_empty(),
            _ => {}
        }
        let span = Span {
            name_start: start,
            name_length,
            value_start: start + name_length + 1 + leading,
            value_length: value.len(),
            is_line: has_return && rest.first() == Some(&b' ') && value.len() + 1 == rest.len(),
        };
        self.fields.begin().push(known, span).map_err(|_| malformed)
    }

    /// The first status holds: PHP writes one of its own behind that of the script.
    fn set_status(&mut self, value: &[u8]) -> Result<(), CgiError> {
        if self.status.is_none() {
            self.status = Some(parse_status(value)?);
        }
        Ok(())
    }

    fn set_length(&mut self, value: &[u8]) -> Result<(), CgiError> {
        let length = content::parse_length(value).map_err(|_| CgiError::ContentLength)?;
        match self.content_length.replace(length) {
            None => Ok(()),
            Some(_) => Err(CgiError::ContentLength),
        }
    }
}

impl fmt::Debug for Section {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Section")
            .field("lines", &self.lines)
            .field("status", &self.status)
            .finish_non_exhaustive()
    }
}

/// RFC 9112 §4: `HTTP/1.1 200 OK`; the reason, and the space before it, may be missing.
fn parse_status_line(line: &[u8]) -> Result<StatusCode, CgiError> {
    let [b'H', b'T', b'T', b'P', b'/', b'1', b'.', b'0' | b'1', b' ', status @ ..] = line else {
        return Err(CgiError::StatusLine);
    };
    if text_length(status) != status.len() {
        return Err(CgiError::StatusLine);
    }
    parse_status(status)
}

/// RFC 3875 §6.3.3: three digits, and a reason behind a space, which may be missing.
fn parse_status(value: &[u8]) -> Result<StatusCode, CgiError> {
    let Some((digits, [] | [b' ', ..])) = value.split_first_chunk::<3>() else { return Err(CgiError::Status) };
    let status = StatusCode::from_bytes(digits).map_err(|_| CgiError::Status)?;
    match status.as_u16() {
        100..=199 => Err(CgiError::InformationalStatus(status.as_u16())),
        200..=599 => Ok(status),
        _ => Err(CgiError::Status),
    }
}

/// RFC 9110 §7.6.1: the connection to the client is the server's, and so is the framing of messages.
const OF_CONNECTION: KnownNames = hop_by_hop::SET.and(KnownNames::of(&[KnownHeader::Trailer]));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_byte_of_a_section_is_searched_once() {
        let limits = SectionLimits { bytes: 1000, fields: 10 };
        let (text, mut section) = (b"A: 1\r\nBBBBBBBBBBBB: 2", Section::default());
        for end in 0..text.len() {
            assert_eq!(section.scan(&text[..end], limits, ResponseForm::Cgi), Ok(None));
            assert_eq!(section.searched, end);
        }
    }
}
