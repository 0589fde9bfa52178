//! Writes multi-status responses (RFC 4918 §13).

use std::fmt::Write;

use serow_message::{StatusCode, percent::encode_path};

use crate::element::escape;

/// The text of a multi-status response, or of a piece of it.
#[derive(Debug, Default)]
pub(crate) struct Multistatus {
    text: String,
}

impl Multistatus {
    /// Writes the beginning.
    pub(crate) fn begin(&mut self) {
        self.text.push_str("<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<D:multistatus xmlns:D=\"DAV:\">\n");
    }

    /// Writes the status of a resource.
    pub(crate) fn status(&mut self, path: &[u8], status: StatusCode) {
        self.begin_response(path);
        self.write_status(status);
        self.end_response();
    }

    /// Begins the properties of a resource.
    pub(crate) fn begin_response(&mut self, path: &[u8]) {
        self.text.push_str("<D:response><D:href>");
        self.text.push_str(&encoded(path));
        self.text.push_str("</D:href>");
    }

    /// Writes properties with their status; nothing if there are none.
    pub(crate) fn properties(&mut self, properties: &str, status: StatusCode) {
        if !properties.is_empty() {
            self.text.push_str("<D:propstat><D:prop>");
            self.text.push_str(properties);
            self.text.push_str("</D:prop>");
            self.write_status(status);
            self.text.push_str("</D:propstat>");
        }
    }

    /// As [`Self::properties`], with the condition of RFC 4918 §16 that is not fulfilled.
    pub(crate) fn refused_properties(&mut self, properties: &str, status: StatusCode, condition: &str) {
        self.properties(properties, status);
        let end = "</D:propstat>";
        if self.text.ends_with(end) && !condition.is_empty() {
            self.text.truncate(self.text.len() - end.len());
            let _ = write!(self.text, "<D:error><D:{condition}/></D:error>{end}");
        }
    }

    /// Ends a resource.
    pub(crate) fn end_response(&mut self) {
        self.text.push_str("</D:response>\n");
    }

    /// Writes the end.
    pub(crate) fn end(&mut self) {
        self.text.push_str("</D:multistatus>\n");
    }

    /// Bytes that it has.
    pub(crate) fn len(&self) -> usize {
        self.text.len()
    }

    /// The text.
    pub(crate) fn into_text(self) -> String {
        self.text
    }

    fn write_status(&mut self, status: StatusCode) {
        let reason = status.canonical_reason().unwrap_or("Unknown");
        let _ = write!(self.text, "<D:status>HTTP/1.1 {} {reason}</D:status>", status.as_str());
    }
}

/// A path as it is in an `href`.
pub(crate) fn encoded(path: &[u8]) -> String {
    let mut encoded = Vec::with_capacity(path.len());
    encode_path(path, &mut encoded);
    let mut text = String::with_capacity(encoded.len());
    escape(&String::from_utf8_lossy(&encoded), &mut text);
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::Element;

    #[test]
    fn a_written_document_is_well_formed() {
        let mut writer = Multistatus::default();
        writer.begin();
        writer.status("/a b&<ä".as_bytes(), StatusCode::LOCKED);
        writer.begin_response(b"/b/");
        writer.properties("<D:a/>", StatusCode::OK);
        writer.properties("", StatusCode::NOT_FOUND);
        writer.refused_properties("<D:b/>", StatusCode::FORBIDDEN, "cannot-modify-protected-property");
        writer.end_response();
        writer.end();
        let text = writer.into_text();
        Element::parse(text.as_bytes()).unwrap();
        for part in [
            "<D:href>/a%20b%26%3C%C3%A4</D:href><D:status>HTTP/1.1 423 Locked</D:status>",
            "<D:href>/b/</D:href><D:propstat><D:prop><D:a/></D:prop><D:status>HTTP/1.1 200 OK</D:status></D:propstat>",
            "<D:error><D:cannot-modify-protected-property/></D:error></D:propstat></D:response>",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
    }
}
