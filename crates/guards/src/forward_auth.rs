//! Forward authentication: another server decides about a request.
//!
//! It gets a GET with the header fields of the request, and fields that describe the request. With 2xx the request goes
//! on; a redirect, 401 or 403 is the response to the client. Anything else lets nobody in.

mod answer;
mod decisions;
mod question;

use std::{
    fmt,
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use serow_gateway::{TrustedProxies, error_page};
use serow_message::{Body, Request, StatusCode, Target};
use serow_net::{WarningPace, monotonic};
use serow_proxy::Proxy;
use serow_variables::Text;
use tokio::{task::spawn_local, time::timeout};

use self::{answer::Answer, decisions::Decisions};
use crate::identity::Verdict;

/// How another server decides about requests.
#[derive(Clone, Debug)]
pub struct ForwardAuthSettings {
    /// The target of its requests: a path, perhaps with a query.
    pub target: Target,
    /// Fields that its requests get, from the request that it decides about; one that is empty is removed.
    pub set_header: Vec<(String, Text)>,
    /// Fields of its response that the request gets; those that clients send are removed.
    pub copy: Vec<Arc<str>>,
    /// Fields of its response that the client gets.
    pub copy_response: Vec<Arc<str>>,
    /// Which of the fields in `copy` names the user.
    pub user: Option<Arc<str>>,
    /// How long it may take, with its body.
    pub timeout: Duration,
    /// How long its permission for a request counts for the same request; zero: it decides about each.
    pub cache: Duration,
    /// The fields of a request that it looks at.
    pub cache_key: Vec<Arc<str>>,
    /// The proxies whose statement of the client's address counts.
    pub trust: Arc<TrustedProxies>,
}

/// Asks another server about requests. Clones ask the same, and share what it has said.
#[derive(Clone)]
pub struct ForwardAuth {
    shared: Arc<ForwardAuthState>,
}

struct ForwardAuthState {
    settings: ForwardAuthSettings,
    proxy: Proxy,
    decisions: Decisions,
    warning: WarningPace,
    /// How many errors there were.
    errors: AtomicU64,
}

impl ForwardAuth {
    /// Asks by this proxy, which passes all fields on and writes none that describe the client.
    #[must_use]
    pub fn new(settings: ForwardAuthSettings, proxy: Proxy) -> Self {
        let (warning, errors) = (WarningPace::new(), AtomicU64::new(0));
        let shared = ForwardAuthState { settings, proxy, decisions: Decisions::default(), warning, errors };
        Self { shared: Arc::new(shared) }
    }

    /// The fields of a request that only the other server may set.
    pub(crate) fn fields(&self) -> impl Iterator<Item = &str> {
        self.shared.settings.copy.iter().map(|name| &**name)
    }

    /// Finds out what the other server says about a request.
    pub(crate) fn check(&self, request: &Request, client: Option<IpAddr>) -> Verdict {
        let settings = &self.shared.settings;
        let digest = (!settings.cache.is_zero()).then(|| self.shared.decisions.digest(request, client, settings));
        if let Some(identity) = digest.and_then(|digest| self.shared.decisions.find(&digest, monotonic())) {
            return Verdict::Passed(identity);
        }
        let Some(question) = question::of(request, settings) else {
            return Verdict::Refused(error_page(StatusCode::BAD_REQUEST, &request.headers));
        };
        let (shared, headers) = (Arc::clone(&self.shared), request.headers.clone());
        let response = self.shared.proxy.respond(question);
        Verdict::Pending(Box::pin(async move {
            let reading = async { answer::read(response.await, &shared.settings).await };
            let answer = match timeout(shared.settings.timeout, reading).await {
                Ok(answer) => answer,
                Err(_) => Answer::Error(StatusCode::GATEWAY_TIMEOUT.into(), "it did not respond in time".to_owned()),
            };
            match answer {
                Answer::Passed(identity, body) => {
                    discard(body);
                    if let Some(digest) = digest {
                        shared.decisions.insert(digest, &identity, monotonic(), shared.settings.cache);
                    }
                    Ok(identity)
                }
                Answer::Refused(response) => Err(response),
                Answer::Error(reason, text) => {
                    shared.warn(&text);
                    Err(error_page(reason, &headers))
                }
            }
        }))
    }
}

impl ForwardAuthState {
    /// Logs why requests are refused, at most once in a minute: a server that fails does so for thousands of requests.
    fn warn(&self, text: &str) {
        let errors = self.errors.fetch_add(1, Ordering::Relaxed) + 1;
        if !self.warning.is_due() {
            return;
        }
        let (name, path) = (&self.proxy.upstream().settings().name, self.settings.target.path());
        tracing::error!("forward-auth {name}{path}: requests are refused: {text}; {errors} so far");
    }
}

impl fmt::Debug for ForwardAuth {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ForwardAuth").field("settings", &self.shared.settings).finish_non_exhaustive()
    }
}

/// Reads a short body, so that its connection is kept; a longer one is cut off.
fn discard(mut body: Body) {
    if body.is_end() {
        return;
    }
    spawn_local(async move {
        let reading = async {
            let mut read = 0;
            while let Some(Ok(piece)) = body.chunk().await {
                read += piece.len();
                if read > MAX_DISCARDED {
                    return;
                }
            }
        };
        let _ = timeout(DISCARD_TIMEOUT, reading).await;
    });
}

/// It is cheaper to open another connection than to read more.
const MAX_DISCARDED: usize = 64 << 10;

/// Servers send such a body together with its head.
const DISCARD_TIMEOUT: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn settings() -> ForwardAuthSettings {
        ForwardAuthSettings {
            target: Target::parse("/api/verify?rd=https://auth.example/".into(), false).unwrap(),
            set_header: Vec::new(),
            copy: vec!["Remote-User".into(), "Remote-Groups".into()],
            copy_response: vec!["Set-Cookie".into()],
            user: Some("Remote-User".into()),
            timeout: Duration::from_secs(5),
            cache: Duration::from_secs(10),
            cache_key: vec!["Cookie".into(), "Authorization".into()],
            trust: Arc::default(),
        }
    }
}
