//! The interface between server and application.

use core::future::Future;

use crate::{Request, Response};

/// An async function from a request to a response.
///
/// Files, proxies, routers and applications are handlers; middleware is a handler around a handler. One is cloned to
/// each core and stays there, so its futures need not be `Send`. Functions and closures are handlers:
///
/// ```
/// use serow_message::{Handler, Request, Response, StatusCode};
///
/// /// Middleware: refuses everything but GET.
/// fn only_get(inner: impl Handler) -> impl Handler {
///     move |request: Request| {
///         let inner = inner.clone();
///         async move {
///             if request.method == "GET" {
///                 inner.call(request).await
///             } else {
///                 Response::plain_status(StatusCode::METHOD_NOT_ALLOWED).with("allow", "GET")
///             }
///         }
///     }
/// }
/// ```
///
/// An application error is a response as well (a 5xx); a panic closes an HTTP/1 connection; over HTTP/2 it resets
/// only its stream.
pub trait Handler: Clone + 'static {
    /// Handles one request and returns its response.
    fn call(&self, request: Request) -> impl Future<Output = Response> + 'static;

    /// The server has refused a request that is too large for every handler, and writes it down. A handler with routes
    /// notes the one that would have taken it, as it does in [`call`](Self::call), in the request's [`RouteNote`]
    /// (crate feature `std`): so it comes to the log of that route.
    ///
    /// [`RouteNote`]: https://docs.rs/serow-message/latest/serow_message/struct.RouteNote.html
    fn note_refused(&self, request: &mut Request) {
        let _ = request;
    }
}

impl<F, R> Handler for F
where
    F: Fn(Request) -> R + Clone + 'static,
    R: Future + 'static,
    R::Output: Into<Response>,
{
    #[inline]
    fn call(&self, request: Request) -> impl Future<Output = Response> + 'static {
        let response = self(request);
        async move { response.await.into() }
    }
}
