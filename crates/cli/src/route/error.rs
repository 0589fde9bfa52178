//! Why a route cannot be added or removed.

use std::{error::Error, fmt};

use crate::command_error::CommandError;

/// Why a route cannot be added or removed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum RouteError {
    /// The added file, with this name, is not TOML.
    Syntax(String),
    /// The added file with this name is of another host: the hosts that it has.
    OtherHost { file: String, host: String, known: String },
    /// The added file with this name has no [[site.route]] for this reason.
    NotRoutes { file: String, reason: &'static str },
    /// The host has no such route; those that it has.
    NoRoute { route: String, known: String },
    /// The added file with this name was changed at the same time, again and again.
    Busy(String),
}

impl fmt::Display for RouteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Syntax(file) => {
                write!(f, "the added file {file} is not TOML: replace it with 'serow config put {file}'")
            }
            Self::OtherHost { file, host, known } => write!(
                f,
                "the added file {file} has no site of {host}, but of {known}: add a site of {host} to another file \
                 with 'serow config put'"
            ),
            Self::NotRoutes { file, reason } => write!(
                f,
                "the added file {file} {reason}: change it with 'serow config get {file}' and 'serow config put {file}'"
            ),
            Self::NoRoute { route, known } if known.is_empty() => {
                write!(f, "there is no route {route} that 'serow route add' has made")
            }
            Self::NoRoute { route, known } => write!(f, "there is no route {route}; there are {known}"),
            Self::Busy(file) => write!(f, "the added file {file} changes all the time: try again"),
        }
    }
}

impl Error for RouteError {}

impl From<RouteError> for CommandError {
    fn from(error: RouteError) -> Self {
        Self::Failed(Box::new(error))
    }
}
