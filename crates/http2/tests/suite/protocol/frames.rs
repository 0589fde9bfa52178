//! The two ends of a conversation in lines: what the client sends, and what it sees of the server's frames.

use std::ops::ControlFlow;

use bytes::BytesMut;
use serow_http2::{
    Server, StreamId,
    frame::{self, Frame},
    hpack::Decoder,
};
use serow_streams::Follows;

use crate::machine::script::{Pieces, Reading, Speaking, Talk, describe_data};

/// The client's look at the server's frames.
pub(crate) struct Reader {
    decoder: Decoder,
    output: BytesMut,
}

impl Default for Reader {
    fn default() -> Self {
        Self { decoder: Decoder::new(4096), output: BytesMut::new() }
    }
}

impl Speaking for Talk {
    fn say_all(&mut self, lines: &[&str], pieces: Pieces) {
        for line in lines {
            let bytes = self.writer.encode(line);
            let size = if pieces == Pieces::Bytes { 1 } else { bytes.len().max(1) };
            bytes.chunks(size).for_each(|piece| self.feed(piece));
        }
    }
}

impl Talk {
    /// Gives bytes to the server, and takes what it has to say.
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        self.writer.input.extend_from_slice(bytes);
        while self.error.is_none() {
            match self.server.receive(&mut self.writer.input, self.now) {
                Ok(None) => break,
                Ok(Some(event)) => self.note(&event),
                Err(error) => {
                    let again = self.server.receive(&mut self.writer.input, self.now);
                    assert_eq!(again.err(), Some(error), "told again");
                    self.fail(error);
                }
            }
        }
        self.drain();
    }
}

impl Reading for Reader {
    fn read(&mut self, _: StreamId, output: &[u8], _: Follows) -> Vec<String> {
        self.output.extend_from_slice(output);
        let mut lines = Vec::new();
        while let Some(frame) = frame::take(&mut self.output, 1 << 20).expect("a frame that is right") {
            lines.push(self.describe(frame));
        }
        assert!(self.output.is_empty(), "a part of a frame");
        lines
    }

    fn drain(&mut self, server: &mut Server) -> Vec<String> {
        let mut output = Vec::new();
        server.write_control(&mut output);
        assert!(!server.has_control());
        self.read(StreamId::CONNECTION, &output, Follows::More)
    }
}

impl Reader {
    fn describe(&mut self, frame: Frame) -> String {
        let end = |end: bool| if end { " end" } else { "" };
        match frame {
            Frame::Headers { stream, block, end_stream, end_headers, .. } => {
                assert!(end_headers, "not in these tests");
                let mut line = format!("HEADERS {stream}{}", end(end_stream));
                let decoded = self.decoder.decode(&block, |field| {
                    line += &format!(" | {}: {}", field.name.escape_ascii(), field.value.escape_ascii());
                    ControlFlow::Continue(())
                });
                decoded.expect("a block that is right");
                line
            }
            Frame::Data { stream, data, end_stream, .. } => describe_data(stream, end(end_stream), &data),
            Frame::ResetStream { stream, code } => format!("RST_STREAM {stream} {code}"),
            Frame::Settings { settings } => {
                settings.iter().fold("SETTINGS".into(), |line, (key, value)| format!("{line} {key}={value}"))
            }
            Frame::SettingsAck => "SETTINGS ack".into(),
            Frame::Ping { payload, ack } => {
                format!("PING{} {}", if ack { " ack" } else { "" }, payload.escape_ascii())
            }
            Frame::GoAway { last_stream, code, .. } => format!("GOAWAY {last_stream} {code}"),
            Frame::WindowUpdate { stream, increment } => format!("WINDOW_UPDATE {stream} {increment}"),
            other => format!("{other:?}"),
        }
    }
}
