//! Systems without pipes, such as WebAssembly: none can be made, and so no body is in one.

use core::convert::Infallible;
use std::io;

use bytes::Bytes;

/// A pipe for one body.
#[derive(Debug)]
pub struct Pipe {
    never: Infallible,
}

/// The bytes in a [`Pipe`], which are one piece of a body.
#[derive(Debug)]
pub struct PipedBytes {
    never: Infallible,
}

impl Pipe {
    /// No pipe.
    ///
    /// # Errors
    ///
    /// Always: it is not supported.
    pub fn new() -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

impl PipedBytes {
    /// How many bytes are left.
    #[must_use]
    pub fn length(&self) -> usize {
        match self.never {}
    }

    /// Reads all bytes that are left.
    ///
    /// # Errors
    ///
    /// None.
    pub fn read(self) -> io::Result<Bytes> {
        match self.never {}
    }
}
