//! The socket of a response that an application writes itself.

use std::os::fd::OwnedFd;

use serow_message::{Headers, StatusCode};

/// A socket to which an application writes its response, or the part after the head.
#[derive(Debug)]
pub(crate) struct Hijack {
    pub(crate) socket: OwnedFd,
    /// Where the worker says that the response is complete, if it does.
    pub(crate) verdict: Option<OwnedFd>,
    /// The head, if the application has sent it; otherwise it writes a complete HTTP/1.1 response.
    pub(crate) head: Option<(StatusCode, Headers)>,
}
