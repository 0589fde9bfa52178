//! The application's side of a FastCGI connection: one request after the other.

use alloc::vec::Vec;

use bytes::{Bytes, BytesMut};
use serow_message::UsageError;

use crate::{
    Persistence, ProtocolError, ProtocolStatus, Role, Variables,
    begin_request::{BEGIN_REQUEST_LENGTH, decode_begin_request},
    end_request::encode_end_request,
    pairs::{parse_pairs, write_pair},
    record::{MANAGEMENT, MAX_PIECE_LENGTH, RecordHeader, RecordType, write_record},
    record_reader::{RecordReader, Shape},
};

/// Receives requests and sends responses.
#[derive(Debug)]
pub struct Application {
    /// Bytes of PARAMS per request: a web server that never ends them would fill the memory.
    max_params: usize,
    reader: RecordReader,
    state: RequestState,
}

/// A message of the web server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequestEvent {
    /// A request with all of its variables.
    Head(FastcgiRequest),
    /// A piece of the body.
    Stdin(Bytes),
    /// The end of the body.
    StdinEnd,
    /// A piece of a filter's file.
    Data(Bytes),
    /// The end of a filter's file.
    DataEnd,
    /// The request is to be ended as soon as possible; its head may be missing.
    Abort,
    /// The web server asks for these variables: see [`Application::send_values`].
    GetValues(Variables),
    /// A management record of this type, which does not exist: see [`Application::send_unknown_type`].
    UnknownType(u8),
}

/// A request but for its body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FastcgiRequest {
    /// The part of the application.
    pub role: Role,
    /// The connection after the request.
    pub persistence: Persistence,
    /// The variables.
    pub variables: Variables,
}

#[derive(Debug)]
enum RequestState {
    /// No request: streams of the last one are ignored (FastCGI 1.0 §3.3), since the response may end before them.
    Idle,
    Params {
        id: u16,
        role: Role,
        persistence: Persistence,
        params: Vec<u8>,
    },
    /// The request is being handled, and this of it is to come.
    Request {
        id: u16,
        awaited: Awaited,
    },
    Broken(ProtocolError),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Awaited {
    /// The body, and a file behind it if the role is that of a filter.
    Stdin(Role),
    Data,
    Nothing,
}

impl Application {
    /// The state of a new connection. A request has at most `max_params` bytes of variables.
    #[must_use]
    pub fn new(max_params: usize) -> Self {
        Self { max_params, reader: RecordReader::default(), state: RequestState::Idle }
    }

    /// Takes the next event from the front of the input; `None` needs more.
    ///
    /// # Errors
    ///
    /// When the web server violates the protocol, multiplexes requests, or sends too many variables.
    pub fn receive(&mut self, input: &mut BytesMut) -> Result<Option<RequestEvent>, ProtocolError> {
        if let RequestState::Broken(error) = self.state {
            return Err(error);
        }
        let received = self.receive_event(input);
        if let Err(error) = received {
            self.state = RequestState::Broken(error);
        }
        received
    }

    /// The connection ended, after [`Self::receive`] returned `None`; `input` is what is left of the input. A web server may
    /// close its sending side as soon as all of the request is sent.
    ///
    /// # Errors
    ///
    /// When a part of a request or of a record is missing.
    pub fn handle_end(&self, input: &[u8]) -> Result<(), ProtocolError> {
        let is_between = matches!(self.reader, RecordReader::Between) && input.is_empty();
        match self.state {
            RequestState::Broken(error) => Err(error),
            RequestState::Idle | RequestState::Request { awaited: Awaited::Nothing, .. } if is_between => Ok(()),
            _ => Err(ProtocolError::Incomplete),
        }
    }

    /// Writes a piece of the response.
    ///
    /// # Errors
    ///
    /// When there is no request.
    pub fn send_stdout(&mut self, bytes: &[u8], output: &mut Vec<u8>) -> Result<(), UsageError> {
        self.send_stream(RecordType::Stdout, bytes, output)
    }

    /// Writes an error message.
    ///
    /// # Errors
    ///
    /// When there is no request.
    pub fn send_stderr(&mut self, bytes: &[u8], output: &mut Vec<u8>) -> Result<(), UsageError> {
        self.send_stream(RecordType::Stderr, bytes, output)
    }

    /// Writes the end of the request. The rest of its body is ignored.
    ///
    /// # Errors
    ///
    /// When there is no request.
    pub fn send_end(
        &mut self,
        application_status: u32,
        status: ProtocolStatus,
        output: &mut Vec<u8>,
    ) -> Result<(), UsageError> {
        let id = self.request_id()?;
        write_record(RecordType::EndRequest, id, &encode_end_request(application_status, status), output);
        self.state = RequestState::Idle;
        Ok(())
    }

    /// Writes the application's variables (FastCGI 1.0 §4.1), such as `FCGI_MPXS_CONNS`; as many as one record has room for.
    pub fn send_values(values: &Variables, output: &mut Vec<u8>) {
        let mut content = Vec::new();
        for (name, value) in values.iter() {
            let before = content.len();
            write_pair(name, value, &mut content);
            if content.len() > MAX_PIECE_LENGTH {
                content.truncate(before);
            }
        }
        write_record(RecordType::GetValuesResult, MANAGEMENT, &content, output);
    }

    /// Writes that a type of management records is unknown (FastCGI 1.0 §4.2).
    pub fn send_unknown_type(record_type: u8, output: &mut Vec<u8>) {
        write_record(RecordType::UnknownType, MANAGEMENT, &[record_type, 0, 0, 0, 0, 0, 0, 0], output);
    }

    /// Writes that a request is not begun, which then goes elsewhere: without a look at the request, whose number web servers
    /// with one request per connection choose as [`FIRST_REQUEST`](crate::FIRST_REQUEST).
    pub fn send_refusal(id: u16, status: ProtocolStatus, output: &mut Vec<u8>) {
        write_record(RecordType::EndRequest, id, &encode_end_request(0, status), output);
    }

    fn send_stream(&mut self, stream: RecordType, bytes: &[u8], output: &mut Vec<u8>) -> Result<(), UsageError> {
        let id = self.request_id()?;
        // An empty slice has no chunks: a record without content would end the stream.
        bytes.chunks(MAX_PIECE_LENGTH).for_each(|piece| write_record(stream, id, piece, output));
        Ok(())
    }

    fn request_id(&self) -> Result<u16, UsageError> {
        match self.state {
            RequestState::Request { id, .. } => Ok(id),
            _ => Err(UsageError::OutOfTurn),
        }
    }

    fn receive_event(&mut self, input: &mut BytesMut) -> Result<Option<RequestEvent>, ProtocolError> {
        while let Some((header, content)) = self.reader.receive(input, |header| judge(&self.state, header))? {
            if let Some(event) = self.handle_record(header, content)? {
                return Ok(Some(event));
            }
        }
        Ok(None)
    }

    /// Takes in a record, or a piece of one, that [`judge`] has let pass.
    fn handle_record(&mut self, header: RecordHeader, content: Bytes) -> Result<Option<RequestEvent>, ProtocolError> {
        let Some(record_type) = RecordType::of_number(header.record_type) else {
            return Ok(Some(RequestEvent::UnknownType(header.record_type)));
        };
        Ok(match (record_type, &mut self.state) {
            (RecordType::GetValues, _) => Some(RequestEvent::GetValues(parse_pairs(&content)?)),
            (RecordType::BeginRequest, _) => {
                let length = ProtocolError::RecordLength(header.record_type);
                let (role, persistence) = decode_begin_request(*content.first_chunk().ok_or(length)?);
                self.state = RequestState::Params { id: header.request_id, role, persistence, params: Vec::new() };
                None
            }
            (RecordType::AbortRequest, RequestState::Request { .. }) => Some(RequestEvent::Abort),
            (RecordType::AbortRequest, RequestState::Params { id, .. }) => {
                self.state = RequestState::Request { id: *id, awaited: Awaited::Nothing };
                Some(RequestEvent::Abort)
            }
            (RecordType::Params, RequestState::Params { .. }) => self.handle_params(&content)?,
            (RecordType::Stdin, RequestState::Request { awaited, .. }) if content.is_empty() => {
                *awaited = if *awaited == Awaited::Stdin(Role::Filter) { Awaited::Data } else { Awaited::Nothing };
                Some(RequestEvent::StdinEnd)
            }
            (RecordType::Stdin, RequestState::Request { .. }) => Some(RequestEvent::Stdin(content)),
            (RecordType::Data, RequestState::Request { awaited, .. }) if content.is_empty() => {
                *awaited = Awaited::Nothing;
                Some(RequestEvent::DataEnd)
            }
            (RecordType::Data, RequestState::Request { .. }) => Some(RequestEvent::Data(content)),
            // Of a request that has ended.
            _ => None,
        })
    }

    fn handle_params(&mut self, content: &[u8]) -> Result<Option<RequestEvent>, ProtocolError> {
        let RequestState::Params { id, role, persistence, params } = &mut self.state else { return Ok(None) };
        if !content.is_empty() {
            if content.len() > self.max_params - params.len() {
                return Err(ProtocolError::ParamsTooLong);
            }
            params.extend_from_slice(content);
            return Ok(None);
        }
        let request = FastcgiRequest { role: *role, persistence: *persistence, variables: parse_pairs(params)? };
        let awaited = if *role == Role::Authorizer { Awaited::Nothing } else { Awaited::Stdin(*role) };
        self.state = RequestState::Request { id: *id, awaited };
        Ok(Some(RequestEvent::Head(request)))
    }
}

/// Whether a record may come in this state, and how it is taken.
fn judge(state: &RequestState, header: RecordHeader) -> Result<Shape, ProtocolError> {
    let unexpected = Err(ProtocolError::UnexpectedRecord(header.record_type));
    let record_type = RecordType::of_number(header.record_type);
    if header.request_id == MANAGEMENT {
        return match record_type {
            Some(RecordType::GetValues) | None => Ok(Shape::Whole),
            _ => unexpected,
        };
    }
    let active = match *state {
        RequestState::Params { id, .. } | RequestState::Request { id, .. } => Some(id),
        _ => None,
    };
    if active.is_some_and(|id| id != header.request_id) {
        return Err(ProtocolError::OtherRequest(header.request_id));
    }
    let expected_length = match record_type {
        Some(RecordType::BeginRequest) => Some(BEGIN_REQUEST_LENGTH),
        Some(RecordType::AbortRequest) => Some(0),
        _ => None,
    };
    let shape = match (record_type, state) {
        (Some(RecordType::BeginRequest), RequestState::Idle) => Shape::Whole,
        (Some(RecordType::AbortRequest), _) => Shape::Whole,
        (Some(RecordType::Params | RecordType::Stdin | RecordType::Data), RequestState::Idle) => Shape::Stream,
        (Some(RecordType::Params), RequestState::Params { .. }) => Shape::Stream,
        (Some(RecordType::Stdin), RequestState::Request { awaited: Awaited::Stdin(_), .. }) => Shape::Stream,
        (Some(RecordType::Data), RequestState::Request { awaited: Awaited::Data, .. }) => Shape::Stream,
        _ => return unexpected,
    };
    match expected_length {
        Some(length) if length != usize::from(header.content_length) => {
            Err(ProtocolError::RecordLength(header.record_type))
        }
        _ => Ok(shape),
    }
}

#[cfg(test)]
mod tests;
