//! Errors of listening, with the remedy.

use std::env;
use std::error::Error;
use std::fmt;
use std::io;
use std::path::PathBuf;

use rustix::io::Errno;

use super::occupant;
use crate::Address;

/// Why a [`Listener`](super::Listener) could not be opened. The message is one line with the remedy.
pub struct BindError {
    address: Address,
    cause: Cause,
}

impl BindError {
    pub(super) fn new(address: &Address, cause: Cause) -> Self {
        Self { address: address.clone(), cause }
    }

    /// Whether another socket listens there, which may be about to close.
    pub fn is_in_use(&self) -> bool {
        matches!(self.cause, Cause::InUse)
    }

    /// The address to listen on.
    pub fn address(&self) -> &Address {
        &self.address
    }
}

/// The cause of a [`BindError`].
#[derive(Debug)]
pub(super) enum Cause {
    /// Another socket listens there.
    InUse,
    /// A port below 1024, without the privilege for it.
    PrivilegedPort,
    /// The IP address belongs to another machine.
    NotOurAddress,
    /// A kernel without IPv6 (or IPv4).
    NoSuchFamily,
    /// A unix path of no bytes, or an abstract name of none.
    EmptyPath,
    /// A unix path of this many bytes.
    PathTooLong(usize),
    /// The unix path is that of a file, a folder or a link; removing it could lose data.
    NotASocketFile,
    /// The folder of the unix path does not exist.
    FolderMissing(PathBuf),
    /// The user may not create or reach files in the folder of the unix path.
    FolderForbidden(PathBuf),
    /// The number is not that of an open descriptor.
    DescriptorClosed,
    /// The descriptor is a file, a pipe, a terminal.
    DescriptorNotASocket,
    /// The descriptor is a socket that is connected, or does not listen.
    DescriptorNotListening,
    /// Any other error of the kernel.
    Kernel(io::Error),
}

impl Cause {
    pub(super) fn kernel(errno: Errno) -> Self {
        Self::Kernel(errno.into())
    }
}

// As its message: `fn main() -> Result<…>` prints an error so.
impl fmt::Debug for BindError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl fmt::Display for BindError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let address = &self.address;
        match &self.cause {
            Cause::InUse => {
                let occupant = occupant::of(address);
                write!(formatter, "{address} is in use by {occupant}; choose another with --listen, or stop it")
            }
            Cause::PrivilegedPort => {
                let program = env::current_exe().unwrap_or_else(|_| "PROGRAM".into());
                write!(
                    formatter,
                    "{address} needs a privilege, as all ports below 1024 do; choose a higher port, or grant it once \
                     with: sudo setcap cap_net_bind_service=+ep {}",
                    program.display()
                )
            }
            Cause::NotOurAddress => write!(
                formatter,
                "{address} is not an address of this machine; leave the host out (:PORT) to listen on all of its own"
            ),
            Cause::NoSuchFamily => {
                write!(formatter, "{address} is of a kind this kernel does not have; try 0.0.0.0:PORT")
            }
            Cause::EmptyPath => write!(formatter, "{address} has no path; write unix:/path"),
            Cause::PathTooLong(length) => write!(
                formatter,
                "{address} has a path of {length} bytes, where the kernel takes {MAX_UNIX_PATH}; choose a shorter one"
            ),
            Cause::NotASocketFile => {
                write!(
                    formatter,
                    "{address} is taken by something that is not a socket; remove it or choose another path"
                )
            }
            Cause::FolderMissing(folder) => {
                write!(formatter, "{address} is in a folder that does not exist; create {} first", folder.display())
            }
            Cause::FolderForbidden(folder) => write!(
                formatter,
                "{address} is in a folder this user may not write to; choose another folder, or allow writing to {}",
                folder.display()
            ),
            Cause::DescriptorClosed => write!(
                formatter,
                "{address} is not open; start this program from one that hands over a listening socket, \
                 or choose another address with --listen"
            ),
            Cause::DescriptorNotASocket => {
                write!(formatter, "{address} is not a socket; hand over a listening one, or choose another number")
            }
            Cause::DescriptorNotListening => {
                write!(
                    formatter,
                    "{address} is a socket that does not listen; call listen() on it before handing it over"
                )
            }
            Cause::Kernel(error) => write!(formatter, "cannot listen on {address}: {error}"),
        }
    }
}

impl Error for BindError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.cause {
            Cause::Kernel(error) => Some(error),
            _ => None,
        }
    }
}

/// unix(7): `sun_path` holds 108 bytes, of which one is the terminating zero (or the leading one of an abstract name).
pub(super) const MAX_UNIX_PATH: usize = 107;
