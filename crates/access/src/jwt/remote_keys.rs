//! Key sets of other servers, which are fetched outside of requests.

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::{Duration, Instant},
};

use bytes::Bytes;
use http::{Request, Response, StatusCode, header};
use serow_client::fetch::{FetchClient, TlsConnector, TlsSettingsError, connector};
use serow_net::time;
use tokio::{
    sync::{Notify, watch},
    time::{sleep_until, timeout},
};

use crate::jwt::{
    error::KeyError,
    kept_keys::KeptKeys,
    key_set::KeySet,
    schedule::{Demand, Schedule},
};

/// The key set at a URL. The last good one is kept while the server does not answer.
pub struct RemoteKeys {
    url: Request<()>,
    connector: TlsConnector,
    schedule: Mutex<Schedule>,
    /// A fetch is due now.
    demanded: Notify,
    fetched: watch::Sender<Fetched>,
    /// The file that has the last good set for the next process.
    kept: OnceLock<KeptKeys>,
}

#[derive(Clone, Debug, Default)]
struct Fetched {
    keys: Option<Arc<KeySet>>,
    /// The text that they were read from.
    text: Bytes,
    /// How many fetches have ended.
    count: u64,
}

/// The end of a fetch.
#[derive(Debug)]
pub struct FetchEnd {
    fetched: watch::Receiver<Fetched>,
    count: u64,
}

/// Why a key set cannot be fetched at all.
#[derive(Debug)]
#[non_exhaustive]
pub enum RemoteKeysError {
    /// The text is not a URL.
    Url(String),
    /// TLS with its server cannot be set up.
    Tls(TlsSettingsError),
}

impl RemoteKeys {
    /// The key set at this URL; a server with https:// has a certificate from the authorities in this file, or without a
    /// file, from those that the system trusts.
    ///
    /// # Errors
    ///
    /// The text is not a URL, or the authorities cannot be read.
    pub fn new(url: &str, ca_file: Option<&PathBuf>) -> Result<Self, RemoteKeysError> {
        let request = Request::get(url).body(()).ok().filter(|request| {
            let (scheme, authority) = (request.uri().scheme_str(), request.uri().authority());
            matches!(scheme, Some("http" | "https")) && authority.is_some_and(|name| !name.as_str().contains('@'))
        });
        let request = request.ok_or_else(|| {
            RemoteKeysError::Url(format!(
                "{url:?} is not a URL of a key set, as in https://login.example.com/jwks.json"
            ))
        })?;
        Ok(Self {
            url: request,
            connector: connector(ca_file).map_err(RemoteKeysError::Tls)?,
            schedule: Mutex::new(Schedule::new(time::now())),
            demanded: Notify::new(),
            fetched: watch::Sender::default(),
            kept: OnceLock::new(),
        })
    }

    /// The last good key set; nothing before the first.
    #[must_use]
    pub fn current(&self) -> Option<Arc<KeySet>> {
        self.fetched.borrow().keys.clone()
    }

    /// Keeps the last good set in this folder, which nobody else may write to. The set that an earlier process has kept
    /// there within the last day is in use until the first fetch.
    pub fn keep_in(&self, folder: &Path) {
        let kept = KeptKeys::new(folder, &self.url.uri().to_string());
        let text = kept.read(time::wall());
        if let Some((text, keys)) = text.and_then(|text| KeySet::parse_published(&text).ok().map(|keys| (text, keys))) {
            let keys = Some(Arc::new(keys));
            self.fetched.send_modify(|fetched| (fetched.keys, fetched.text) = (keys, text.into()));
        }
        let _ = self.kept.set(kept);
    }

    /// A key is missing, or all are: fetches the set early, at most twice a minute. Nothing if it was fetched lately.
    #[must_use]
    pub fn demand(&self, now: Instant) -> Option<FetchEnd> {
        let fetched = self.fetched.subscribe();
        let count = fetched.borrow().count;
        match self.schedule().demand(now) {
            Demand::Running => {}
            Demand::Begin => self.demanded.notify_one(),
            Demand::Refused => return None,
        }
        Some(FetchEnd { fetched, count })
    }

    /// Fetches the set when it is due, without end.
    pub(crate) async fn maintain(&self) {
        let client = FetchClient::start(self.connector.clone(), serow_client::fetch::FetchLimits::default());
        let mut last_warning = None;
        loop {
            let due = self.schedule().due();
            tokio::select! {
                () = sleep_until(due.into()) => {}
                () = self.demanded.notified() => {}
            }
            self.schedule().begin(time::now());
            let problem = self.fetch(&client).await.err();
            self.fetched.send_modify(|fetched| fetched.count += 1);
            let Some(problem) = problem else { continue };
            let now = time::now();
            let delay = self.schedule().fail(now);
            if last_warning.is_none_or(|last| now.duration_since(last) >= WARNING_INTERVAL) {
                last_warning = Some(now);
                let kept = match self.current() {
                    Some(_) => "the keys stay in use as they were before",
                    None => "requests with tokens are refused until there are keys",
                };
                tracing::warn!("the key set of {problem}; next attempt in {} s: {kept}", delay.as_secs());
            }
        }
    }

    async fn fetch(&self, client: &FetchClient) -> Result<(), String> {
        let request = Request::get(self.url.uri()).header(header::ACCEPT, "application/json").body(Bytes::new());
        let request = request.map_err(|error| format!("{self} cannot be fetched: {error}"))?;
        let response = client.fetch(request).await.map_err(|error| match error.is_untrusted() {
            true => format!("{error}; if it has a certificate of a private authority, set `ca`"),
            false => error.to_string(),
        })?;
        let max_age = max_age(&response);
        let body = response.body();
        if response.status() != StatusCode::OK {
            return Err(format!("{self} has the status {}: look at the URL", response.status()));
        }
        // An unchanged set stays in use: with a new one, all tokens would be verified again.
        if self.fetched.borrow().text == body {
            // It was kept, or a warning has said why not.
            let _ = self.kept.get().map(KeptKeys::confirm);
        } else {
            let text = std::str::from_utf8(body).map_err(|_| format!("{self} is not written in UTF-8"))?;
            let keys = KeySet::parse_published(text).map_err(|KeyError(problem)| format!("{self}: {problem}"))?;
            self.fetched.send_modify(|fetched| (fetched.keys, fetched.text) = (Some(Arc::new(keys)), body.clone()));
            if let Some(Err(error)) = self.kept.get().map(|kept| kept.write(text)) {
                tracing::warn!("the key set of {self} cannot be kept for the next start: {error}");
            }
            tracing::info!("the key set of {self} has been fetched and is in use");
        }
        self.schedule().succeed(time::now(), max_age);
        Ok(())
    }

    fn schedule(&self) -> MutexGuard<'_, Schedule> {
        self.schedule.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// RFC 9111 §5.2.2.1.
fn max_age(response: &Response<Bytes>) -> Option<Duration> {
    let directives = response.headers().get(header::CACHE_CONTROL)?.to_str().ok()?;
    let seconds = directives.split(',').find_map(|directive| directive.trim().strip_prefix("max-age="))?;
    seconds.trim_matches('"').parse().ok().map(Duration::from_secs)
}

impl FetchEnd {
    /// Waits until the fetch has ended, well or not, at most for some seconds.
    pub async fn wait(mut self) {
        let count = self.count;
        // It fails where the set has been dropped: no fetch will end then.
        let _ = timeout(MAX_WAIT, self.fetched.wait_for(|fetched| fetched.count > count)).await;
    }
}

impl fmt::Display for RemoteKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.url.uri().fmt(f)
    }
}

impl fmt::Debug for RemoteKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RemoteKeys").field(self.url.uri()).finish()
    }
}

impl RemoteKeysError {
    /// Whether the authorities cannot be used.
    #[must_use]
    pub fn is_tls(&self) -> bool {
        matches!(self, Self::Tls(_))
    }
}

impl fmt::Display for RemoteKeysError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Url(text) => f.write_str(text),
            Self::Tls(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for RemoteKeysError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Url(_) => None,
            Self::Tls(error) => error.source(),
        }
    }
}

/// While an issuer is down, once a minute is enough to say so.
const WARNING_INTERVAL: Duration = Duration::from_secs(60);

/// How long a request waits for keys; clients wait longer for a page.
const MAX_WAIT: Duration = Duration::from_secs(5);
