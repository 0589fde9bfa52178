//! What a site or a route does around its handler.
//!
//! A handler without a policy is called as if there were none; with one, the request is looked at before it is handed
//! over, and the response before it is sent. A policy never reads a body before it is sent.

mod asked;
mod compressed_body;
mod compression;

use serow_message::{Request, Response};

pub(crate) use self::asked::Asked;
pub use self::compression::Compression;

/// What a site or a route does around its handler; by default nothing.
#[derive(Clone, Debug, Default)]
pub struct RoutePolicy {
    /// Compression of responses. A folder has its own, which knows its files.
    pub compression: Option<Compression>,
}

impl RoutePolicy {
    /// Whether nothing is done.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.compression.is_none()
    }

    /// Notes what of a request decides about its response.
    pub(crate) fn ask(&self, request: &Request) -> Asked {
        Asked::new(self, request)
    }

    /// Changes a response as the policy says.
    pub(crate) fn apply(&self, asked: &Asked, source: Source, response: &mut Response) {
        if let (Some(compression), true) = (&self.compression, source.is_compressed_here()) {
            compression.apply(asked, response);
        }
    }
}

/// Where a response comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// A folder.
    Folder,
    /// An application or another server.
    Behind,
    /// The router: a redirect, a fixed response, an error.
    Router,
}

impl Source {
    fn is_compressed_here(self) -> bool {
        self != Self::Folder
    }
}
