//! The protocols between a web server and an application that have grown from CGI (RFC 3875), as pure state machines.
//!
//! Bytes go in, events come out; requests go in, bytes come out. There is no socket, no clock and no thread in this crate,
//! and it is `no_std`, so none can slip in.
//!
//! [`request_variables()`] makes the list of variables of a request. Three protocols send it:
//!
//! | protocol | request | response |
//! | --- | --- | --- |
//! | FastCGI | [`WebServer::begin_request`], and the body in records | records ([`WebServer::receive`]), whose STDOUT is a CGI response |
//! | SCGI | [`write_scgi_request`], and the body | a CGI response until the connection ends |
//! | uwsgi | [`write_uwsgi_request`], and the body | an HTTP/1 or CGI response until the connection ends |
//!
//! [`CgiResponse`] receives the response. [`Application`] is the other side of FastCGI.
//!
//! The source of the rules of FastCGI is its specification, version 1.0, <https://fastcgi-archives.github.io/FastCGI_Specification.html>.
//!
//! ```
//! use bytes::{Bytes, BytesMut};
//! use serow_fastcgi::{
//!     CgiEvent, CgiResponse, Persistence, ResponseEvent, ResponseForm, Role, SectionLimits, Variables, WebServer,
//! };
//! use serow_message::Method;
//!
//! let mut variables = Variables::default();
//! variables.push("REQUEST_METHOD", "GET")?;
//! let mut output = Vec::new();
//! let mut server = WebServer::begin_request(Role::Responder, Persistence::Close, &variables, &mut output)?;
//! server.end_stream(&mut output)?;
//!
//! let mut input = BytesMut::from(&b"\x01\x06\0\x01\0\x10\0\0Status: 404\r\n\r\nA\x01\x03\0\x01\0\x08\0\0\0\0\0\0\0\0\0\0"[..]);
//! let Some(ResponseEvent::Stdout(mut piece)) = server.receive(&mut input)? else { panic!("no piece") };
//! let limits = SectionLimits { bytes: 32 * 1024, fields: 100 };
//! let mut response = CgiResponse::new(limits, ResponseForm::Cgi, &Method::GET);
//! let Some(CgiEvent::Head(head)) = response.receive(&mut piece)? else { panic!("no head") };
//! assert_eq!(head.status, 404);
//! assert_eq!(response.receive(&mut piece)?, Some(CgiEvent::Data(Bytes::from("A"))));
//! assert_eq!(server.receive(&mut input)?, Some(ResponseEvent::End { application_status: 0 }));
//! response.handle_end()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod application;
mod begin_request;
mod cgi_error;
mod cgi_response;
mod cgi_section;
mod end_request;
mod error;
mod pairs;
mod record;
mod record_reader;
mod request_variables;
mod scgi;
mod uwsgi;
mod values;
mod variables;
mod web_server;

pub use self::{
    application::{Application, FastcgiRequest, RequestEvent},
    begin_request::{Persistence, Role},
    cgi_error::CgiError,
    cgi_response::{CgiEvent, CgiHead, CgiResponse, ResponseForm, SectionLimits},
    end_request::ProtocolStatus,
    error::{ProtocolError, VariablesError},
    record::{MAX_PIECE_LENGTH, RECORD_HEADER_LENGTH, RecordHeader, RecordType},
    request_variables::{RequestFacts, Script, is_safe_field, request_variables},
    scgi::write_scgi_request,
    uwsgi::write_uwsgi_request,
    values::{receive_values, write_values_request},
    variables::Variables,
    web_server::{FIRST_REQUEST, MAX_PAIR_LENGTH, ResponseEvent, WebServer},
};
