//! How warnings call a log.

use std::{fmt, sync::Arc};

use super::Destination;

/// How warnings call a log: by its destination, if there are several.
#[derive(Clone, Debug, Default)]
pub(super) struct LogName(Option<Arc<str>>);

impl LogName {
    /// The name of one of several logs.
    pub(super) fn of(destination: &Destination) -> Self {
        Self(Some(destination.to_string().into()))
    }
}

impl fmt::Display for LogName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(destination) => write!(f, "the access log {destination}"),
            None => f.write_str("the access log"),
        }
    }
}
