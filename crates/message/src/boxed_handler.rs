//! A handler without its type.

use core::{fmt, future::Future, pin::Pin};
use std::boxed::Box;

use crate::{Handler, Request, Response};

/// A handler with its type erased: for a handler that is chosen at run time, for collections of different handlers, and
/// for faster builds, since a server is compiled again for each type of handler.
///
/// It costs one allocation per request, and a call that cannot be inlined.
///
/// ```
/// use serow_message::{BoxedHandler, HandlerExt, Request, Response};
///
/// fn handler(is_open: bool) -> BoxedHandler {
///     match is_open {
///         true => (|request: Request| async move { Response::text(request.target.path().to_owned()) }).boxed(),
///         false => (|_: Request| async { Response::text("closed") }).boxed(),
///     }
/// }
/// ```
pub struct BoxedHandler {
    handler: Box<dyn Erased>,
}

/// The object-safe form of a handler.
trait Erased: Send {
    fn call(&self, request: Request) -> Pin<Box<dyn Future<Output = Response>>>;
    fn note_refused(&self, request: &mut Request);
    fn copy(&self) -> Box<dyn Erased>;
}

impl<H: Handler + Send> Erased for H {
    fn call(&self, request: Request) -> Pin<Box<dyn Future<Output = Response>>> {
        Box::pin(Handler::call(self, request))
    }

    fn note_refused(&self, request: &mut Request) {
        Handler::note_refused(self, request);
    }

    fn copy(&self) -> Box<dyn Erased> {
        Box::new(self.clone())
    }
}

impl BoxedHandler {
    /// Boxes a handler.
    pub fn new(handler: impl Handler + Send) -> Self {
        Self { handler: Box::new(handler) }
    }
}

impl Handler for BoxedHandler {
    fn call(&self, request: Request) -> impl Future<Output = Response> + 'static {
        self.handler.call(request)
    }

    fn note_refused(&self, request: &mut Request) {
        self.handler.note_refused(request);
    }
}

impl Clone for BoxedHandler {
    fn clone(&self) -> Self {
        Self { handler: self.handler.copy() }
    }
}

impl fmt::Debug for BoxedHandler {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("BoxedHandler").finish_non_exhaustive()
    }
}
