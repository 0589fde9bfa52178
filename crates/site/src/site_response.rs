//! The future of a response.
//!
//! It is written by hand, and handlers around a handler are functions here: each `async` block in between would move
//! the response once more, which costs a request for a file up to a fifth of its instructions.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

use serow::Response;
use serow_router::HeaderChanges;

use crate::strict_transport::StrictTransport;

/// The future of a response.
pub(crate) enum SiteResponse {
    /// A file's or the router's, which waits for nobody; `None` after it was returned.
    Ready(Option<Response>),
    /// That of an application or of another server, or to a request that changes a folder.
    Pending {
        /// The future of the response.
        response: Pin<Box<dyn Future<Output = Response>>>,
        /// What the route changes in its headers.
        headers: HeaderChanges,
        /// The header of HSTS.
        strict_transport: StrictTransport,
    },
}

impl SiteResponse {
    /// The response of an application or of another server, as it is.
    pub(crate) fn pending(response: Pin<Box<dyn Future<Output = Response>>>) -> Self {
        Self::Pending { response, headers: HeaderChanges::default(), strict_transport: StrictTransport::default() }
    }

    /// Changes the headers of the response as its route says.
    #[inline]
    pub(crate) fn change(&mut self, changes: HeaderChanges) {
        match self {
            Self::Ready(Some(response)) => changes.apply(&mut response.headers),
            Self::Ready(None) => {}
            Self::Pending { headers, .. } => *headers = changes,
        }
    }

    /// Adds the header of HSTS.
    #[inline]
    pub(crate) fn add(&mut self, header: StrictTransport) {
        match self {
            Self::Ready(Some(response)) => header.apply(response),
            Self::Ready(None) => {}
            Self::Pending { strict_transport, .. } => *strict_transport = header,
        }
    }
}

impl Future for SiteResponse {
    type Output = Response;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Response> {
        match &mut *self {
            // As every future, it is not polled again after it was ready.
            Self::Ready(response) => response.take().map_or(Poll::Pending, Poll::Ready),
            Self::Pending { response, headers, strict_transport } => {
                let mut response = ready!(response.as_mut().poll(context));
                headers.apply(&mut response.headers);
                strict_transport.apply(&mut response);
                Poll::Ready(response)
            }
        }
    }
}
