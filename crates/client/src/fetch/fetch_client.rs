//! The client, which other threads use as well.

use std::{path::PathBuf, rc::Rc, time::Duration};

use crate::{Protocol, TlsClientSettings, TlsConnector, TlsSettingsError, Trust};
use bytes::Bytes;
use http::{Request, Response};
use tokio::{
    sync::{mpsc, oneshot},
    task::spawn_local,
};

use crate::fetch::{
    connections::{Connections, host_of},
    error::FetchError,
};

/// A client of other servers. Clones share its connections, which belong to the thread of [`FetchClient::start`].
#[derive(Clone, Debug)]
pub struct FetchClient {
    exchanges: mpsc::UnboundedSender<PendingFetch>,
}

/// How much time and memory a request may take.
#[derive(Clone, Copy, Debug)]
pub struct FetchLimits {
    /// From the name's resolution to the end of the response; by default 10 s.
    pub timeout: Duration,
    /// The size of a response's body in bytes; by default 256 KiB.
    pub response: usize,
}

/// A request, and where its response goes.
#[derive(Debug)]
struct PendingFetch {
    request: Request<Bytes>,
    response: oneshot::Sender<Result<Response<Bytes>, FetchError>>,
}

/// TLS with servers whose certificates the authorities of this file must have issued; without a file, those that the
/// system trusts.
///
/// # Errors
///
/// The file cannot be used, or the system trusts nobody.
pub fn connector(ca_file: Option<&PathBuf>) -> Result<TlsConnector, TlsSettingsError> {
    let trust = ca_file.map_or(Trust::System, |file| Trust::File(file.clone()));
    TlsConnector::new(TlsClientSettings { trust, protocols: vec![Protocol::Http1], ..TlsClientSettings::default() })
}

impl FetchClient {
    /// Starts a client on this thread, which runs a local runtime. Callers bound how many requests they send at a time.
    #[must_use]
    pub fn start(connector: TlsConnector, limits: FetchLimits) -> Self {
        let connections = Rc::new(Connections::new(connector, limits));
        let (exchanges, mut received) = mpsc::unbounded_channel::<PendingFetch>();
        spawn_local(async move {
            while let Some(PendingFetch { request, response }) = received.recv().await {
                let connections = Rc::clone(&connections);
                // The caller may no longer wait for the response.
                spawn_local(async move { response.send(connections.send(&request).await).is_ok() });
            }
        });
        Self { exchanges }
    }

    /// Sends a request with an absolute URL, and returns its response with the whole body.
    ///
    /// # Errors
    ///
    /// There is no response within the limits. A response with any status is a response.
    pub async fn fetch(&self, request: Request<Bytes>) -> Result<Response<Bytes>, FetchError> {
        let host = host_of(&request);
        let ended = || FetchError::new(host.clone(), "was not asked: the client has ended".to_owned().into());
        let (sender, receiver) = oneshot::channel();
        self.exchanges.send(PendingFetch { request, response: sender }).map_err(|_| ended())?;
        receiver.await.map_err(|_| ended())?
    }
}

impl Default for FetchLimits {
    fn default() -> Self {
        Self { timeout: TIMEOUT, response: MAX_RESPONSE }
    }
}

/// Servers of this kind answer within a second.
const TIMEOUT: Duration = Duration::from_secs(10);

/// A chain of certificates has less than 20 KiB, a set of keys less than 50; more would be an attack on our memory.
const MAX_RESPONSE: usize = 256 * 1024;
