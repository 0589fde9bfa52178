//! The events of a server as text; the same for HTTP/2 and HTTP/3.

use std::fmt::{Display, Write as _};

use bytes::Bytes;
use serow_message::Headers;
use serow_streams::Event;

/// A line for an event.
pub(crate) fn describe<Code: Display>(event: &Event<Code>) -> String {
    let data = |data: &Bytes| {
        if data.len() > 40 { format!("size {}", data.len()) } else { data.escape_ascii().to_string() }
    };
    match event {
        Event::Request(request) => {
            let head = &request.head;
            let mut line = format!("request {} {} {}", request.stream, head.method, head.target);
            for (set, word) in [(request.has_body, " body"), (request.protocol.is_some(), " protocol")] {
                line.push_str(if set { word } else { "" });
            }
            if let (true, Some(length)) = (request.has_body, request.length) {
                let _ = write!(line, " {length}");
            }
            fields(&head.headers, &mut line);
            line
        }
        Event::Refused { stream, status, .. } => format!("refused {stream} {}", status.as_u16()),
        Event::Data { stream, data: bytes } => format!("data {stream} {}", data(bytes)),
        Event::End { stream, trailers } => {
            let mut line = format!("end {stream}");
            trailers.iter().for_each(|trailers| fields(trailers, &mut line));
            line
        }
        Event::Reset { stream, code } => format!("reset {stream} {code}"),
        Event::GoAway { code } => format!("goaway {code}"),
    }
}

fn fields(headers: &Headers, line: &mut String) {
    for (name, value) in headers {
        let _ = write!(line, " | {}: {}", name.escape_ascii(), value.escape_ascii());
    }
}
