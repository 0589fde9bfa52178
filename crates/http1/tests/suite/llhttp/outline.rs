//! The messages that are compared, from llhttp's log and from our readers.

use super::case::{Case, What};
use crate::splitter::Seen;

/// The messages that a reader finds in an input, and how it ends.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Outline {
    pub(crate) messages: Vec<Message>,
    pub(crate) end: End,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Message {
    /// Method and target, or the status; then the version.
    pub(crate) head: String,
    pub(crate) fields: Vec<String>,
    pub(crate) body: Vec<u8>,
    pub(crate) trailers: Vec<String>,
    pub(crate) complete: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum End {
    /// More may come.
    #[default]
    Open,
    /// Within a message.
    Within,
    Refused,
    /// Nothing more is read from this connection.
    Closed,
    /// The connection belongs to another protocol.
    HandedOver,
}

/// The host that is added to requests without one.
pub(crate) const HOST: &str = "Host: llhttp.test";

impl Outline {
    /// The outline by llhttp's log.
    pub(crate) fn of_log(case: &Case) -> Self {
        let mut outline = Self::default();
        let mut message = Message::default();
        let (mut method, mut url, mut in_head, mut begun) = (String::new(), String::new(), true, false);
        let (mut name, mut value) = (Vec::new(), Vec::new());
        for entry in &case.log {
            match &entry.what {
                What::Span(part, length) => {
                    begun = true;
                    let bytes = &case.input[entry.offset..entry.offset + length];
                    match &part[..] {
                        "method" => method.push_str(&String::from_utf8_lossy(bytes)),
                        "url" => url.push_str(&String::from_utf8_lossy(bytes)),
                        "header_field" => name.extend_from_slice(bytes),
                        "header_value" => value.extend_from_slice(bytes),
                        "body" => message.body.extend_from_slice(bytes),
                        _ => {}
                    }
                }
                What::Other(text) if text == "header_value complete" => {
                    let line = format!("{}: {}", name.escape_ascii(), value.trim_ascii().escape_ascii());
                    if in_head { &mut message.fields } else { &mut message.trailers }.push(line);
                    (name, value) = (Vec::new(), Vec::new());
                }
                What::HeadersComplete(text) => {
                    in_head = false;
                    let word = |name| text.split(' ').find_map(|word| word.strip_prefix(name)).unwrap_or_default();
                    let version = format!("HTTP/{}", word("v=").replace('/', "."));
                    message.head = match word("status=") {
                        "" => format!("{method} {url} {version}"),
                        status => format!("{status} {version}"),
                    };
                    outline.messages.push(message.clone());
                }
                What::Other(text) if text == "message complete" => {
                    message.complete = true;
                    begun = false;
                }
                What::Other(text) if text == "message begin" => {
                    message = Message::default();
                    (method, url, in_head, begun) = (String::new(), String::new(), true, true);
                }
                What::Error(5) => outline.end = End::Closed,
                What::Error(22 | 23) => outline.end = End::HandedOver,
                What::Error(_) => outline.end = End::Refused,
                What::Finish | What::Other(_) => {}
            }
            if !in_head && let Some(last) = outline.messages.last_mut() {
                last.clone_from(&message);
            }
        }
        if begun && outline.end == End::Open {
            outline.end = End::Within;
        }
        outline
    }

    /// The outline by one of our readers.
    pub(crate) fn of_seen(seen: &Seen) -> Self {
        let mut outline = Self::default();
        let mut ended = false;
        for line in &seen.lines {
            let Some(message) = outline.messages.last_mut().filter(|_| !is_head(line)) else {
                if line.starts_with("refused") {
                    outline.end = if line.ends_with("Incomplete") { End::Within } else { End::Refused };
                } else {
                    let words: Vec<&str> = line.split(' ').collect();
                    let length = words.iter().position(|word| word.starts_with("HTTP/")).map_or(1, |place| place + 1);
                    let complete = words.last() == Some(&"interim");
                    outline.messages.push(Message { head: words[..length].join(" "), complete, ..Message::default() });
                    (ended, outline.end) = (false, End::Within);
                }
                continue;
            };
            match &line[..] {
                "end" => ended = true,
                "reuse" => (message.complete, outline.end) = (true, End::Open),
                "close" => (message.complete, outline.end) = (true, End::Closed),
                "tunnel" => (message.complete, outline.end) = (true, End::HandedOver),
                line if line.starts_with("refused") => {
                    outline.end = if line.ends_with("Incomplete") { End::Within } else { End::Refused };
                }
                line => {
                    if let Some(field) = line.strip_prefix("- ") {
                        if field != HOST {
                            if ended { &mut message.trailers } else { &mut message.fields }.push(field.into());
                        }
                    } else if let Some(data) = line.strip_prefix("data ") {
                        message.body = unescape(data);
                    }
                }
            }
        }
        outline
    }
}

fn is_head(line: &str) -> bool {
    line.contains(" HTTP/") && !line.starts_with("- ") && !line.starts_with("data ")
}

/// Undoes `escape_ascii`.
fn unescape(text: &str) -> Vec<u8> {
    let (mut bytes, mut rest) = (Vec::new(), text.bytes());
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'\\' => match rest.next() {
                Some(b'r') => b'\r',
                Some(b'n') => b'\n',
                Some(b't') => b'\t',
                Some(b'x') => {
                    let digits: String = rest.by_ref().take(2).map(char::from).collect();
                    u8::from_str_radix(&digits, 16).expect("two digits")
                }
                other => other.expect("something escaped"),
            },
            byte => byte,
        });
    }
    bytes
}
