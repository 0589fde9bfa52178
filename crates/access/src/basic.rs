//! Basic authentication (RFC 7617).

use std::{
    fmt,
    net::IpAddr,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Instant,
};

use serow_message::Headers;
use serow_net::time;
use tokio::sync::oneshot;

use crate::{
    credentials::Credentials,
    htpasswd::Htpasswd,
    password_checker::{PasswordQueue, Refused},
    password_counts::PasswordOutcome,
    verified::Verified,
    watched_file::WatchedFile,
};

/// Users with passwords, as a password file has them.
///
/// A right password is remembered for ten minutes, so that the following requests wait for nothing.
#[derive(Clone)]
pub struct Basic {
    shared: Arc<Shared>,
}

struct Shared {
    file: Arc<WatchedFile<Htpasswd>>,
    queue: PasswordQueue,
    verified: Verified,
    begun: Instant,
}

/// The user of a request, or why there is none.
#[derive(Debug)]
pub enum Authentication {
    /// This user.
    User(Arc<str>),
    /// The request names no known user.
    Unknown,
    /// It takes a moment to find out.
    Checking(Checking),
    /// It cannot be found out now: this client tries many passwords.
    TooManyTries,
    /// It cannot be found out now: many clients try passwords.
    Busy,
}

/// Waits until a password is checked.
#[derive(Debug)]
pub struct Checking {
    outcome: oneshot::Receiver<bool>,
    user: Arc<str>,
    client: Option<IpAddr>,
    digest: [u8; 32],
    /// Whether there is such a user.
    is_known: bool,
    basic: Basic,
}

impl Basic {
    /// The users of this file, whose passwords are checked from this queue.
    #[must_use]
    pub fn new(file: Arc<WatchedFile<Htpasswd>>, queue: PasswordQueue) -> Self {
        Self { shared: Arc::new(Shared { file, queue, verified: Verified::new(), begun: time::now() }) }
    }

    /// The user of a request with these headers; `client` is where it comes from, `None` a unix socket.
    #[must_use]
    pub fn authenticate(&self, headers: &Headers, client: Option<IpAddr>) -> Authentication {
        let shared = &*self.shared;
        let Some(credentials) = Credentials::of(headers) else { return Authentication::Unknown };
        let Some((hash, is_known)) = shared.file.current().hash(credentials.user()) else {
            return Authentication::Unknown;
        };
        let digest = shared.verified.digest(&credentials, &hash);
        if is_known && shared.verified.contains(&digest, self.now()) {
            return Authentication::User(credentials.user().into());
        }
        let (user, password) = credentials.into_parts();
        match shared.queue.check(client, hash, password) {
            Ok(outcome) => Authentication::Checking(Checking {
                outcome,
                user: user.into(),
                client,
                digest,
                is_known,
                basic: self.clone(),
            }),
            Err(Refused::Client) => Authentication::TooManyTries,
            Err(Refused::Queue) => Authentication::Busy,
        }
    }

    /// In seconds.
    fn now(&self) -> u64 {
        time::now().duration_since(self.shared.begun).as_secs()
    }
}

impl Future for Checking {
    /// The user, if the password is right.
    type Output = Option<Arc<str>>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let outcome = ready!(Pin::new(&mut self.outcome).poll(context));
        // The threads have ended: so does the server.
        let is_right = outcome.unwrap_or(false) && self.is_known;
        let counted = if is_right { PasswordOutcome::Right } else { PasswordOutcome::Wrong };
        self.basic.shared.queue.counts().note(counted, self.client);
        if !is_right {
            return Poll::Ready(None);
        }
        self.basic.shared.verified.insert(self.digest, self.basic.now());
        Poll::Ready(Some(Arc::clone(&self.user)))
    }
}

impl fmt::Debug for Basic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Basic").field(&self.shared.file.path()).finish()
    }
}
