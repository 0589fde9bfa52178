//! Requests as they are written, and responses as they arrive.

use std::{fmt::Debug, future::poll_fn, task::Poll};

use serow::{Headers, RequestHead};
use serow_client::{ClientError, Http1};
use serow_http1::Event;
use serow_streams::ClientEvent;

use super::{clients::Asked, received::Received};

/// An exchange over HTTP/1.1. The head is sent as it is: the connection would write some fields itself.
pub(super) async fn http1(connection: &mut Http1, head: &RequestHead, asked: &Asked) -> Result<Received, ClientError> {
    let mut text = format!("{} {} HTTP/1.1\r\n", head.method, head.target.as_str()).into_bytes();
    for (name, value) in &head.headers {
        text.extend_from_slice(&[name, b": ", value, b"\r\n"].concat());
    }
    text.extend_from_slice(b"\r\n");
    text.extend_from_slice(&asked.content());
    connection.send_written(text.into());
    connection.expect(&head.method).unwrap();
    let mut received = Response::default();
    poll_fn(|context| {
        loop {
            let event = connection.poll_receive(context)?;
            let _ = connection.poll_flush(context)?;
            match event {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Event::Head(response)) if response.is_informational() => {}
                Poll::Ready(Event::Head(response)) => {
                    received.begin(response.head.status.as_u16(), response.head.headers)
                }
                Poll::Ready(Event::Data(piece)) => received.body.extend_from_slice(&piece),
                Poll::Ready(Event::End(_)) => return Poll::Ready(Ok::<_, ClientError>(())),
            }
        }
    })
    .await?;
    Ok(received.whole())
}

/// A response that arrives.
#[derive(Default)]
pub(super) struct Response {
    head: Option<(u16, Headers)>,
    body: Vec<u8>,
}

impl Response {
    /// Adds an event of HTTP/2 or HTTP/3; returns whether it is the last.
    pub(super) fn add<C: Debug>(&mut self, event: ClientEvent<C>) -> bool {
        match event {
            ClientEvent::Response(response) if response.head.status.is_informational() => false,
            ClientEvent::Response(response) => {
                self.begin(response.head.status.as_u16(), response.head.headers);
                !response.has_body
            }
            ClientEvent::Data { data, .. } => {
                self.body.extend_from_slice(&data);
                false
            }
            ClientEvent::End { .. } => true,
            ClientEvent::Reset { code, .. } => panic!("the server resets the stream: {code:?}"),
            ClientEvent::GoAway { code } => panic!("the server ends the connection: {code:?}"),
        }
    }

    fn begin(&mut self, status: u16, headers: Headers) {
        self.head = Some((status, headers));
    }

    /// The whole response.
    pub(super) fn whole(self) -> Received {
        let (status, headers) = self.head.expect("a head");
        Received::new(status, &headers, &self.body)
    }
}
