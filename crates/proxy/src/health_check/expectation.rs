//! The expected response of a check: status, header fields, body.

use serow_message::ResponseHead;

use super::error::CheckError;
use crate::settings::HttpCheck;

/// The part of the expectation that is not met yet.
pub(super) struct Expectation<'a> {
    check: &'a HttpCheck,
    /// As much of the body as has come, and is looked at.
    body: Vec<u8>,
}

/// How far the matter is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// All was seen, and is good.
    Good,
    /// The body is to be looked at.
    Unfinished,
}

impl<'a> Expectation<'a> {
    pub(super) fn new(check: &'a HttpCheck) -> Self {
        Self { check, body: Vec::new() }
    }

    /// The head came.
    pub(super) fn handle_head(&self, head: &ResponseHead) -> Result<Progress, CheckError> {
        let status = head.status.as_u16();
        if !self.check.expect.iter().any(|range| range.contains(&status)) {
            return Err(CheckError::Status(head.status, self.check.expect.clone()));
        }
        if let Some((name, value)) = &self.check.header {
            let has = |found: &[u8]| value.as_ref().is_none_or(|value| found == value.as_bytes());
            if !head.headers.get_all(name.as_str()).any(has) {
                return Err(CheckError::Header(name.clone(), value.clone()));
            }
        }
        Ok(if self.check.body.is_some() { Progress::Unfinished } else { Progress::Good })
    }

    /// A piece of the body came.
    pub(super) fn handle_data(&mut self, data: &[u8]) -> Result<Progress, CheckError> {
        let Some(text) = &self.check.body else { return Ok(Progress::Good) };
        // The text may have begun in the piece before.
        let from = self.body.len().saturating_sub(text.len().saturating_sub(1));
        let room = MAX_BODY - self.body.len();
        self.body.extend_from_slice(data.get(..room).unwrap_or(data));
        let unseen = self.body.get(from..).unwrap_or_default();
        if text.is_empty() || unseen.windows(text.len()).any(|window| window == text.as_bytes()) {
            return Ok(Progress::Good);
        }
        if self.body.len() == MAX_BODY { Err(CheckError::Body(text.clone())) } else { Ok(Progress::Unfinished) }
    }

    /// The body is over.
    pub(super) fn handle_end(&self) -> Result<(), CheckError> {
        match &self.check.body {
            Some(text) if !text.is_empty() => Err(CheckError::Body(text.clone())),
            _ => Ok(()),
        }
    }
}

/// The maximum of a body that is searched: status pages are smaller, and an endless one must not fill the memory.
const MAX_BODY: usize = 64 * 1024;

#[cfg(test)]
mod tests {
    use serow_message::{Headers, StatusCode, Version};

    use super::*;

    fn head(status: u16, fields: &[(&str, &str)]) -> ResponseHead {
        let mut headers = Headers::new();
        for (name, value) in fields {
            headers.append(*name, value).unwrap();
        }
        ResponseHead { version: Version::HTTP_11, status: StatusCode::from_u16(status).unwrap(), headers }
    }

    #[test]
    fn heads() {
        let header = |value: Option<&str>| Some(("X-Alive".to_owned(), value.map(str::to_owned)));
        let cases = [
            (200, vec![], None, None),
            (399, vec![], None, None),
            (199, vec![], None, Some("status 199 instead of 200 to 399")),
            (400, vec![], None, Some("status 400 instead of 200 to 399")),
            (200, vec![("x-alive", "yes")], header(None), None),
            (200, vec![("x-alive", "no"), ("x-alive", "yes")], header(Some("yes")), None),
            (
                200,
                vec![("x-alive", "no")],
                header(Some("yes")),
                Some("the response lacks the header field X-Alive: yes"),
            ),
            (200, vec![], header(None), Some("the response lacks the header field X-Alive")),
        ];
        for (status, fields, header, failure) in cases {
            let check = HttpCheck { header, ..HttpCheck::default() };
            let found = Expectation::new(&check).handle_head(&head(status, &fields));
            assert_eq!(found.err().map(|failure| failure.to_string()).as_deref(), failure, "{status} {fields:?}");
        }
    }

    #[test]
    fn bodies() {
        let long = "a".repeat(MAX_BODY);
        let cases: [(&str, &[&str], bool); 8] = [
            ("alive", &["it is alive"], true),
            ("alive", &["it is al", "ive"], true),
            ("alive", &["a", "l", "i", "v", "e"], true),
            ("alive", &["it is dead"], false),
            ("alive", &[], false),
            ("", &[], true),
            ("alive", &[&long[..MAX_BODY - 5], "alive"], true),
            // Beyond the searched part.
            ("alive", &[&long[..MAX_BODY - 4], "alive"], false),
        ];
        for (text, pieces, good) in cases {
            let check = HttpCheck { body: Some(text.to_owned()), ..HttpCheck::default() };
            let mut expectation = Expectation::new(&check);
            assert!(matches!(expectation.handle_head(&head(200, &[])), Ok(Progress::Unfinished)));
            let mut found = None;
            for piece in pieces {
                match expectation.handle_data(piece.as_bytes()) {
                    Ok(Progress::Unfinished) => {}
                    Ok(Progress::Good) => found = Some(true),
                    Err(_) => found = Some(false),
                }
                if found.is_some() {
                    break;
                }
            }
            assert_eq!(
                found.unwrap_or_else(|| expectation.handle_end().is_ok()),
                good,
                "{text}, {} pieces",
                pieces.len()
            );
        }
    }
}
