//! Clients of a real server: a connection of each version, with TLS and without.

use std::{future::poll_fn, rc::Rc, task::Poll, time::Duration};

use serow::{RequestHead, Version};
use serow_client::{
    Buffers, ClientEncryption, ClientError, Destination, Dialer, Http1, Http2, Http3, Http3Dialer, Http3Limits,
    IdleHttp1, Protocol, TlsClientSettings, TlsConnector, Trust,
};
use serow_net::monotonic;
use tokio::time::timeout;

use super::{clients::Asked, exchanges, listener::Listener, received::Received};

/// The connections of a client to a server. Those of HTTP/1.1 and HTTP/2 are in pairs: without TLS, and with it.
pub(super) struct Connections {
    buffers: Rc<Buffers>,
    dialers: Dialers,
    http1: [Option<IdleHttp1>; 2],
    http2: [Option<Http2>; 2],
    http3: Option<Http3>,
    /// Ends behind the connections.
    _listener: Listener,
}

struct Dialers {
    http1: [Dialer; 2],
    http2: [Dialer; 2],
}

impl Connections {
    /// None yet.
    pub(super) fn new(listener: Listener) -> Self {
        let clear = Dialer { destination: Destination::Tcp(listener.clear), encryption: None, timeout: MAX_WAIT };
        let encrypted = |protocol| Dialer {
            destination: Destination::Tcp(listener.encrypted),
            encryption: Some(encryption(protocol)),
            timeout: MAX_WAIT,
        };
        let dialers =
            Dialers { http1: [clear.clone(), encrypted(Protocol::Http1)], http2: [clear, encrypted(Protocol::Http2)] };
        Self {
            buffers: Rc::default(),
            dialers,
            http1: Default::default(),
            http2: Default::default(),
            http3: None,
            _listener: listener,
        }
    }

    /// Sends a request, and returns its response.
    pub(super) async fn send(&mut self, head: &RequestHead, asked: &Asked) -> Received {
        let exchange = async {
            match head.version {
                Version::HTTP_2 => self.send_by_http2(head, asked).await,
                Version::HTTP_3 => self.send_by_http3(head, asked).await,
                _ => self.send_by_http1(head, asked).await,
            }
        };
        timeout(MAX_WAIT, exchange).await.expect("a response").unwrap()
    }

    async fn send_by_http1(&mut self, head: &RequestHead, asked: &Asked) -> Result<Received, ClientError> {
        let place = usize::from(asked.is_secure);
        let idle = self.http1[place].take().and_then(|idle| idle.into_active().ok());
        let mut connection = match idle {
            Some(connection) => connection,
            None => {
                let wire = self.dialers.http1[place].dial(&self.buffers).await.unwrap();
                Box::new(Http1::new(wire, Rc::clone(&self.buffers), serow_http1::Limits::default()))
            }
        };
        let received = exchanges::http1(&mut connection, head, asked).await?;
        self.http1[place] = connection.into_idle().ok();
        Ok(received)
    }

    async fn send_by_http2(&mut self, head: &RequestHead, asked: &Asked) -> Result<Received, ClientError> {
        let place = usize::from(asked.is_secure);
        if self.http2[place].is_none() {
            let wire = self.dialers.http2[place].dial(&self.buffers).await.unwrap();
            let limits = serow_http2::Limits::default();
            self.http2[place] = Some(Http2::new(wire, Rc::clone(&self.buffers), limits, monotonic()));
        }
        let connection = self.http2[place].as_mut().unwrap();
        let scheme = if asked.is_secure { "https" } else { "http" };
        let asking = serow_http2::Asking { scheme, ..serow_http2::Asking::default() };
        let stream = connection.open(head, &asked.content(), asking).unwrap();
        let mut received = exchanges::Response::default();
        poll_fn(|context| {
            loop {
                let event = connection.poll_receive(context, monotonic())?;
                let _ = connection.poll_flush(context)?;
                let Poll::Ready(event) = event else { return Poll::Pending };
                if let serow_http2::ClientEvent::Data { data, .. } = &event {
                    connection.note_consumed(stream, data.len());
                }
                if received.add(event) {
                    return Poll::Ready(Ok::<_, ClientError>(()));
                }
            }
        })
        .await?;
        Ok(received.whole())
    }

    async fn send_by_http3(&mut self, head: &RequestHead, asked: &Asked) -> Result<Received, ClientError> {
        if self.http3.is_none() {
            let dialer = Http3Dialer::new(&self.dialers.http2[1]).unwrap();
            self.http3 = Some(dialer.dial(Http3Limits::default(), monotonic()).await.unwrap());
        }
        let connection = self.http3.as_mut().unwrap();
        connection.open(head, &asked.content(), serow_http3::Asking::default()).unwrap();
        let mut received = exchanges::Response::default();
        poll_fn(|context| {
            loop {
                let event = connection.poll_receive(context, monotonic())?;
                let _ = connection.poll_flush(context);
                let Poll::Ready(event) = event else { return Poll::Pending };
                if received.add(event) {
                    return Poll::Ready(Ok::<_, ClientError>(()));
                }
            }
        })
        .await?;
        Ok(received.whole())
    }
}

fn encryption(protocol: Protocol) -> ClientEncryption {
    let settings =
        TlsClientSettings { trust: Trust::Unchecked, protocols: vec![protocol], ..TlsClientSettings::default() };
    let connector = TlsConnector::new(settings).unwrap();
    ClientEncryption { connector, server_name: "a.example".to_owned(), protocol: Some(protocol) }
}

/// Much longer than a busy machine takes.
const MAX_WAIT: Duration = Duration::from_secs(60);
