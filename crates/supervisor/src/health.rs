//! Health checks of new workers.

mod url;

use std::{future::poll_fn, rc::Rc, time::Duration};

use serow_client::{
    Buffers, ClientEncryption, Destination, Dialer, Http1, Protocol, Resumption, TlsClientSettings, TlsConnector, Trust,
};
use serow_http1::{Event as HttpEvent, Limits};
use serow_message::{BodyLength, Headers, KnownHeader, Method, RequestHead, StatusCode, Target, Version};
use tokio::{
    net::lookup_host,
    sync::mpsc::Sender,
    time::{sleep, timeout},
};

use self::url::{CheckAddress, Question};
pub use self::url::{HealthUrl, HealthUrlError};
use crate::machine::Event;

/// Sends requests until a response has status 200, and reports that.
pub(crate) async fn wait(question: Question, pid: u32, events: Sender<Event>) {
    loop {
        for dialer in dialers(&question).await {
            if let Ok(true) = timeout(TIMEOUT, is_healthy(&dialer, &question)).await {
                // Sending fails if the supervisor has ended.
                let _ = events.send(Event::Healthy(pid)).await;
                return;
            }
        }
        sleep(PAUSE).await;
    }
}

/// A dialer for each address. The addresses of a name may change.
async fn dialers(question: &Question) -> Vec<Dialer> {
    let destinations: Vec<_> = match &question.place {
        CheckAddress::Unix(path) => vec![Destination::Unix(path.clone())],
        CheckAddress::Tcp(host, port) => {
            let addresses = lookup_host((host.as_str(), *port)).await;
            addresses.into_iter().flatten().map(Destination::Tcp).collect()
        }
    };
    let encryption = question.server_name.as_ref().and_then(|name| {
        // It is our own worker, and its certificate is made out to another name than the one it is asked at.
        let protocols = vec![Protocol::Http1];
        let resumption = Resumption::Off;
        let settings = TlsClientSettings { trust: Trust::Unchecked, protocols, resumption, ..Default::default() };
        let connector = TlsConnector::new(settings).ok()?;
        Some(ClientEncryption { connector, server_name: name.clone(), protocol: None })
    });
    if question.server_name.is_some() && encryption.is_none() {
        return Vec::new();
    }
    let dialer = |destination| Dialer { destination, encryption: encryption.clone(), timeout: TIMEOUT };
    destinations.into_iter().map(dialer).collect()
}

/// One request on a connection of its own: the kernel decides which worker gets the next connection.
async fn is_healthy(dialer: &Dialer, question: &Question) -> bool {
    let buffers: Rc<Buffers> = Rc::default();
    let Ok(wire) = dialer.dial(&buffers).await else { return false };
    let mut connection = Http1::new(wire, buffers, Limits::default());
    let Some(head) = head(question) else { return false };
    if connection.send_head(&head, BodyLength::Known(0)).is_err()
        || poll_fn(|context| connection.poll_flush(context)).await.is_err()
    {
        return false;
    }
    loop {
        match poll_fn(|context| connection.poll_receive(context)).await {
            Ok(HttpEvent::Head(response)) if response.is_informational() => {}
            Ok(HttpEvent::Head(response)) => return response.head.status == StatusCode::OK,
            _ => return false,
        }
    }
}

fn head(question: &Question) -> Option<RequestHead> {
    let mut headers = Headers::new();
    headers.insert(KnownHeader::Host, question.authority.clone()).ok()?;
    let target = Target::parse(question.path.clone().into(), false).ok()?;
    Some(RequestHead { method: Method::GET, target, version: Version::HTTP_11, headers })
}

/// The timeout of a response. A worker that needs longer for a health check is not up.
const TIMEOUT: Duration = Duration::from_secs(2);

/// The interval between two checks.
const PAUSE: Duration = Duration::from_millis(100);
