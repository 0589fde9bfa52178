//! `serow::serve`, with the signature of `axum::serve`.

use std::{
    future::{Future, IntoFuture},
    io,
    os::fd::OwnedFd,
    pin::Pin,
};

use serow_message::{Handler, Scheme};

use crate::{Error, Server};

/// Serves with a handler on a socket that listens already, until the future is dropped or the process ends: as
/// `axum::serve`, it handles no signals.
///
/// ```no_run
/// use serow::{Request, Response};
///
/// # async fn main_() -> std::io::Result<()> { // #[tokio::main] async fn main()
/// let listener = tokio::net::TcpListener::bind("127.0.0.1:3000").await?;
/// serow::serve(listener, |_: Request| async { Response::text("Hello, World!") })
///     .with_graceful_shutdown(async { _ = tokio::signal::ctrl_c().await })
///     .await
/// # }
/// ```
///
/// The handler is an async function, or [`ServiceHandler::new(router)`](crate::ServiceHandler::new) for a router of
/// axum; `serow_axum::serve` takes the router itself.
///
/// The handler does not run in the runtime that awaits this, but in threads of its own, one per core: each has a
/// current-thread runtime and a clone of the handler. The handler can use resources that the caller's runtime has
/// opened, for instance the connections of a database pool, since that runtime goes on meanwhile.
pub fn serve<H: Handler + Send>(listener: impl ListeningSocket, handler: H) -> Serve<H> {
    Serve { socket: listener.into_socket(), server: Server::new(), handler }
}

/// A server that begins to serve when it is awaited: see [`serve`].
#[must_use = "a server does nothing unless it is awaited"]
pub struct Serve<H> {
    socket: io::Result<OwnedFd>,
    server: Server,
    handler: H,
}

/// A [`Serve`] that stops gracefully when a future is ready: see [`Serve::with_graceful_shutdown`].
#[must_use = "a server does nothing unless it is awaited"]
pub struct ServeUntil<H, F> {
    serve: Serve<H>,
    signal: F,
}

/// A socket that listens: what [`serve`] takes.
pub trait ListeningSocket {
    /// Its descriptor.
    ///
    /// # Errors
    ///
    /// It cannot be taken out of its runtime.
    fn into_socket(self) -> io::Result<OwnedFd>;
}

impl<H: Handler + Send> Serve<H> {
    /// Takes the settings of this server: workers, limits, timeouts and so on. With [`Server::tls`], the socket's
    /// connections begin with TLS. It listens on its own addresses as well, if it has any.
    ///
    /// ```no_run
    /// # async fn main_() -> Result<(), Box<dyn std::error::Error>> {
    /// let listener = std::net::TcpListener::bind("127.0.0.1:3443")?;
    /// let settings = serow::Server::new().workers(2).tls(serow::TlsSettings::self_signed()?);
    /// serow::serve(listener, |_: serow::Request| async { "Hello, World!" }).with_settings(settings).await?;
    /// # Ok(()) }
    /// ```
    pub fn with_settings(self, server: Server) -> Self {
        Self { server, ..self }
    }

    /// Stops gracefully when the future is ready: accepts no more connections, closes idle ones, and finishes requests in
    /// progress within [`Timeouts::grace`](crate::Timeouts::grace).
    pub fn with_graceful_shutdown<F>(self, signal: F) -> ServeUntil<H, F>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        ServeUntil { serve: self, signal }
    }

    async fn run(self, signal: impl Future<Output = ()>) -> io::Result<()> {
        let scheme = if self.server.has_tls() { Scheme::Https } else { Scheme::Http };
        let server = self.server.listen_on(vec![self.socket?], scheme).ignore_signals();
        let bound = server.bind().map_err(io_error)?;
        let stopper = bound.stopper();
        let serving = bound.serve(self.handler);
        tokio::pin!(serving, signal);
        let outcome = tokio::select! {
            outcome = &mut serving => outcome,
            () = &mut signal => {
                stopper.stop();
                serving.await
            }
        };
        outcome.map_err(io_error)
    }
}

impl<H: Handler + Send> IntoFuture for Serve<H> {
    type Output = io::Result<()>;
    type IntoFuture = Pin<Box<dyn Future<Output = io::Result<()>> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run(std::future::pending()))
    }
}

impl<H, F> IntoFuture for ServeUntil<H, F>
where
    H: Handler + Send,
    F: Future<Output = ()> + Send + 'static,
{
    type Output = io::Result<()>;
    type IntoFuture = Pin<Box<dyn Future<Output = io::Result<()>> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.serve.run(self.signal))
    }
}

impl ListeningSocket for tokio::net::TcpListener {
    fn into_socket(self) -> io::Result<OwnedFd> {
        self.into_std().map(Into::into)
    }
}

impl ListeningSocket for tokio::net::UnixListener {
    fn into_socket(self) -> io::Result<OwnedFd> {
        self.into_std().map(Into::into)
    }
}

impl ListeningSocket for std::net::TcpListener {
    fn into_socket(self) -> io::Result<OwnedFd> {
        Ok(self.into())
    }
}

impl ListeningSocket for std::os::unix::net::UnixListener {
    fn into_socket(self) -> io::Result<OwnedFd> {
        Ok(self.into())
    }
}

fn io_error(error: Error) -> io::Error {
    match error {
        Error::System(error) => error,
        other => io::Error::other(other),
    }
}

impl<H> std::fmt::Debug for Serve<H> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Serve").field("socket", &self.socket).finish_non_exhaustive()
    }
}

impl<H, F> std::fmt::Debug for ServeUntil<H, F> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("ServeUntil").field("serve", &self.serve).finish_non_exhaustive()
    }
}
