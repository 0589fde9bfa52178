//! Responses of scripts (RFC 3875 §6): a header section and a body.
//!
//! | the script sends | the response |
//! | --- | --- |
//! | no `Status` | 200, or 302 with a `Location` that is not empty |
//! | `Status: 404`, `Status: 404 Not Found` | 404; the reason is not passed on |
//! | `Status` twice | the first holds |
//! | `Status: 201` and `Location` | 201 |
//! | `Status: 103` | an error: it would be the only response |
//! | `Status: 099`, `600`, `999`, `2000`, `404x`, `HTTP/1.1 404`, an empty one | an error |
//! | `Location: /path` | 302 with this `Location`, also where RFC 3875 §6.2.2 has the server serve that path itself |
//! | an empty section | 200 without fields: PHP can be without a default media type |
//! | a folded line, `X-A : v`, a name that is not a token, a control character | an error |
//! | `Connection`, `Transfer-Encoding` and other fields of connections | they are dropped |
//! | `Content-Length` twice, or not a number | an error |
//! | a body shorter than `Content-Length` | an error at its end, so that the client's message is truncated |
//! | a longer body | it is cut; [`CgiEvent::Excess`] says so |
//! | a body with 204 or 304, or to HEAD | it is dropped |

use bytes::{Buf, Bytes, BytesMut};
use serow_message::{Headers, Method, StatusCode, content};

use crate::{CgiError, cgi_section::Section};

/// The forms in which a response may begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResponseForm {
    /// With header fields, as CGI, FastCGI and SCGI have it.
    Cgi,
    /// With header fields or an HTTP/1 status line, as uwsgi servers do. The status of a status line holds.
    CgiOrHttp,
}

/// Limits of a header section. A script that never ends it would fill the memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SectionLimits {
    /// Bytes, with the empty line at the end.
    pub bytes: usize,
    /// Fields, including those that are dropped.
    pub fields: usize,
}

/// A part of a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CgiEvent {
    /// The header section.
    Head(CgiHead),
    /// A piece of the body.
    Data(Bytes),
    /// The script sends more than `Content-Length` announced. Comes once; the excess is dropped.
    Excess,
}

/// The head of a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CgiHead {
    /// The status, from 200 to 599.
    pub status: StatusCode,
    /// The fields of the response: without `Status`, `Content-Length`, and fields of connections.
    pub headers: Headers,
    /// The announced length of the body. To HEAD and with 304, it is that of the body that GET would give; with 204 there
    /// must not be one (RFC 9110 §8.6).
    pub content_length: Option<u64>,
}

/// Receives one response.
#[derive(Debug)]
pub struct CgiResponse {
    limits: SectionLimits,
    form: ResponseForm,
    is_head: bool,
    state: ResponseState,
}

#[derive(Debug)]
enum ResponseState {
    /// The section so far, if it did not come at once.
    Section(BytesMut, Section),
    /// A body that ends with the response.
    UntilEnd,
    Length {
        expected: u64,
        received: u64,
    },
    /// The body is complete. Bytes behind it are an excess, which has not been reported.
    Complete,
    /// The rest is dropped.
    Dropping,
    Broken(CgiError),
}

impl CgiResponse {
    /// Expects the response to a request with this method.
    #[must_use]
    pub fn new(limits: SectionLimits, form: ResponseForm, method: &Method) -> Self {
        let state = ResponseState::Section(BytesMut::new(), Section::default());
        Self { limits, form, is_head: *method == Method::HEAD, state }
    }

    /// Takes the next event from the front of a piece of the script's output; `None` needs another piece, and has taken
    /// all of this one. A section that is complete in one piece, and the body, share its memory.
    ///
    /// # Errors
    ///
    /// When the response is invalid.
    pub fn receive(&mut self, piece: &mut Bytes) -> Result<Option<CgiEvent>, CgiError> {
        if piece.is_empty() {
            return match self.state {
                ResponseState::Broken(error) => Err(error),
                _ => Ok(None),
            };
        }
        match &mut self.state {
            ResponseState::Broken(error) => Err(*error),
            ResponseState::UntilEnd => Ok(Some(CgiEvent::Data(core::mem::take(piece)))),
            ResponseState::Length { expected, received } => {
                let left = usize::try_from(*expected - *received).unwrap_or(usize::MAX);
                let data = piece.split_to(left.min(piece.len()));
                *received += data.len() as u64;
                if received == expected {
                    self.state = ResponseState::Complete;
                }
                Ok(Some(CgiEvent::Data(data)))
            }
            ResponseState::Complete => {
                piece.clear();
                self.state = ResponseState::Dropping;
                Ok(Some(CgiEvent::Excess))
            }
            ResponseState::Dropping => {
                piece.clear();
                Ok(None)
            }
            ResponseState::Section(..) => {
                let received = self.receive_section(piece);
                if let Err(error) = received {
                    self.state = ResponseState::Broken(error);
                }
                received
            }
        }
    }

    /// The script's output ended, after [`Self::receive`] returned `None`.
    ///
    /// # Errors
    ///
    /// When a part of the response is missing.
    pub fn handle_end(&mut self) -> Result<(), CgiError> {
        let error = match self.state {
            ResponseState::Section(..) => CgiError::NoSection,
            ResponseState::Length { expected, received } => CgiError::Short { expected, received },
            ResponseState::Broken(error) => error,
            ResponseState::UntilEnd | ResponseState::Complete | ResponseState::Dropping => return Ok(()),
        };
        self.state = ResponseState::Broken(error);
        Err(error)
    }

    /// Whether the whole response is known: what follows does not belong to it, whenever the output ends.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        matches!(self.state, ResponseState::Complete | ResponseState::Dropping)
    }

    /// Whether the response has no body, behind its head: that of a request with HEAD, or of a status without one.
    #[must_use]
    pub fn drops_body(&self) -> bool {
        matches!(self.state, ResponseState::Dropping)
    }

    fn receive_section(&mut self, piece: &mut Bytes) -> Result<Option<CgiEvent>, CgiError> {
        let ResponseState::Section(text, section) = &mut self.state else { return Ok(None) };
        let before = text.len();
        let text = if before == 0
            && let Some(length) = section.scan(piece, self.limits, self.form)?
        {
            piece.split_to(length)
        } else {
            // One byte beyond the limit shows that the section is longer.
            let room = (self.limits.bytes - before).saturating_add(1);
            text.extend_from_slice(&piece[..piece.len().min(room)]);
            let Some(length) = section.scan(text, self.limits, self.form)? else {
                piece.clear();
                return Ok(None);
            };
            piece.advance(length - before);
            text.split_to(length).freeze()
        };
        let head = core::mem::take(section).into_head(text)?;
        self.state = self.body_state(&head);
        Ok(Some(CgiEvent::Head(head)))
    }

    fn body_state(&self, head: &CgiHead) -> ResponseState {
        if self.is_head || !content::is_possible(head.status) {
            return ResponseState::Dropping;
        }
        match head.content_length {
            None => ResponseState::UntilEnd,
            Some(0) => ResponseState::Complete,
            Some(expected) => ResponseState::Length { expected, received: 0 },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_and_a_body_in_one_piece_are_not_copied() {
        let limits = SectionLimits { bytes: 256, fields: 8 };
        let input = Bytes::from_static(b"X-A: v\r\n\r\nbody");
        let mut piece = input.clone();
        let mut response = CgiResponse::new(limits, ResponseForm::Cgi, &Method::GET);
        let Ok(Some(CgiEvent::Head(head))) = response.receive(&mut piece) else { panic!("no head") };
        assert_eq!(head.headers.get("x-a").map(<[u8]>::as_ptr), Some(input[5..].as_ptr()));
        let Ok(Some(CgiEvent::Data(data))) = response.receive(&mut piece) else { panic!("no data") };
        assert_eq!(data.as_ptr(), input[10..].as_ptr());
    }
}
