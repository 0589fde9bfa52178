//! Tells browsers to come with TLS only: a handler around a handler.

use std::time::Duration;

use serow::{Handler, KnownHeader, Request, Response, Scheme};

/// Tells browsers to come with TLS only (RFC 6797).
#[derive(Clone)]
pub(crate) struct StrictTransport<H> {
    inner: H,
    seconds: Option<u64>,
}

impl<H> StrictTransport<H> {
    /// For so long, if at all.
    pub(crate) fn new(inner: H, time: Option<Duration>) -> Self {
        Self { inner, seconds: time.map(|time| time.as_secs()) }
    }
}

impl<H: Handler> Handler for StrictTransport<H> {
    fn call(&self, request: Request) -> impl Future<Output = Response> + 'static {
        // RFC 6797 §7.2: not over plain connections, where anybody could have put it.
        let seconds = self.seconds.filter(|_| request.connection().scheme() == Scheme::Https);
        let response = self.inner.call(request);
        async move {
            let mut response = response.await;
            if let Some(seconds) = seconds {
                // A word and digits: always a valid field.
                let _ = response.headers.insert(KnownHeader::StrictTransportSecurity, format!("max-age={seconds}"));
            }
            response
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        pin::pin,
        task::{Context, Poll, Waker},
    };

    use serow::{Body, Connection, Headers, Method, Peer, RequestHead, Target, Version};

    use super::*;

    #[test]
    fn only_over_tls() {
        for (scheme, time, expected) in [
            (Scheme::Https, Some(365 * 86_400), Some("max-age=31536000")),
            (Scheme::Https, Some(0), Some("max-age=0")),
            (Scheme::Https, None, None),
            (Scheme::Http, Some(60), None),
        ] {
            let handler = StrictTransport::new(|_: Request| async { "text" }, time.map(Duration::from_secs));
            let connection = Connection::new(Peer::Unix, None, scheme);
            let head = RequestHead {
                method: Method::GET,
                target: Target::default(),
                version: Version::HTTP_11,
                headers: Headers::default(),
            };
            let request = Request::new(head, Body::empty(), connection);
            let response = pin!(handler.call(request));
            let Poll::Ready(response) = response.poll(&mut Context::from_waker(Waker::noop())) else {
                panic!("nothing to wait for")
            };
            assert_eq!(response.headers.get_str(KnownHeader::StrictTransportSecurity), expected);
        }
    }
}
