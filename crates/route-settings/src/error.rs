//! Why the routes of a host cannot be changed.

use std::{error::Error, fmt};

use serow_config::AddedFileName;

/// Why the routes of a host cannot be changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RouteError {
    /// The added file is not TOML.
    Syntax(AddedFileName),
    /// The added file has sites, and none of the host.
    OtherHost {
        /// The file.
        file: AddedFileName,
        /// The host of the route.
        host: String,
        /// The hosts that it has, separated by commas.
        known: String,
    },
    /// The added file has no `[[site.route]]` that can be changed.
    NotRoutes {
        /// The file.
        file: AddedFileName,
        /// It has this instead: a predicate.
        reason: &'static str,
    },
    /// The host has no such route.
    NoRoute {
        /// The host and the path.
        route: String,
        /// The paths of the routes that it has, separated by commas; empty if it has none.
        known: String,
    },
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
        }
    }
}

impl Error for RouteError {}
