//! Responses, as clients get them.

use serow::{Headers, Response};

/// A response as its client gets it.
#[derive(Debug)]
pub(super) struct Received {
    pub(super) status: u16,
    fields: Vec<(String, String)>,
    pub(super) body: String,
}

impl Received {
    pub(super) fn new(status: u16, headers: &Headers, body: &[u8]) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let fields = headers.iter().map(|(name, value)| (text(name).to_ascii_lowercase(), text(value))).collect();
        Self { status, fields, body: text(body) }
    }

    pub(super) fn value(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(other, _)| other == name).map(|(_, value)| &**value)
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.value(name).is_some()
    }
}

/// Reads the response of a handler.
pub(super) async fn received(mut response: Response) -> Received {
    let mut body = Vec::new();
    while let Some(Ok(piece)) = response.body.chunk().await {
        body.extend_from_slice(&piece);
    }
    Received::new(response.status.as_u16(), &response.headers, &body)
}
