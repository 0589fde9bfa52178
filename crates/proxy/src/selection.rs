//! Server selection: finds the servers that may get a request; load balancing chooses among them.

use std::sync::Arc;

use serow_gateway::ErrorReason;
use serow_net::Moment;
use smallvec::SmallVec;

use crate::{
    balancing::{Candidate, WEIGHT_UNIT},
    lease::Lease,
    local_upstream::LocalUpstream,
    queue::Demand,
    server::{Administration, Server},
    settings::UpstreamSettings,
};

/// The requirements of a request.
#[derive(Debug, Default)]
pub(crate) struct Requirements {
    /// The key for [`crate::Balancing::Hash`].
    pub(crate) key: u64,
    /// The server that its session is at, by its number.
    pub(crate) session: Option<u64>,
    /// Whether another server will do for the session.
    pub(crate) only_session: bool,
    /// The numbers of servers that were tried already.
    pub(crate) tried: SmallVec<[u64; 4]>,
    /// How many other servers must be up: the request may crash the one that gets it.
    pub(crate) min_servers: usize,
}

/// The result of the selection.
#[derive(Debug)]
pub(crate) enum Selection {
    /// This server gets the request.
    Chosen(Lease),
    /// All eligible servers are full, or there are none yet.
    Busy,
    /// No server is eligible.
    Nobody,
}

/// Whether a server may get a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Eligibility {
    Ready,
    /// Only as long as all that are ready have room.
    Backup,
    /// It is ejected; used only if there is no other.
    Ejected,
    /// Tried already; used again only if there is no other.
    Tried,
    /// At its limit.
    Full,
    /// Not eligible.
    Out,
}

impl Requirements {
    fn demand(&self) -> Demand {
        let is_particular = self.session.is_some() || !self.tried.is_empty() || self.min_servers > 0;
        if is_particular { Demand::Particular } else { Demand::Any }
    }
}

impl Selection {
    fn taken(self) -> Option<Result<Lease, ErrorReason>> {
        match self {
            Self::Busy => None,
            Self::Chosen(lease) => Some(Ok(lease)),
            Self::Nobody => Some(Err(ErrorReason::NoServer)),
        }
    }
}

impl LocalUpstream {
    /// Whether there is an eligible server that was not tried yet.
    pub(crate) fn has_another(&self, requirements: &Requirements) -> bool {
        let another = |server: &Arc<Server>| {
            !matches!(eligibility(server, requirements, self.now()), Eligibility::Out | Eligibility::Tried)
                && !requirements.tried.contains(&server.number())
        };
        !requirements.only_session && self.members.borrow().servers.iter().any(another)
    }

    /// Chooses a server, and counts the request there; `None` if the request has to wait, since all are busy or others wait
    /// already.
    pub(crate) fn select_at_once(&self, requirements: &Requirements) -> Option<Result<Lease, ErrorReason>> {
        if self.upstream.room().waiting() > 0 { None } else { self.select(requirements).taken() }
    }

    /// The same, behind those that wait already.
    pub(crate) async fn select_in_turn(&self, requirements: &Requirements) -> Result<Lease, ErrorReason> {
        let queue = self.upstream.settings().queue;
        self.upstream.room().wait(queue, requirements.demand(), || self.select(requirements).taken()).await
    }

    fn select(&self, requirements: &Requirements) -> Selection {
        // A request may have waited for its body, or for room.
        self.look_for_changes();
        let mut members = self.members.borrow_mut();
        let members = &mut *members;
        let (servers, settings, now) = (&*members.servers, self.upstream.settings(), self.now());
        if let Some(session) = requirements.session {
            let own = servers.iter().find(|server| server.number() == session);
            let own = own.filter(|server| server.keeps_sessions(now) && !requirements.tried.contains(&session));
            if let Some(server) = own {
                return Lease::take(server).map_or(Selection::Busy, Selection::Chosen);
            }
            if requirements.only_session {
                return Selection::Nobody;
            }
        }
        if servers.is_empty() && settings.waits_for_servers {
            return Selection::Busy;
        }
        // Filled in place: a collected vector would be moved, with its sixteen places.
        let mut eligibilities = SmallVec::<[Eligibility; 16]>::new();
        eligibilities.extend(servers.iter().map(|server| eligibility(server, requirements, now)));
        if requirements.min_servers > 0 {
            let is_up = |eligibility: &&Eligibility| !matches!(eligibility, Eligibility::Out | Eligibility::Tried);
            if eligibilities.iter().filter(is_up).count() < requirements.min_servers {
                return Selection::Busy;
            }
        }
        let mut order = [Eligibility::Ready, Eligibility::Backup, Eligibility::Ejected, Eligibility::Tried].into_iter();
        loop {
            let Some(wanted) = order.next() else { return Selection::Nobody };
            if wanted == Eligibility::Ejected && eligibilities.contains(&Eligibility::Full) {
                return Selection::Busy;
            }
            let mut candidates = SmallVec::<[Candidate<'_>; 16]>::new();
            for (place, (server, eligibility)) in servers.iter().zip(&eligibilities).enumerate() {
                if *eligibility == wanted {
                    candidates.push(Candidate { place, server, weight: server.share(settings, now) });
                }
            }
            let chosen = members.balancer.choose(&candidates, requirements.key, now);
            let Some(server) = chosen.and_then(|chosen| servers.get(candidates.get(chosen)?.place)) else { continue };
            // Another thread may have been quicker.
            return Lease::take(server).map_or(Selection::Busy, Selection::Chosen);
        }
    }
}

fn eligibility(server: &Server, requirements: &Requirements, now: Moment) -> Eligibility {
    if server.administration() != Administration::Up || !server.health.is_up() || server.weight() == 0 {
        Eligibility::Out
    } else if server.is_full() {
        Eligibility::Full
    } else if requirements.tried.contains(&server.number()) {
        Eligibility::Tried
    } else if server.outlier.is_ejected(now) {
        Eligibility::Ejected
    } else if server.settings().backup {
        Eligibility::Backup
    } else {
        Eligibility::Ready
    }
}

impl Server {
    /// Whether sessions stay at this server.
    fn keeps_sessions(&self, now: Moment) -> bool {
        self.administration() != Administration::Down && self.health.is_up() && !self.outlier.is_ejected(now)
    }

    /// Its current share: less than its weight during slow start.
    fn share(&self, settings: &UpstreamSettings, now: Moment) -> u32 {
        let whole = u32::from(self.weight()) * WEIGHT_UNIT;
        match self.came_up() {
            Some(at) if now.since(at) < settings.slow_start => {
                let part = now.since(at).as_secs_f64() / settings.slow_start.as_secs_f64();
                ((f64::from(whole) * part) as u32).max(1)
            }
            _ => whole,
        }
    }
}

#[cfg(test)]
mod tests;
