//! Which servers accept connections: a container runs some time before its program listens.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::SocketAddr,
    time::Duration,
};

/// The servers that are known to accept connections, and those that are tried.
#[derive(Clone, Debug, Default)]
pub(super) struct Probes {
    /// The run of a container behind each server that accepts; none for one of before, whose run is not known yet.
    accepted: BTreeMap<SocketAddr, Option<String>>,
    tried: BTreeMap<SocketAddr, Tried>,
}

/// A server that does not accept yet.
#[derive(Clone, Debug)]
struct Tried {
    run: String,
    since: Duration,
    /// When it is tried again; none while it is being tried.
    next: Option<Duration>,
}

impl Probes {
    /// These servers have had requests before.
    pub(super) fn new(servers: impl IntoIterator<Item = SocketAddr>) -> Self {
        Self { accepted: servers.into_iter().map(|server| (server, None)).collect(), tried: BTreeMap::new() }
    }

    /// Whether this server of this run accepts connections.
    pub(super) fn accepts(&self, server: SocketAddr, run: &str) -> bool {
        self.accepted.get(&server).is_some_and(|known| known.as_deref().is_none_or(|known| known == run))
    }

    /// The servers that would get requests, and their runs: those that are not known are tried, and others forgotten.
    pub(super) fn set_wanted(&mut self, now: Duration, wanted: &BTreeSet<(SocketAddr, String)>) {
        let is_wanted = |server: &SocketAddr| {
            wanted.range((*server, String::new())..).next().is_some_and(|(other, _)| other == server)
        };
        self.accepted.retain(|server, _| is_wanted(server));
        self.tried.retain(|server, tried| wanted.contains(&(*server, tried.run.clone())));
        for (server, run) in wanted {
            if self.accepts(*server, run) {
                self.accepted.insert(*server, Some(run.clone()));
            } else {
                let tried = || Tried { run: run.clone(), since: now, next: Some(now) };
                self.tried.entry(*server).or_insert_with(tried);
            }
        }
    }

    /// The next server to try now; [`Self::handle_outcome`] must follow.
    pub(super) fn poll(&mut self, now: Duration) -> Option<SocketAddr> {
        let (server, tried) = self.tried.iter_mut().find(|(_, tried)| tried.next.is_some_and(|next| next <= now))?;
        tried.next = None;
        Some(*server)
    }

    /// Whether a server has accepted a connection.
    pub(super) fn handle_outcome(&mut self, now: Duration, server: SocketAddr, has_accepted: bool) {
        let Some(tried) = self.tried.get_mut(&server).filter(|tried| tried.next.is_none()) else { return };
        if has_accepted {
            let run = tried.run.clone();
            self.tried.remove(&server);
            self.accepted.insert(server, Some(run));
        } else {
            // The longer it takes, the seldomer.
            tried.next = Some(now + ((now - tried.since) / 8).clamp(SHORT_PAUSE, LONG_PAUSE));
        }
    }

    /// When a server is tried next, if any.
    pub(super) fn deadline(&self) -> Option<Duration> {
        self.tried.values().filter_map(|tried| tried.next).min()
    }

    /// Those that have not accepted for a long time.
    pub(super) fn late(&self, now: Duration) -> impl Iterator<Item = (&SocketAddr, &str)> {
        let late = self.tried.iter().filter(move |(_, tried)| now > tried.since + LATE);
        late.map(|(server, tried)| (server, tried.run.as_str()))
    }
}

/// The pauses between two attempts.
const SHORT_PAUSE: Duration = Duration::from_millis(5);
const LONG_PAUSE: Duration = Duration::from_secs(1);

/// After this time, the status names a server that does not accept.
const LATE: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use super::*;

    fn server(last: u8) -> SocketAddr {
        ([10, 0, 0, last], 80).into()
    }

    fn wanted(servers: &[(u8, &str)]) -> BTreeSet<(SocketAddr, String)> {
        servers.iter().map(|(last, run)| (server(*last), (*run).to_owned())).collect()
    }

    #[test]
    fn servers_are_tried_until_they_accept() {
        let milliseconds = Duration::from_millis;
        let mut probes = Probes::new([server(1)]);
        probes.set_wanted(milliseconds(0), &wanted(&[(1, "a"), (2, "b")]));
        assert!(probes.accepts(server(1), "a") && !probes.accepts(server(1), "x") && !probes.accepts(server(2), "b"));
        assert_eq!((probes.poll(milliseconds(0)), probes.poll(milliseconds(0))), (Some(server(2)), None));
        assert_eq!(probes.deadline(), None);
        probes.handle_outcome(milliseconds(1), server(2), false);
        assert_eq!(probes.deadline(), Some(milliseconds(6)));
        assert_eq!(probes.poll(milliseconds(6000)), Some(server(2)));
        probes.handle_outcome(milliseconds(6000), server(2), false);
        assert_eq!(probes.deadline(), Some(milliseconds(6750)));
        assert_eq!(probes.late(milliseconds(6000)).collect::<Vec<_>>(), [(&server(2), "b")]);
        assert_eq!(probes.poll(milliseconds(7000)), Some(server(2)));
        probes.handle_outcome(milliseconds(7000), server(2), true);
        assert!(probes.accepts(server(2), "b") && probes.late(milliseconds(7000)).count() == 0);
    }

    #[test]
    fn a_server_of_another_run_or_after_a_restart_is_tried_again() {
        let mut probes = Probes::default();
        let now = Duration::ZERO;
        let accept = |probes: &mut Probes, run| {
            probes.set_wanted(now, &wanted(&[(1, run)]));
            assert_eq!(probes.poll(now), Some(server(1)));
            probes.handle_outcome(now, server(1), true);
            assert!(probes.accepts(server(1), run));
        };
        accept(&mut probes, "a");
        accept(&mut probes, "b");
        probes.set_wanted(now, &wanted(&[]));
        accept(&mut probes, "b");
        // The outcome of an attempt on the one before.
        probes.set_wanted(now, &wanted(&[(1, "c")]));
        assert_eq!(probes.poll(now), Some(server(1)));
        probes.set_wanted(now, &wanted(&[(1, "d")]));
        probes.handle_outcome(now, server(1), true);
        assert!(!probes.accepts(server(1), "c") && !probes.accepts(server(1), "d"));
    }
}
