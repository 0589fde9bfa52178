//! The interface of a state machine for the exchanges of its connection.

use std::fmt::Display;

use serow_message::{BodyLength, Headers, Priority, ResponseHead, StatusCode, UsageError};
use serow_streams::{Counters, Follows, StreamId};

use crate::status;

/// A state machine of HTTP/2 or HTTP/3. `serow_http2::Server` has the documentation of the methods.
pub(crate) trait Machine {
    /// Why a stream is reset.
    type Code: Copy + Display;

    /// The stream is no longer needed.
    const CANCEL: Self::Code;
    /// The server has made a mistake.
    const INTERNAL_ERROR: Self::Code;

    /// The most bytes that stand before the content of a frame of data.
    const DATA_HEADER: usize;

    /// Whether the peer violated the protocol within the stream.
    fn is_malformed(code: Self::Code) -> bool;

    /// The counter of requests of this version.
    fn requests(counters: &status::Counters) -> &status::Counter;

    /// The counters of its streams.
    fn streams(counters: &status::Counters) -> &status::StreamCounters;

    fn send_head(
        &mut self,
        stream: StreamId,
        status: StatusCode,
        headers: Headers,
        length: BodyLength,
    ) -> Result<bool, UsageError>;
    fn send_informational(&mut self, stream: StreamId, head: &ResponseHead) -> Result<(), UsageError>;
    fn awaits_continue(&self, stream: StreamId) -> bool;
    fn send_continue(&mut self, stream: StreamId);
    fn has_sent_length(&self, stream: StreamId) -> bool;
    fn set_ready(&mut self, stream: StreamId, ready: bool);
    fn write_head(&mut self, stream: StreamId, date: &[u8], output: &mut Vec<u8>) -> Result<Follows, UsageError>;
    fn write_data(
        &mut self,
        stream: StreamId,
        data: &[u8],
        end: bool,
        output: &mut Vec<u8>,
    ) -> Result<Follows, UsageError>;
    fn begin_data(
        &mut self,
        stream: StreamId,
        length: usize,
        end: bool,
        output: &mut Vec<u8>,
    ) -> Result<Follows, UsageError>;
    fn write_trailers(
        &mut self,
        stream: StreamId,
        trailers: &Headers,
        output: &mut Vec<u8>,
    ) -> Result<Follows, UsageError>;
    fn note_consumed(&mut self, stream: StreamId, bytes: usize);
    fn abandon_body(&mut self, stream: StreamId);
    fn reset(&mut self, stream: StreamId, code: Self::Code);
    fn priority(&self, stream: StreamId) -> Priority;
    fn has_said_priority(&self, stream: StreamId) -> bool;
    fn waits_for_window(&self, stream: StreamId) -> bool;
    fn active_streams(&self) -> usize;
    fn counters(&self) -> Counters;
}

/// Implements the methods by those of the same name.
macro_rules! delegate {
    ($machine:ty) => {
        #[inline]
        fn send_head(
            &mut self,
            stream: StreamId,
            status: StatusCode,
            headers: Headers,
            length: BodyLength,
        ) -> Result<bool, UsageError> {
            <$machine>::send_head(self, stream, status, headers, length)
        }

        fn send_informational(&mut self, stream: StreamId, head: &ResponseHead) -> Result<(), UsageError> {
            <$machine>::send_informational(self, stream, head)
        }

        fn awaits_continue(&self, stream: StreamId) -> bool {
            <$machine>::awaits_continue(self, stream)
        }

        fn send_continue(&mut self, stream: StreamId) {
            <$machine>::send_continue(self, stream);
        }

        fn has_sent_length(&self, stream: StreamId) -> bool {
            <$machine>::has_sent_length(self, stream)
        }

        #[inline]
        fn set_ready(&mut self, stream: StreamId, ready: bool) {
            <$machine>::set_ready(self, stream, ready);
        }

        fn abandon_body(&mut self, stream: StreamId) {
            <$machine>::abandon_body(self, stream);
        }

        fn reset(&mut self, stream: StreamId, code: Self::Code) {
            <$machine>::reset(self, stream, code);
        }

        #[inline]
        fn priority(&self, stream: StreamId) -> Priority {
            <$machine>::priority(self, stream)
        }

        fn has_said_priority(&self, stream: StreamId) -> bool {
            <$machine>::has_said_priority(self, stream)
        }

        fn waits_for_window(&self, stream: StreamId) -> bool {
            <$machine>::waits_for_window(self, stream)
        }

        fn active_streams(&self) -> usize {
            <$machine>::active_streams(self)
        }

        fn counters(&self) -> Counters {
            <$machine>::counters(self)
        }
    };
}

#[cfg(feature = "http2")]
impl Machine for serow_http2::Server {
    type Code = serow_http2::ErrorCode;

    const CANCEL: serow_http2::ErrorCode = serow_http2::ErrorCode::CANCEL;
    const INTERNAL_ERROR: serow_http2::ErrorCode = serow_http2::ErrorCode::INTERNAL_ERROR;
    /// RFC 9113 §4.1.
    const DATA_HEADER: usize = 9;

    fn is_malformed(code: serow_http2::ErrorCode) -> bool {
        code == serow_http2::ErrorCode::PROTOCOL_ERROR
    }

    fn requests(counters: &status::Counters) -> &status::Counter {
        &counters.requests_http2
    }

    fn streams(counters: &status::Counters) -> &status::StreamCounters {
        &counters.streams_http2
    }

    #[inline]
    fn write_head(&mut self, stream: StreamId, date: &[u8], output: &mut Vec<u8>) -> Result<Follows, UsageError> {
        Self::write_head(self, stream, date, output).map(|()| Follows::More)
    }

    #[inline]
    fn write_data(
        &mut self,
        stream: StreamId,
        data: &[u8],
        end: bool,
        output: &mut Vec<u8>,
    ) -> Result<Follows, UsageError> {
        Self::write_data(self, stream, data, end, output).map(|()| Follows::More)
    }

    #[inline]
    fn begin_data(
        &mut self,
        stream: StreamId,
        length: usize,
        end: bool,
        output: &mut Vec<u8>,
    ) -> Result<Follows, UsageError> {
        Self::begin_data(self, stream, length, end, output).map(|()| Follows::More)
    }

    fn write_trailers(
        &mut self,
        stream: StreamId,
        trailers: &Headers,
        output: &mut Vec<u8>,
    ) -> Result<Follows, UsageError> {
        Self::write_trailers(self, stream, trailers, output).map(|()| Follows::More)
    }

    #[inline]
    fn note_consumed(&mut self, stream: StreamId, bytes: usize) {
        Self::note_consumed(self, stream, bytes);
    }

    delegate!(serow_http2::Server);
}

#[cfg(feature = "http3")]
impl Machine for serow_http3::Server {
    type Code = serow_http3::ErrorCode;

    const CANCEL: serow_http3::ErrorCode = serow_http3::ErrorCode::REQUEST_CANCELLED;
    const INTERNAL_ERROR: serow_http3::ErrorCode = serow_http3::ErrorCode::INTERNAL_ERROR;
    /// RFC 9114 §7.1: the type in one byte, and the length in two, where it is below 16,384.
    const DATA_HEADER: usize = 3;

    fn is_malformed(code: serow_http3::ErrorCode) -> bool {
        code == serow_http3::ErrorCode::MESSAGE_ERROR
    }

    fn requests(counters: &status::Counters) -> &status::Counter {
        &counters.requests_http3
    }

    fn streams(counters: &status::Counters) -> &status::StreamCounters {
        &counters.streams_http3
    }

    #[inline]
    fn write_head(&mut self, stream: StreamId, date: &[u8], output: &mut Vec<u8>) -> Result<Follows, UsageError> {
        Self::write_head(self, stream, date, output)
    }

    #[inline]
    fn write_data(
        &mut self,
        stream: StreamId,
        data: &[u8],
        end: bool,
        output: &mut Vec<u8>,
    ) -> Result<Follows, UsageError> {
        self.write_data(stream, data, end, output)
    }

    #[inline]
    fn begin_data(
        &mut self,
        stream: StreamId,
        length: usize,
        end: bool,
        output: &mut Vec<u8>,
    ) -> Result<Follows, UsageError> {
        self.begin_data(stream, length, end, output)
    }

    fn write_trailers(
        &mut self,
        stream: StreamId,
        trailers: &Headers,
        output: &mut Vec<u8>,
    ) -> Result<Follows, UsageError> {
        self.write_trailers(stream, trailers, output)
    }

    /// QUIC's windows open as its streams are read.
    fn note_consumed(&mut self, _: StreamId, _: usize) {}

    delegate!(serow_http3::Server);
}
