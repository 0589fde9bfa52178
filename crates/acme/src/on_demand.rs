//! Certificates that are ordered when a client requests their name: settings, and the requests of handshakes.
//!
//! Strangers choose these names. `state.rs` limits what they can cause, `permission.rs` finds out which names may have a
//! certificate, and `orders.rs` loads, orders and renews. Stored certificates are loaded by the first handshake with
//! their name, not at the start: a server with tens of thousands starts at once, and what nobody requests is neither in
//! memory nor renewed.

mod orders;
mod permission;
mod state;

use std::{
    fmt,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use serow_net::time;
use serow_tls::{CertificatePending, OnDemandCertificates};
use tokio::sync::{Semaphore, mpsc};

pub(crate) use self::{
    orders::OnDemandOrders,
    permission::PermissionClient,
    state::{Answer, DemandState},
};
use crate::{CertificateName, KeyKind};

/// Certificates that are ordered when a client requests their name.
#[derive(Clone, Debug)]
pub struct OnDemand {
    /// Decides which names may have a certificate.
    pub permission: OnDemandPermission,
    /// Orders begun in a time.
    pub rate: OrderRate,
    /// Names that have a certificate, or are about to have one, at the same time.
    pub limit: usize,
    /// The kind of their keys.
    pub key: KeyKind,
}

/// Decides which names may have a certificate: otherwise strangers could have any name ordered that leads to the server.
#[derive(Clone)]
pub enum OnDemandPermission {
    /// This URL, with the name behind it: a status from 200 to 299 allows it.
    Url(String),
    /// A function of the program that embeds the server. It is called on the certificate manager's thread.
    Function(PermissionFunction),
}

/// Whether a name may have a certificate.
pub type PermissionFunction = Arc<dyn Fn(&str) -> Pin<Box<dyn Future<Output = bool> + Send>> + Send + Sync>;

/// How many orders may begin in a time: so many at once at first, and then as time passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderRate {
    /// Orders, at least one.
    pub count: u32,
    /// In this time, more than zero.
    pub period: Duration,
}

impl OnDemand {
    /// With the default limits.
    #[must_use]
    pub fn new(permission: OnDemandPermission) -> Self {
        Self { permission, rate: OrderRate::default(), limit: Self::DEFAULT_LIMIT, key: KeyKind::default() }
    }

    /// Names: as many certificates take less than 20 MB of memory.
    pub const DEFAULT_LIMIT: usize = 1000;
}

impl Default for OrderRate {
    /// Five in a minute: 300 in an hour, while Let's Encrypt allows 300 in three hours, so that a burst of new customers
    /// does not use up the limit of an account at once.
    fn default() -> Self {
        Self { count: 5, period: Duration::from_secs(60) }
    }
}

impl fmt::Debug for OnDemandPermission {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Url(url) => formatter.debug_tuple("Url").field(url).finish(),
            Self::Function(_) => formatter.write_str("Function"),
        }
    }
}

/// The requests of all threads' handshakes.
pub(crate) struct Demands {
    state: Mutex<DemandState>,
    waiting: Arc<Semaphore>,
    /// Names to load or order.
    names: mpsc::UnboundedSender<CertificateName>,
}

impl Demands {
    pub(crate) fn new(settings: &OnDemand) -> (Arc<Self>, mpsc::UnboundedReceiver<CertificateName>) {
        // The state bounds what is in it.
        let (names, requested) = mpsc::unbounded_channel();
        let state = Mutex::new(DemandState::new(settings.rate, settings.limit, time::now()));
        (Arc::new(Self { state, waiting: Arc::new(Semaphore::new(MAX_WAITING)), names }), requested)
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, DemandState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OnDemandCertificates for Demands {
    fn request(&self, name: &str, has_certificate: bool) -> Option<CertificatePending> {
        if has_certificate {
            self.state().note_use(name);
            return None;
        }
        let certificate_name = orderable(name)?;
        let permit = Arc::clone(&self.waiting).try_acquire_owned().ok()?;
        let (answer, ended) = self.state().request(name, time::now());
        let ended = ended?;
        if answer == Answer::Begin && self.names.send(certificate_name).is_err() {
            // The manager has ended.
            self.state().end(name);
            return None;
        }
        Some(Box::pin(async move {
            // Dropped when it is settled, without a message.
            let _ = ended.await;
            drop(permit);
        }))
    }
}

/// The name, if a certificate may be ordered for it although a stranger chose it: not an address, a wildcard, a name of
/// one label, or one that only this machine can have. Its characters need no encoding in a URL.
fn orderable(name: &str) -> Option<CertificateName> {
    let parsed: CertificateName = name.parse().ok()?;
    let CertificateName::Dns(domain) = &parsed else { return None };
    let last = domain.rsplit('.').next()?;
    // `1.2.3` is not an address here, but is one to many resolvers.
    let is_number = last.bytes().all(|byte| byte.is_ascii_digit());
    (!parsed.is_wildcard() && last != "localhost" && !is_number).then_some(parsed)
}

/// Handshakes that wait: each has a socket and some KiB. More would let strangers use up the memory and the sockets of
/// the server with names that take long.
const MAX_WAITING: usize = 1000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_public_dns_names_are_orderable() {
        for name in ["shop.example.com", "xn--bcher-kva.example", "a.b"] {
            assert!(orderable(name).is_some(), "{name}");
        }
        let long = format!("{}.com", ["a"; 130].join("."));
        for name in [
            "192.0.2.1",
            "2001:db8::1",
            "*.example.com",
            "localhost",
            "a.localhost",
            "example",
            "1.2.3",
            "a_b.com",
            "",
            &long,
        ] {
            assert!(orderable(name).is_none(), "{name}");
        }
    }

    #[test]
    fn a_flood_of_a_million_names_leaves_bounded_state() {
        let (demands, mut requested) =
            Demands::new(&OnDemand::new(OnDemandPermission::Url("http://127.0.0.1/".to_owned())));
        let mut asked = 0;
        for number in 0..1_000_000 {
            let pending = demands.request(&format!("n{number}.example.com"), false);
            // Every fourth question is answered in time.
            if number % 4 == 0
                && let Ok(name) = requested.try_recv()
            {
                asked += 1;
                demands.state().refuse(&name.to_string(), time::now(), Duration::from_secs(60));
            }
            drop(pending);
        }
        let (places, refused) = demands.state().sizes();
        assert!(asked > 100_000, "{asked}");
        assert!(places <= state::MAX_QUESTIONS, "{places}");
        assert!(refused <= state::MAX_REFUSED, "{refused}");
        assert!(requested.len() <= state::MAX_QUESTIONS);
        assert_eq!(demands.waiting.available_permits(), MAX_WAITING);
    }

    #[test]
    fn waiting_handshakes_are_bounded() {
        let settings = OnDemand::new(OnDemandPermission::Url("http://127.0.0.1/".to_owned()));
        let (demands, _requested) = Demands::new(&settings);
        let waiting: Vec<_> = (0..MAX_WAITING + 5).filter_map(|_| demands.request("a.example.com", false)).collect();
        assert_eq!(waiting.len(), MAX_WAITING);
        drop(waiting);
        assert!(demands.request("a.example.com", false).is_some());
    }
}
