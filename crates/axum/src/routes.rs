//! The routes that can be served: routers, and services that make one for each connection.

use std::{
    convert::Infallible,
    future::Future,
    net::{Ipv4Addr, SocketAddr},
    pin::pin,
    task::{Context, Poll, Waker},
};

use axum::{
    Router,
    body::{Body as AxumBody, HttpBody},
    extract::{
        Request as AxumRequest,
        connect_info::{Connected, IntoMakeServiceWithConnectInfo},
    },
    response::Response as AxumResponse,
    routing::{IntoMakeService, MethodRouter},
};
use serow::{Handler, Peer, Request, Response, ServiceHandler};
use tower_service::Service;

/// A router, or a service that makes one for each connection.
pub trait Routes: Clone + Send + 'static {
    /// The router.
    type Router: Service<AxumRequest, Response = AxumResponse, Error = Infallible, Future: 'static> + Clone + 'static;

    /// The router for requests of a client with this address.
    fn router(&self, client: SocketAddr) -> Option<Self::Router>;
}

/// Routes as a handler of `serow`.
#[derive(Clone, Debug)]
pub struct RoutesHandler<R> {
    routes: R,
}

impl<R: Routes> RoutesHandler<R> {
    /// The handler for these routes: for [`serow::Server::run`], for one.
    pub fn new(routes: R) -> Self {
        Self { routes }
    }
}

impl<R: Routes> Handler for RoutesHandler<R> {
    fn call(&self, request: Request) -> impl Future<Output = Response> + 'static {
        let client = match request.connection().peer() {
            Peer::Tcp(address) => address,
            // A unix socket has no such address.
            _ => SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)),
        };
        let router = self.routes.router(client);
        async move {
            match router {
                Some(router) => ServiceHandler::new(Converted(router)).call(request).await,
                None => Response::plain_status(serow::StatusCode::INTERNAL_SERVER_ERROR),
            }
        }
    }
}

/// A router that takes `serow`'s bodies.
#[derive(Clone)]
struct Converted<S>(S);

impl<S: Service<AxumRequest>> Service<http::Request<serow::Body>> for Converted<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, request: http::Request<serow::Body>) -> S::Future {
        // Unlike any other, an empty body is not allocated.
        self.0.call(request.map(|body| if body.is_end_stream() { AxumBody::empty() } else { AxumBody::new(body) }))
    }
}

impl Routes for Router {
    type Router = Self;

    fn router(&self, _: SocketAddr) -> Option<Self> {
        Some(self.clone())
    }
}

impl Routes for MethodRouter {
    type Router = Self;

    fn router(&self, _: SocketAddr) -> Option<Self> {
        Some(self.clone())
    }
}

impl<S> Routes for IntoMakeService<S>
where
    S: Service<AxumRequest, Response = AxumResponse, Error = Infallible, Future: 'static> + Clone + Send + 'static,
{
    type Router = S;

    fn router(&self, client: SocketAddr) -> Option<S> {
        made(self.clone().call(client))
    }
}

impl<S, C> Routes for IntoMakeServiceWithConnectInfo<S, C>
where
    Self: Service<SocketAddr, Error = Infallible> + Clone + Send + 'static,
    <Self as Service<SocketAddr>>::Response:
        Service<AxumRequest, Response = AxumResponse, Error = Infallible, Future: 'static> + Clone + 'static,
    C: Connected<SocketAddr>,
{
    type Router = <Self as Service<SocketAddr>>::Response;

    fn router(&self, client: SocketAddr) -> Option<Self::Router> {
        made(self.clone().call(client))
    }
}

/// The service that axum makes, which is ready at once.
fn made<S>(making: impl Future<Output = Result<S, Infallible>>) -> Option<S> {
    match pin!(making).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(Ok(router)) => Some(router),
        Poll::Ready(Err(never)) => match never {},
        Poll::Pending => None,
    }
}
