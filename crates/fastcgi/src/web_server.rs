//! The web server's side of a FastCGI connection, during one exchange.

use alloc::vec::Vec;

use bytes::{Bytes, BytesMut};
use serow_message::UsageError;

use crate::{
    Persistence, ProtocolError, ProtocolStatus, Role, Variables, VariablesError,
    begin_request::encode_begin_request,
    end_request::{END_REQUEST_LENGTH, decode_end_request},
    pairs::{pair_length, write_pair},
    record::{MAX_PIECE_LENGTH, RECORD_HEADER_LENGTH, RecordHeader, RecordType},
    record_reader::{RecordReader, Shape},
};

/// Sends one request and receives the response.
///
/// Requests are never multiplexed: php-fpm says that it cannot (`FCGI_MPXS_CONNS` is 0), and libraries lose data then. A
/// kept connection has one exchange after the other, each with a state of its own.
///
/// The application may respond, and end the request, before it has received all of the body.
#[derive(Debug)]
pub struct WebServer {
    persistence: Persistence,
    sending: Sending,
    receiving: Receiving,
}

/// A message of the application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResponseEvent {
    /// A piece of the response: the bytes of a CGI response, see [`CgiResponse`](crate::CgiResponse).
    Stdout(Bytes),
    /// A piece of an error message.
    Stderr(Bytes),
    /// The request has ended. The application may still be busy with it, and with php-fpm this number is always 0: errors
    /// are statuses of the response.
    End {
        /// As the exit code of a CGI program.
        application_status: u32,
    },
}

/// The stream that is being sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sending {
    /// The body of a request in this role.
    Stdin(Role),
    /// The file of a filter.
    Data,
    Done,
}

#[derive(Debug)]
enum Receiving {
    Response(RecordReader),
    Done,
    /// The application broke a rule. Nothing behind that is looked at.
    Broken(ProtocolError),
}

impl WebServer {
    /// Writes the beginning of a request: BEGIN_REQUEST and all PARAMS.
    ///
    /// A record has whole pairs: php-fpm resets the connection if a pair spans two.
    ///
    /// # Errors
    ///
    /// A variable longer than [`MAX_PAIR_LENGTH`]: nothing was written.
    pub fn begin_request(
        role: Role,
        persistence: Persistence,
        variables: &Variables,
        output: &mut Vec<u8>,
    ) -> Result<Self, VariablesError> {
        let pairs = variables.iter().map(|(name, value)| (name, pair_length(name, value)));
        if let Some((name, length)) = pairs.into_iter().find(|(_, length)| *length > MAX_PAIR_LENGTH) {
            return Err(VariablesError::too_long(name, length));
        }
        let content = encode_begin_request(role, persistence);
        write_header(RecordType::BeginRequest, content.len(), output);
        output.extend_from_slice(&content);
        write_params(variables, output);
        // FastCGI 1.0 §6.3: an authorizer has no body.
        let sending = if role == Role::Authorizer { Sending::Done } else { Sending::Stdin(role) };
        Ok(Self { persistence, sending, receiving: Receiving::Response(RecordReader::default()) })
    }

    /// Writes the header of a record for the next bytes of the body, or of a filter's file behind that. Returns how many
    /// belong to the record, at most `available`; the caller sends them behind the header, without a copy.
    ///
    /// # Errors
    ///
    /// When all has been sent already.
    pub fn begin_piece(&mut self, available: usize, output: &mut Vec<u8>) -> Result<usize, UsageError> {
        let stream = self.stream()?;
        let length = available.min(MAX_PIECE_LENGTH);
        // A record without content would end the stream.
        if length > 0 {
            write_header(stream, length, output);
        }
        Ok(length)
    }

    /// Writes the end of the body, or of a filter's file behind that.
    ///
    /// # Errors
    ///
    /// When all has been sent already.
    pub fn end_stream(&mut self, output: &mut Vec<u8>) -> Result<(), UsageError> {
        write_header(self.stream()?, 0, output);
        self.sending = match self.sending {
            Sending::Stdin(Role::Filter) => Sending::Data,
            _ => Sending::Done,
        };
        Ok(())
    }

    /// Writes the request to abort the exchange, to which the application responds with its end. php-fpm ignores it while
    /// a script runs: to close the connection is more certain.
    pub fn send_abort(&mut self, output: &mut Vec<u8>) {
        write_header(RecordType::AbortRequest, 0, output);
        self.sending = Sending::Done;
        // The other end does not know how much of the request there is.
        self.persistence = Persistence::Close;
    }

    /// Takes the next event from the front of the input; `None` needs more.
    ///
    /// # Errors
    ///
    /// When the application violates the protocol or refuses the request, also for bytes behind the end.
    pub fn receive(&mut self, input: &mut BytesMut) -> Result<Option<ResponseEvent>, ProtocolError> {
        let received = match &mut self.receiving {
            Receiving::Broken(error) => Err(*error),
            Receiving::Done if input.is_empty() => Ok(None),
            Receiving::Done => Err(ProtocolError::AfterEnd),
            Receiving::Response(reader) => receive_response(reader, input),
        };
        match &received {
            Ok(Some(ResponseEvent::End { .. })) => self.receiving = Receiving::Done,
            Ok(_) => {}
            Err(error) => self.receiving = Receiving::Broken(*error),
        }
        received
    }

    /// The connection ended, after [`Self::receive`] returned `None`.
    ///
    /// # Errors
    ///
    /// When the request has not ended.
    pub fn handle_end(&mut self) -> Result<(), ProtocolError> {
        match self.receiving {
            Receiving::Done => Ok(()),
            Receiving::Broken(error) => Err(error),
            Receiving::Response(_) => {
                self.receiving = Receiving::Broken(ProtocolError::Incomplete);
                Err(ProtocolError::Incomplete)
            }
        }
    }

    /// Whether all of the request has been sent.
    #[must_use]
    pub fn has_sent_all(&self) -> bool {
        self.sending == Sending::Done
    }

    /// Whether the connection can have another exchange; `input` is what is left of the input.
    #[must_use]
    pub fn can_reuse(&self, input: &[u8]) -> bool {
        let is_over = self.has_sent_all() && matches!(self.receiving, Receiving::Done) && input.is_empty();
        is_over && self.persistence == Persistence::Keep
    }

    fn stream(&self) -> Result<RecordType, UsageError> {
        match self.sending {
            Sending::Stdin(_) => Ok(RecordType::Stdin),
            Sending::Data => Ok(RecordType::Data),
            Sending::Done => Err(UsageError::OutOfTurn),
        }
    }
}

fn receive_response(reader: &mut RecordReader, input: &mut BytesMut) -> Result<Option<ResponseEvent>, ProtocolError> {
    while let Some((header, content)) = reader.receive(input, judge)? {
        let event = match header.record_type {
            number if number == RecordType::EndRequest as u8 => end(header, &content)?,
            // The end of a stream says nothing that the end of the request does not say.
            _ if content.is_empty() => continue,
            number if number == RecordType::Stderr as u8 => ResponseEvent::Stderr(content),
            _ => ResponseEvent::Stdout(content),
        };
        return Ok(Some(event));
    }
    Ok(None)
}

fn judge(header: RecordHeader) -> Result<Shape, ProtocolError> {
    let number = header.record_type;
    let shape = match RecordType::of_number(number) {
        Some(RecordType::Stdout | RecordType::Stderr) => Shape::Stream,
        Some(RecordType::EndRequest) => Shape::Whole,
        _ => return Err(ProtocolError::UnexpectedRecord(number)),
    };
    if header.request_id != FIRST_REQUEST {
        return Err(ProtocolError::OtherRequest(header.request_id));
    }
    if shape == Shape::Whole && usize::from(header.content_length) != END_REQUEST_LENGTH {
        return Err(ProtocolError::RecordLength(number));
    }
    Ok(shape)
}

fn end(header: RecordHeader, content: &[u8]) -> Result<ResponseEvent, ProtocolError> {
    let content = content.first_chunk().ok_or(ProtocolError::RecordLength(header.record_type))?;
    match decode_end_request(*content) {
        (application_status, ProtocolStatus::RequestComplete) => Ok(ResponseEvent::End { application_status }),
        (_, status) => Err(ProtocolError::Refused(status)),
    }
}

/// Writes records with as many pairs as there is room for, and the end of the stream.
fn write_params(variables: &Variables, output: &mut Vec<u8>) {
    let mut record = output.len();
    write_header(RecordType::Params, 0, output);
    for (name, value) in variables.iter() {
        let begun = output.len() - record - RECORD_HEADER_LENGTH;
        if begun + pair_length(name, value) > MAX_PIECE_LENGTH {
            set_length(record, output);
            record = output.len();
            write_header(RecordType::Params, 0, output);
        }
        write_pair(name, value, output);
    }
    if set_length(record, output) > 0 {
        write_header(RecordType::Params, 0, output);
    }
}

/// Sets the length of the record that began there and ends with the output.
fn set_length(record: usize, output: &mut [u8]) -> usize {
    let length = output.len() - record - RECORD_HEADER_LENGTH;
    let header = RecordHeader::new(RecordType::Params, FIRST_REQUEST, length as u16);
    output[record..record + RECORD_HEADER_LENGTH].copy_from_slice(&header.encode());
    length
}

/// Writes the header of a record with at most [`MAX_PIECE_LENGTH`] bytes, without padding.
fn write_header(record_type: RecordType, length: usize, output: &mut Vec<u8>) {
    output.extend_from_slice(&RecordHeader::new(record_type, FIRST_REQUEST, length as u16).encode());
}

/// The most bytes of a variable with its lengths. A pair must fit into one record; PHP 8.2's FPM resets the connection if a
/// value has more than about 65,520 bytes.
pub const MAX_PAIR_LENGTH: usize = 65_500;

/// The id of all requests, since a connection has one at a time.
pub const FIRST_REQUEST: u16 = 1;

#[cfg(test)]
mod tests;
