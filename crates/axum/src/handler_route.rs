//! Handlers of `serow` as services of an axum router.

use std::{
    convert::Infallible,
    fmt,
    future::Future,
    panic,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use serow::{Body, BoxError, Handler, Request, Response, StatusCode};
use thread_local::ThreadLocal;
use tokio::task::{JoinHandle, spawn_local};
use tower_service::Service;

/// A handler of `serow` as a service of an axum router: for `nest_service`, `route_service` and `fallback_service`. So a
/// router serves a folder with `serow_files::Files`, forwards to other servers with `serow_proxy::Proxy`, and passes
/// requests to the handler of an application of `serow_apps`.
///
/// ```
/// use axum::{Router, routing::get};
/// use serow_axum::HandlerRoute;
/// use serow_files::Files;
///
/// # fn main() -> Result<(), serow_files::FilesError> {
/// let router: Router = Router::new()
///     .route("/api/hello", get(|| async { "Hello, World!" }))
///     .fallback_service(HandlerRoute::new(Files::new(".")?));
/// # Ok(())
/// # }
/// ```
///
/// `nest_service` removes the prefix from the path that the handler sees, also where the handler makes a redirect of it:
/// `Files` redirects `/prefix/folder` to `/folder/`. `route_service("/prefix/{*path}", …)` leaves the path as it is.
///
/// axum demands futures that are `Send`, and handlers have others. So each request has a task of its own on the thread
/// that received it, and each thread has its own clone of the handler. That costs an allocation and a wake-up per
/// request, and the headers are converted twice. A file is read in pieces and copied, since axum's body hides that it is
/// one. To avoid these costs, choose between the handler and [`RoutesHandler`](crate::RoutesHandler) in a handler around
/// both.
///
/// A request whose client has left is cancelled, as in other routes.
///
/// # Panics
///
/// A request panics on a thread that is not a worker of `serow`'s server, unless it runs in a `tokio::task::LocalSet`:
/// in a test that calls the router without a server, for one.
pub struct HandlerRoute<H: Send> {
    handlers: Arc<Handlers<H>>,
}

/// A handler, and its clone for each thread that has used it.
struct Handlers<H: Send> {
    original: Mutex<H>,
    clones: ThreadLocal<H>,
}

/// The future of a [`HandlerRoute`].
#[derive(Debug)]
pub struct HandlerFuture {
    task: JoinHandle<http::Response<Body>>,
}

impl<H: Handler + Send> HandlerRoute<H> {
    /// The service of this handler.
    pub fn new(handler: H) -> Self {
        Self { handlers: Arc::new(Handlers { original: Mutex::new(handler), clones: ThreadLocal::new() }) }
    }
}

impl<H: Handler + Send> Handlers<H> {
    fn of_this_thread(&self) -> &H {
        self.clones.get_or(|| self.original.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }
}

impl<H, B> Service<http::Request<B>> for HandlerRoute<H>
where
    H: Handler + Send,
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = HandlerFuture;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<B>) -> HandlerFuture {
        let task = match Request::try_from(request) {
            Ok(request) => {
                let response = self.handlers.of_this_thread().call(request);
                spawn_local(async move { response.await.into() })
            }
            // Middleware made a request that cannot be: its fault is not the client's.
            Err(_) => spawn_local(async { Response::plain_status(StatusCode::INTERNAL_SERVER_ERROR).into() }),
        };
        HandlerFuture { task }
    }
}

impl Future for HandlerFuture {
    type Output = Result<http::Response<Body>, Infallible>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Poll::Ready(match ready!(Pin::new(&mut self.task).poll(context)) {
            Ok(response) => Ok(response),
            Err(error) => match error.try_into_panic() {
                // It ends the connection or the stream, as a panic in any handler.
                Ok(payload) => panic::resume_unwind(payload),
                // The runtime ends.
                Err(_) => Ok(Response::plain_status(StatusCode::SERVICE_UNAVAILABLE).into()),
            },
        })
    }
}

impl Drop for HandlerFuture {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl<H: Send> Clone for HandlerRoute<H> {
    fn clone(&self) -> Self {
        Self { handlers: Arc::clone(&self.handlers) }
    }
}

impl<H: Send> fmt::Debug for HandlerRoute<H> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("HandlerRoute").finish_non_exhaustive()
    }
}
