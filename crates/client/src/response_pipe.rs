//! The pipe through which a large body gets from a server's socket to a client's.

use std::task::{Context, Poll};

use serow_message::{Pipe, PipedBytes};

use crate::{ClientError, Http1};

/// Whether there is a pipe for the body of a response.
#[derive(Debug, Default)]
pub enum ResponsePipe {
    /// None was needed yet.
    #[default]
    None,
    /// The body goes through it, as far as it can.
    Open(Pipe),
    /// The kernel refuses one: the body is copied.
    Refused,
}

impl ResponsePipe {
    /// Receives the next bytes of the body into the pipe. `None` where they have to be copied.
    pub(crate) fn poll_receive(
        &mut self,
        connection: &mut Http1,
        context: &mut Context<'_>,
    ) -> Option<Poll<Result<PipedBytes, ClientError>>> {
        if let Self::None = self {
            if connection.pipeable() < WORTH_A_PIPE {
                return None;
            }
            *self = Pipe::new().map_or(Self::Refused, Self::Open);
        }
        match self {
            Self::Open(pipe) => connection.poll_receive_piped(context, pipe),
            Self::None | Self::Refused => None,
        }
    }
}

/// Bytes of a body for which a pipe is opened. That takes four system calls, some 5 µs, as much as copying 64 KB twice.
const WORTH_A_PIPE: u64 = 128 * 1024;
