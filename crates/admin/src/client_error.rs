//! Why a request to an admin endpoint failed.

use std::{
    error::Error,
    fmt,
    io::{self, ErrorKind},
    path::PathBuf,
};

use serow::{Address, StatusCode};

/// Why a request to an admin endpoint failed. The text may have several lines.
#[derive(Debug)]
pub struct AdminClientError {
    pub(super) address: Address,
    pub(super) search: Option<Box<Search>>,
    pub(super) reason: Reason,
}

/// The search for the server of a settings file that does not name the socket.
#[derive(Clone, Debug)]
pub(super) struct Search {
    pub(super) file: PathBuf,
    /// Where its socket may be.
    pub(super) places: Vec<PathBuf>,
}

/// Why a request failed.
#[derive(Debug)]
pub(super) enum Reason {
    /// The server has no upstream of this name; those that it has.
    NoUpstream {
        name: String,
        known: String,
    },
    /// The server has no added settings file of this name; those that it has.
    NoAddedFile {
        name: String,
        known: String,
    },
    /// The server takes no added settings files.
    NoAddedFiles,
    /// The server has no fleet.
    NoFleet,
    /// An added settings file has another version than the request says: the reason of the server.
    Conflict(String),
    /// The socket's file is not there.
    Missing,
    /// Nothing listens on it.
    Refuses,
    Forbidden,
    /// Something listens and does not answer.
    Silent,
    /// The answer is not one of Serow.
    NotOurs,
    /// The endpoint refuses the request for this reason.
    Refused(StatusCode, String),
    NotToConnect,
    System(io::Error),
}

impl AdminClientError {
    /// Whether the server refused a change, since the file has another version than the precondition says.
    #[must_use]
    pub fn is_conflict(&self) -> bool {
        matches!(self.reason, Reason::Conflict(_))
    }

    /// Whether there is no added settings file of the name.
    #[must_use]
    pub fn is_no_added_file(&self) -> bool {
        matches!(self.reason, Reason::NoAddedFile { .. })
    }
}

impl From<io::Error> for Reason {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            ErrorKind::NotFound => Self::Missing,
            ErrorKind::ConnectionRefused => Self::Refuses,
            ErrorKind::PermissionDenied => Self::Forbidden,
            ErrorKind::WouldBlock | ErrorKind::TimedOut => Self::Silent,
            ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => Self::NotOurs,
            _ => Self::System(error),
        }
    }
}

impl Error for AdminClientError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.reason {
            Reason::System(error) => Some(error),
            _ => None,
        }
    }
}

impl fmt::Display for Search {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, places } = self;
        let file = file.display();
        let places: Vec<_> = places.iter().map(|place| format!("unix:{}", place.display())).collect();
        write!(
            f,
            "no server of {file} is running, or another user started it: nothing listens on {}; start it with 'serow run \
             -c {file}', or name the socket of another server with --admin",
            places.join(" or ")
        )
    }
}

impl fmt::Display for AdminClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { address, search, reason } = self;
        if let (Reason::Missing | Reason::Refuses, Some(search)) = (reason, search) {
            return search.fmt(f);
        }
        match reason {
            Reason::NoUpstream { name, known } if known.is_empty() => {
                write!(f, "the server has no upstream {name:?}, nor any other")
            }
            Reason::NoUpstream { name, known } => write!(f, "the server has no upstream {name:?}; it has {known}"),
            Reason::NoAddedFile { name, known } if known.is_empty() => {
                write!(f, "the server has no added file {name:?}, nor any other")
            }
            Reason::NoAddedFile { name, known } => write!(f, "the server has no added file {name:?}; it has {known}"),
            Reason::NoAddedFiles => {
                write!(f, "the server of {address} takes no added files: start it with 'serow run', in this version")
            }
            Reason::NoFleet => {
                write!(
                    f,
                    "the server of {address} has no fleet: write [redis] into the settings files of all its servers"
                )
            }
            Reason::Conflict(reason) => f.write_str(reason.trim_end()),
            Reason::Missing => {
                write!(
                    f,
                    "there is no {address}: name the settings file of the server with -c FILE, or its admin socket with \
                     --admin; without a file, start the server with --admin {address}"
                )
            }
            Reason::Refuses => write!(f, "nothing listens on {address}: the server has ended, or has another --admin"),
            Reason::Forbidden => {
                write!(f, "{address} belongs to another user: use the account that started the server")
            }
            Reason::Silent => write!(f, "{address} does not answer: the server is stopped, or it is not Serow"),
            Reason::NotOurs => {
                write!(f, "{address} is not a Serow admin socket: give the address that the server has as --admin")
            }
            // Serow itself gives a reason, which may have several lines.
            Reason::Refused(
                StatusCode::BAD_REQUEST
                | StatusCode::UNAUTHORIZED
                | StatusCode::FORBIDDEN
                | StatusCode::PAYLOAD_TOO_LARGE
                | StatusCode::UNPROCESSABLE_ENTITY
                | StatusCode::NOT_IMPLEMENTED
                | StatusCode::SERVICE_UNAVAILABLE
                | StatusCode::INSUFFICIENT_STORAGE,
                reason,
            ) => f.write_str(reason.trim_end()),
            Reason::Refused(status, _) => {
                let status = status.as_u16();
                write!(
                    f,
                    "{address} answers {status} and not with a status: give the address that the server has as --admin"
                )
            }
            Reason::NotToConnect => write!(f, "{address} is not an address to connect to: give unix:/path or a port"),
            Reason::System(error) => write!(f, "cannot query {address}: {error}"),
        }
    }
}
