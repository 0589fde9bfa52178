//! Adapters between handlers and `tower` services.

use core::{
    convert::Infallible,
    future::{Future, poll_fn},
    pin::Pin,
    task::{Context, Poll},
};
use std::boxed::Box;

use bytes::Bytes;
use http::StatusCode;
use tower_layer::Layer;
use tower_service::Service;

use crate::{Body, BoxError, BoxedHandler, Handler, Request, Response};

/// A `tower` service (an axum router, a stack of middleware) as a handler. The service is cloned for each
/// request, as in hyper and axum.
///
/// The client's address, the local one and TLS are in the extension [`RequestContext`](crate::RequestContext): use
/// `Extension(context): Extension<RequestContext>`. axum's extractor `ConnectInfo` needs the handler of the crate
/// `serow-axum`, which also has an extractor for WebSockets; axum's own responds with 426, since it supports only hyper's
/// connections. By hand, a route upgrades by [`Request::upgrade`](crate::Request::upgrade), which also serves WebSockets
/// over HTTP/2:
///
/// ```
/// use serow_message::{Request, Response, StatusCode, websocket};
///
/// // As a route: get(|request| async { http::Response::from(open(request)) })
/// fn open(request: http::Request<serow_message::Body>) -> Response {
///     let Ok(mut request) = Request::try_from(request) else {
///         return Response::plain_status(StatusCode::BAD_REQUEST);
///     };
///     let key = request.headers.get_str("sec-websocket-key").map(str::to_owned);
///     let (Some(key), Some(upgrade)) = (key, request.upgrade()) else {
///         return Response::plain_status(StatusCode::UPGRADE_REQUIRED);
///     };
///     // Spawn a task that waits for `upgrade`, and then reads and writes frames, with tokio-tungstenite for one.
///     drop(upgrade);
///     Response::new(StatusCode::SWITCHING_PROTOCOLS)
///         .with("upgrade", "websocket")
///         .with("sec-websocket-accept", websocket::accept(&key))
/// }
/// ```
#[derive(Clone, Debug)]
pub struct ServiceHandler<S> {
    service: S,
}

impl<S> ServiceHandler<S> {
    /// Converts a service to a handler.
    pub fn new(service: S) -> Self {
        Self { service }
    }
}

impl<S, B> Handler for ServiceHandler<S>
where
    S: Service<http::Request<Body>, Response = http::Response<B>> + Clone + 'static,
    S::Error: Into<BoxError>,
    S::Future: 'static,
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    fn call(&self, request: Request) -> impl Future<Output = Response> + 'static {
        let mut service = self.service.clone();
        let upgrades = request.context.is_upgrade();
        async move {
            let answer = match poll_fn(|context| service.poll_ready(context)).await {
                Ok(()) => service.call(request.into()).await,
                Err(error) => Err(error),
            };
            match answer {
                Ok(response) => {
                    if upgrades && response.status() == StatusCode::UPGRADE_REQUIRED {
                        tracing::warn!(
                            "the service refused an upgrade with 426: axum's extractor WebSocketUpgrade is made for hyper; \
                             use that of serow_axum::ws, or Request::upgrade"
                        );
                    }
                    response.into()
                }
                Err(error) => {
                    tracing::error!(error = &*error.into(), "the service failed");
                    Response::plain_status(StatusCode::INTERNAL_SERVER_ERROR)
                }
            }
        }
    }
}

/// A handler as a `tower` service, for layers and tests.
#[derive(Clone, Debug)]
pub struct HandlerService<H> {
    handler: H,
}

impl<H> HandlerService<H> {
    /// Converts a handler to a service.
    pub fn new(handler: H) -> Self {
        Self { handler }
    }
}

impl<H, B> Service<http::Request<B>> for HandlerService<H>
where
    H: Handler,
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>>>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<B>) -> Self::Future {
        let handler = self.handler.clone();
        Box::pin(async move {
            let response = match Request::try_from(request) {
                Ok(request) => handler.call(request).await,
                // Middleware made a request that cannot be: its fault is not the client's.
                Err(_) => Response::plain_status(StatusCode::INTERNAL_SERVER_ERROR),
            };
            Ok(response.into())
        })
    }
}

/// Extension methods for handlers.
pub trait HandlerExt: Handler {
    /// Wraps the handler in a `tower` layer, such as those of `tower-http`.
    fn layer<L: Layer<HandlerService<Self>>>(self, layer: L) -> ServiceHandler<L::Service> {
        ServiceHandler::new(layer.layer(HandlerService::new(self)))
    }

    /// Boxes the handler, which erases its type.
    fn boxed(self) -> BoxedHandler
    where
        Self: Send,
    {
        BoxedHandler::new(self)
    }
}

impl<H: Handler> HandlerExt for H {}
