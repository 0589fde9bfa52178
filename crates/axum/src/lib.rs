//! axum routers on the web server library `serow`.
//!
//! [`serve`] takes what `axum::serve` takes:
//!
//! ```no_run
//! use axum::{Router, routing::get};
//!
//! # async fn main_() -> std::io::Result<()> { // #[tokio::main] async fn main()
//! let router = Router::new().route("/", get(|| async { "Hello, World!" }));
//! let listener = tokio::net::TcpListener::bind("127.0.0.1:3000").await?;
//! serow_axum::serve(listener, router).await
//! # }
//! ```
//!
//! [`axum::extract::ConnectInfo`] works as it does there. For WebSockets, import [`ws`] in place of `axum::extract::ws`.
//! [`HandlerRoute`] makes a handler of `serow`, such as a folder or a proxy, a service of the router.
#![forbid(unsafe_code)]

#[cfg(doctest)]
mod guides;
mod handler_route;
mod routes;
pub mod ws;

pub use self::{
    handler_route::{HandlerFuture, HandlerRoute},
    routes::{Routes, RoutesHandler},
};

/// Serves a router on a socket that listens already: `axum::serve`, but for the server.
///
/// It takes a `Router`, a `MethodRouter`, and what `into_make_service` and `into_make_service_with_connect_info` make of
/// them; the type of the latter has to be [`Connected`](axum::extract::connect_info::Connected) to a `SocketAddr`, as
/// `SocketAddr` itself is. Over a unix socket, the address is `0.0.0.0:0`.
///
/// The router runs on threads of its own, one per core: see [`serow::serve`], also for settings and graceful shutdown.
pub fn serve<R: Routes>(listener: impl serow::ListeningSocket, routes: R) -> serow::Serve<RoutesHandler<R>> {
    serow::serve(listener, RoutesHandler::new(routes))
}
