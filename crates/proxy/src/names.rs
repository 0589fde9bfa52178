//! Servers given by name: DNS resolution, repeated as long as the name is in the upstream.
//!
//! | what | file |
//! | --- | --- |
//! | from what was found to servers | `names/membership.rs` |
//! | when it is looked up again | `names/pace.rs` |
//! | hosts and services, from files and name servers | crate `serow-dns` |

mod membership;
mod pace;

use std::{
    rc::Rc,
    sync::{Arc, mpsc::Sender},
    time::Duration,
};

use serow_dns::{Answer, LookupError, Resolver, ResolverSettings};
use tokio::{
    task::{AbortHandle, spawn_local},
    time::{Instant, sleep},
};

use self::{membership::Member, pace::Pace};
use crate::{ServerLocation, settings::ServerSettings, upstream::Upstream};

/// Looks up the names of an upstream, those as well that come later, until this is dropped. `first` is dropped when all
/// names that are there now have been looked up for the first time.
pub(crate) async fn resolve_names(upstream: Upstream, settings: ResolverSettings, first: Sender<()>) {
    let resolver = Rc::new(Resolver::new(settings));
    let mut first = Some(first);
    let mut under_way: Vec<Resolution> = Vec::new();
    loop {
        let mut changed = Box::pin(upstream.changed());
        changed.as_mut().enable();
        let named = upstream.named();
        under_way.retain(|known| named.iter().any(|server| known.is_for(server)));
        for server in named {
            if !under_way.iter().any(|known| known.is_for(&server)) {
                let settings = Arc::clone(&server);
                let task = resolve_forever(upstream.clone(), settings, Rc::clone(&resolver), first.clone());
                under_way.push(Resolution { server, task: spawn_local(task).abort_handle() });
            }
        }
        first = None;
        changed.await;
    }
}

/// The look-ups of a name, until this is dropped.
struct Resolution {
    server: Arc<ServerSettings>,
    task: AbortHandle,
}

impl Resolution {
    /// One that was taken out and given again is not the same: its servers are gone.
    fn is_for(&self, server: &Arc<ServerSettings>) -> bool {
        Arc::ptr_eq(&self.server, server)
    }
}

impl Drop for Resolution {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn resolve_forever(
    upstream: Upstream,
    settings: Arc<ServerSettings>,
    resolver: Rc<Resolver>,
    mut first: Option<Sender<()>>,
) {
    let (mut pace, mut members) = (Pace::default(), Vec::new());
    // When name servers first reported that the name does not exist.
    let mut gone: Option<Instant> = None;
    loop {
        let pause = match find_members(&resolver, &settings).await {
            Ok(Answer { items, ttl }) => {
                upstream.replace_members(&settings, &members, &items);
                (members, gone) = (items, None);
                let (pause, is_news) = pace.handle_answer(ttl);
                if is_news {
                    tracing::warn!(
                        upstream = upstream.settings().name,
                        "DNS resolution for {} recovered",
                        settings.address
                    );
                }
                pause
            }
            Err(error) => {
                let (pause, is_news) = pace.handle_failure();
                let was_gone = gone.is_some();
                gone = error.is_final().then(|| gone.unwrap_or_else(Instant::now));
                let left = gone.map(|since| resolver.hold().saturating_sub(since.elapsed()));
                if left == Some(Duration::ZERO) && !members.is_empty() {
                    upstream.replace_members(&settings, &members, &[]);
                    members.clear();
                    log_failure(&upstream, &settings, &error, Kept::Nothing);
                } else if is_news || was_gone != gone.is_some() {
                    let kept = if members.is_empty() { Kept::Nothing } else { left.map_or(Kept::All, Kept::AllFor) };
                    log_failure(&upstream, &settings, &error, kept);
                }
                match left {
                    Some(left) if !members.is_empty() => pause.min(left),
                    _ => pause,
                }
            }
        };
        drop(first.take());
        sleep(pause).await;
    }
}

/// The addresses that stay in use while a name cannot be resolved.
enum Kept {
    Nothing,
    /// The previous ones.
    All,
    /// The same, for this long.
    AllFor(Duration),
}

fn log_failure(upstream: &Upstream, settings: &ServerSettings, error: &LookupError, kept: Kept) {
    let (upstream, name) = (&upstream.settings().name, settings.address.to_string());
    match kept {
        Kept::Nothing => {
            tracing::error!(upstream, "DNS resolution for {name} failed, it has no servers until it succeeds: {error}");
        }
        Kept::All => {
            tracing::warn!(upstream, "DNS resolution for {name} failed, its last addresses stay in use: {error}");
        }
        Kept::AllFor(time) => {
            let time = Duration::from_secs(time.as_secs_f64().round() as u64);
            tracing::warn!(
                upstream,
                "DNS resolution for {name} failed, its last addresses stay in use for {time:?}: {error}"
            );
        }
    }
}

/// The servers that a name stands for.
async fn find_members(resolver: &Resolver, settings: &ServerSettings) -> Result<Answer<Member>, LookupError> {
    match &settings.address.location {
        ServerLocation::Name { host, port } => {
            let Answer { items, ttl } = resolver.addresses(host).await?;
            let members = items.into_iter().map(|address| Member::of_host(address, *port, settings));
            Ok(Answer { items: membership::ordered(members.collect()), ttl })
        }
        ServerLocation::Service(name) => find_members_of_service(resolver, name, settings).await,
        ServerLocation::Tcp(_) | ServerLocation::Unix(_) => Err(LookupError::NoRecords),
    }
}

/// Hosts that cannot be looked up are left out, as long as there is one that can be.
async fn find_members_of_service(
    resolver: &Resolver,
    name: &str,
    settings: &ServerSettings,
) -> Result<Answer<Member>, LookupError> {
    let services = resolver.services(name).await?;
    let (mut members, mut ttl, mut failure) = (Vec::new(), services.ttl, LookupError::NoRecords);
    let best = services.items.iter().map(|service| service.priority).min().unwrap_or_default();
    for service in services.items {
        match resolver.addresses(&format!("{}.", service.host)).await {
            Ok(found) => {
                ttl = ttl.min(found.ttl);
                let of_address = |address| Member::of_service(address, &service, best, settings);
                members.extend(found.items.into_iter().map(of_address));
            }
            Err(error) => {
                // It is tried again soon, not when all others are.
                ttl = ttl.min(SOON);
                failure = error;
            }
        }
    }
    if members.is_empty() { Err(failure) } else { Ok(Answer { items: membership::ordered(members), ttl }) }
}

/// When the unresolved part of a service is looked up again: as often as the hosts file.
const SOON: Duration = Duration::from_secs(10);
