//! The parts of a message that are still to come or to be sent, for either role.

use serow_message::{BodyLength, Headers, StatusCode, UsageError, content};

/// How much of a message is taken. Each limit answers a way to use up memory or time.
#[derive(Clone, Copy, Debug)]
pub struct MessageLimits {
    /// Bytes of a head, or of trailers, counted as RFC 9113 §6.5.2 and RFC 9114 §4.2.2 do it (32 for each field beside
    /// its text).
    pub head: usize,
    /// Header fields in a head.
    pub fields: usize,
    /// Bytes of `:path`.
    pub target: usize,
    /// Bytes of a body.
    pub body: u64,
    /// Whether requests may ask for another protocol in their stream (RFC 8441, RFC 9220).
    pub extended_connect: bool,
}

/// How much more a body may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Content {
    left: u64,
    /// Whether all of it must be received: it was announced, and is not our own limit.
    announced: bool,
}

/// The progress of our message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sending {
    /// No head yet.
    Head,
    /// So many bytes of the body are still due.
    Length(u64),
    /// Anything, until the end is sent.
    UntilEnd,
    /// All of it: half-closed (local).
    Done,
}

/// A response's head that waits for its turn. The stream's [`Sending`] says already what follows it.
#[derive(Debug)]
pub struct QueuedHead {
    /// Its status.
    pub status: StatusCode,
    /// Its fields.
    pub headers: Headers,
    /// The value of `content-length`, if it has one.
    pub content_length: Option<u64>,
    /// Whether no handler made it: its content is the status in words.
    pub is_refusal: bool,
}

/// The facts about a request that the meaning of its response depends on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResponseContext {
    /// HEAD: a response has no content.
    pub head_only: bool,
    /// CONNECT: behind a 2xx response the stream is a tunnel.
    pub connect: bool,
    /// Such a response was given.
    pub tunnel: bool,
    /// RFC 9110 §6.5.1.
    pub takes_trailers: bool,
    /// RFC 9110 §10.1.1: the client waits for 100 Continue before it sends the body.
    pub awaits_continue: bool,
}

impl ResponseContext {
    /// Begins a final response of this status, with these fields: returns what is to be sent behind its head, and the
    /// value of `content-length`, if it has one. From now on an accepted CONNECT is a tunnel.
    #[inline]
    pub fn begin_response(
        &mut self,
        status: StatusCode,
        headers: &Headers,
        length: BodyLength,
    ) -> (Sending, Option<u64>) {
        self.tunnel = self.connect && status.is_success();
        let (sending, content_length) = match length {
            _ if self.tunnel => (Sending::UntilEnd, None),
            _ if !content::is_possible(status) => (Sending::Done, None),
            // RFC 9110 §8.6: to HEAD, the length that GET would have; a handler that made no body may know it.
            BodyLength::Known(length) => {
                let announced = if self.head_only && length == 0 { content::length(headers) } else { Ok(None) };
                let length = announced.ok().flatten().unwrap_or(length);
                (if length == 0 { Sending::Done } else { Sending::Length(length) }, Some(length))
            }
            BodyLength::Unknown => (Sending::UntilEnd, None),
        };
        (if self.head_only { Sending::Done } else { sending }, content_length)
    }
}

impl Sending {
    /// So many bytes of the body are sent now.
    #[inline]
    pub fn after(self, bytes: usize, end: bool) -> Result<Self, UsageError> {
        match self {
            Self::Length(left) => match left.checked_sub(bytes as u64) {
                None => Err(UsageError::TooManyBytes),
                Some(1..) if end => Err(UsageError::TooFewBytes),
                Some(_) if end => Ok(Self::Done),
                Some(left) => Ok(Self::Length(left)),
            },
            Self::UntilEnd => Ok(if end { Self::Done } else { self }),
            Self::Head | Self::Done => Err(UsageError::OutOfTurn),
        }
    }
}

/// An error in the length of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WrongLength {
    /// It is not what was announced (RFC 9113 §8.1.1).
    Announced,
    /// It is more than we take.
    Limit,
}

impl Content {
    /// Without end.
    pub const UNBOUNDED: Self = Self { left: u64::MAX, announced: false };

    /// As long as was announced.
    #[must_use]
    pub const fn announced(length: u64) -> Self {
        Self { left: length, announced: true }
    }

    /// At most so long.
    #[must_use]
    pub const fn limited(most: u64) -> Self {
        Self { left: most, announced: false }
    }

    /// Takes in received bytes.
    #[inline]
    pub fn received(&mut self, bytes: usize) -> Result<(), WrongLength> {
        self.left = self.less(bytes as u64)?;
        Ok(())
    }

    /// Whether so many more bytes may come.
    #[inline]
    pub fn may_receive(self, bytes: u64) -> Result<(), WrongLength> {
        self.less(bytes).map(drop)
    }

    #[inline]
    fn less(self, bytes: u64) -> Result<u64, WrongLength> {
        match self.left.checked_sub(bytes) {
            Some(left) => Ok(left),
            None if self.announced => Err(WrongLength::Announced),
            None => Err(WrongLength::Limit),
        }
    }

    /// Whether more than so much was announced and is still to come.
    #[must_use]
    pub fn announces_more_than(self, bytes: u64) -> bool {
        self.announced && self.left > bytes
    }

    /// Whether the body may end here.
    #[inline]
    pub fn may_end(self) -> bool {
        !self.announced || self.left == 0
    }
}
