//! The requests that a client sends.

use core::fmt;

use serow_message::{BodyLength, KnownHeader, Method, Priority, RequestHead, TargetForm};

use crate::{ResponseContext, Sending, fields::Pseudo, show_headers, show_length};

/// Why no request can be sent now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenError {
    /// As many streams are open, or in HTTP/3 were opened, as the server allows; it must allow more, or one must end,
    /// first (RFC 9113 §5.1.2, RFC 9000 §4.6).
    WouldBlock,
    /// The connection takes no more requests: one of the two leaves, or its numbers are used up (RFC 9113 §5.1.1).
    GoAway,
    /// The request is none: CONNECT with a body, an extended one that the server has not allowed (RFC 8441 §3, RFC 9220
    /// §3), or no host.
    Usage,
}

/// When the body of a request is sent, where others are as well.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BodyOrder {
    /// By the priority that the request asks of its response.
    #[default]
    ByPriority,
    /// In turns with all others: they are of different users, of whom none has a say in how long the others wait.
    InTurns,
}

/// A request that can be sent.
#[derive(Clone, Copy, Debug)]
pub struct SentRequest<'a> {
    head: &'a RequestHead,
    length: BodyLength,
    scheme: &'a str,
    protocol: Option<&'a str>,
    authority: &'a str,
}

/// Encodes the fields of a request.
pub trait FieldEncoder {
    /// Takes a pseudo-header field.
    fn encode_pseudo(&mut self, pseudo: Pseudo, value: &[u8]);

    /// Takes another field; `known` is its name where it is well known.
    fn encode(&mut self, name: &[u8], known: Option<KnownHeader>, value: &[u8]);
}

impl<'a> SentRequest<'a> {
    /// Judges a request. Without a scheme it is for `https`; `protocol` is that of an extended CONNECT, which the server
    /// allows or not.
    ///
    /// # Errors
    ///
    /// [`OpenError::Usage`].
    pub fn check(
        head: &'a RequestHead,
        length: BodyLength,
        scheme: &'a str,
        protocol: Option<&'a str>,
        allows_extended: bool,
    ) -> Result<Self, OpenError> {
        let connect = head.method == Method::CONNECT;
        // A tunnel has no length.
        if connect && length != BodyLength::Unknown {
            return Err(OpenError::Usage);
        }
        if protocol.is_some() && !(connect && allows_extended) {
            return Err(OpenError::Usage);
        }
        let authority = head.target.authority().or_else(|| head.headers.get_str(KnownHeader::Host));
        let authority = authority.ok_or(OpenError::Usage)?;
        if connect && protocol.is_none() && head.target.form() != TargetForm::Authority {
            return Err(OpenError::Usage);
        }
        let scheme = if scheme.is_empty() { "https" } else { scheme };
        Ok(Self { head, length, scheme, protocol, authority })
    }

    /// The body that is to be sent behind its head.
    #[must_use]
    pub fn sending(&self) -> Sending {
        match self.length {
            BodyLength::Known(0) => Sending::Done,
            BodyLength::Known(length) => Sending::Length(length),
            BodyLength::Unknown => Sending::UntilEnd,
        }
    }

    /// The facts that its response depends on.
    #[must_use]
    pub fn exchange(&self) -> ResponseContext {
        let connect = self.head.method == Method::CONNECT;
        // RFC 9110 §6.5.1 is about responses; a server takes trailers or passes over them.
        ResponseContext {
            head_only: self.head.method == Method::HEAD,
            connect,
            tunnel: connect,
            takes_trailers: true,
            awaits_continue: false,
        }
    }

    /// In which order its body is sent.
    #[must_use]
    pub fn priority(&self, order: BodyOrder) -> Priority {
        match order {
            BodyOrder::ByPriority => Priority::of_fields(&self.head.headers).unwrap_or_default(),
            BodyOrder::InTurns => Priority { incremental: true, ..Priority::DEFAULT },
        }
    }

    /// Encodes its fields: pseudo-header fields first (RFC 9113 §8.3.1, RFC 9114 §4.3.1).
    pub fn encode(&self, encoder: &mut impl FieldEncoder) {
        let head = self.head;
        encoder.encode_pseudo(Pseudo::Method, head.method.as_str().as_bytes());
        if head.method != Method::CONNECT || self.protocol.is_some() {
            encoder.encode_pseudo(Pseudo::Scheme, self.scheme.as_bytes());
            match head.target.query() {
                None => encoder.encode_pseudo(Pseudo::Path, head.target.path().as_bytes()),
                Some(query) => {
                    let path = alloc::format!("{}?{query}", head.target.path());
                    encoder.encode_pseudo(Pseudo::Path, path.as_bytes());
                }
            }
        }
        encoder.encode_pseudo(Pseudo::Authority, self.authority.as_bytes());
        if let Some(protocol) = self.protocol {
            encoder.encode_pseudo(Pseudo::Protocol, protocol.as_bytes());
        }
        show_headers(&head.headers, &[KnownHeader::ContentLength, KnownHeader::Host], |name, known, value| {
            encoder.encode(name, known, value);
        });
        match self.length {
            // RFC 9110 §8.6: no length where the method foresees no content and there is none.
            BodyLength::Known(0) if !matches!(head.method, Method::POST | Method::PUT | Method::PATCH) => {}
            BodyLength::Known(length) => {
                show_length(length, |name, known, value| encoder.encode(name, known, value));
            }
            BodyLength::Unknown => {}
        }
        // The one field of a connection that both have (RFC 9113 §8.2.2, RFC 9114 §4.2).
        if head.headers.list(KnownHeader::Te).any(|coding| coding.eq_ignore_ascii_case(b"trailers")) {
            encoder.encode(b"te", Some(KnownHeader::Te), b"trailers");
        }
    }
}

impl fmt::Display for OpenError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::WouldBlock => "the server allows no more streams at once",
            Self::GoAway => "the connection takes no more requests",
            Self::Usage => "the request cannot be sent on this connection",
        })
    }
}

impl core::error::Error for OpenError {}
