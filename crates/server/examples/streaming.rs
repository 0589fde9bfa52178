//! Streams in both directions: `GET /` counts for ever, `POST /` sends back in capitals what it is sent, as it comes.
//!
//! ```text
//! curl -N http://127.0.0.1:8080/
//! curl -N -T - http://127.0.0.1:8080/ -X POST
//! ```

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use http_body::Frame;
use serow::{Body, BoxError, Bytes, KnownHeader, Method, Request, Response, Server};
use tokio::time::{Interval, interval};

fn main() -> Result<(), serow::Error> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:8080".to_owned());
    Server::new().listen(address).run(|request: Request| async move {
        let body = match request.method {
            Method::POST => Body::stream(Capitals(request.body)),
            _ => Body::stream(Count { number: 0, pace: interval(Duration::from_secs(1)) }),
        };
        Response::default().with(KnownHeader::ContentType, "text/plain; charset=utf-8").body(body)
    })
}

/// A line each second. The next is made only when the last was sent: a slow reader slows it down.
struct Count {
    number: u64,
    pace: Interval,
}

impl http_body::Body for Count {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        ready!(self.pace.poll_tick(context));
        self.number += 1;
        Poll::Ready(Some(Ok(Frame::data(format!("{}\n", self.number).into()))))
    }
}

/// The body of the request, in capitals.
struct Capitals(Body);

impl http_body::Body for Capitals {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let frame = ready!(self.0.poll_next(context));
        Poll::Ready(frame.map(|frame| frame.map(|frame| frame.map_data(|data| data.to_ascii_uppercase().into()))))
    }
}
