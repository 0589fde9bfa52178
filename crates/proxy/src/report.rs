//! The current state of an upstream, as plain data for the status.

use std::time::Duration;

use serow_net::{Clock, Moment};

use crate::{
    health::Availability,
    server::{Administration, Server},
    settings::{CheckSettings, UpstreamSettings},
    upstream::Upstream,
};

/// The current state of an upstream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpstreamReport {
    /// Its name.
    pub name: String,
    /// Counts the changes of its servers, beginning with 1: Tengine's `generation`.
    pub generation: u64,
    /// Requests that wait in all threads for a server to have room.
    pub waiting: u64,
    /// Its servers, in their order.
    pub servers: Vec<ServerReport>,
}

/// The current state of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerReport {
    /// Its address.
    pub name: String,
    /// Its name in session cookies, if they should not reveal its address.
    pub id: Option<String>,
    /// Whether it gets requests, and if not, why.
    pub state: ServerState,
    /// For how long that has been so.
    pub state_time: Duration,
    /// The state set by the administrator.
    pub administration: Administration,
    /// Its share among the others.
    pub weight: u16,
    /// Whether it gets requests only if no other server can.
    pub backup: bool,
    /// Requests that it has now.
    pub active: u32,
    /// How many it gets at a time; none: any number.
    pub max_requests: Option<u32>,
    /// Attempts, those that failed included.
    pub requests: u64,
    /// Attempts that failed, or were answered with 502, 503 or 504.
    pub failures: u64,
    /// Requests that went to another server, or here once more.
    pub retries: u64,
    /// Responses that were cut off.
    pub cut: u64,
    /// Connections that were closed because the server sent bytes that were not part of a response.
    pub unsolicited: u64,
    /// Connections that were opened.
    pub connections: u64,
    /// The average time until a response begins; zero if it is unknown.
    pub latency: Duration,
    /// The result of its health checks, if there are any.
    pub check: Option<CheckReport>,
    /// Why the latest failed check failed, or why it is ejected.
    pub last_failure: Option<String>,
}

/// Whether a server gets requests, and if not, why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerState {
    /// It gets requests.
    Up,
    /// Taken out of rotation by the administrator or by health checks.
    Down,
    /// It finishes its requests and keeps its sessions.
    Draining,
    /// Requests to it failed, so it is ejected for a while.
    Ejected,
    /// It waits for its first good checks.
    Starting,
}

/// The result of a server's health checks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckReport {
    /// `tcp`, `http` or `grpc`.
    pub kind: &'static str,
    /// The port that was set for checks, if one was.
    pub port: Option<u16>,
    /// Whether they found it good.
    pub up: bool,
    /// Good checks since the last failed one.
    pub rise: u32,
    /// Failed checks since the last good one.
    pub fall: u32,
}

impl Upstream {
    /// Its current state.
    #[must_use]
    pub fn report(&self) -> UpstreamReport {
        let (settings, now) = (self.settings(), Clock::new().now());
        UpstreamReport {
            name: settings.name.clone(),
            generation: self.version(),
            waiting: self.room().waiting() as u64,
            servers: self.servers().iter().map(|server| server.report(settings, now)).collect(),
        }
    }
}

impl Server {
    fn report(&self, upstream: &UpstreamSettings, now: Moment) -> ServerReport {
        let (health, ejection, settings) = (self.health.report(), self.outlier.ejection(), self.settings());
        let (state, since) = self.state();
        let check = |check: &CheckSettings| CheckReport {
            kind: check.kind.name(),
            port: check.port,
            up: health.availability == Availability::Up,
            rise: health.rise,
            fall: health.fall,
        };
        ServerReport {
            name: self.name().to_owned(),
            id: settings.id.clone(),
            state,
            state_time: now.since(since),
            administration: self.administration(),
            weight: self.weight(),
            backup: settings.backup,
            active: self.active(),
            max_requests: settings.max_requests,
            requests: self.load.counters.requests.value(),
            failures: self.load.counters.failures.value(),
            retries: self.load.counters.retries.value(),
            cut: self.load.counters.cut.value(),
            unsolicited: self.load.counters.unsolicited.value(),
            connections: self.load.counters.connections.value(),
            latency: Duration::from_micros(self.load.latency.microseconds(now)),
            check: upstream.check.as_ref().map(check),
            last_failure: ejection.map(|ejection| ejection.reason.to_string()).or(health.failure),
        }
    }

    /// Its state, and since when. The administrator's choice takes precedence over health.
    fn state(&self) -> (ServerState, Moment) {
        let (health, wanted) = (self.health.report(), self.wanted_since());
        match (self.administration(), health.availability, self.outlier.ejection()) {
            (Administration::Down, ..) => (ServerState::Down, wanted),
            (Administration::Draining, ..) => (ServerState::Draining, wanted),
            (Administration::Up, Availability::Down, _) => (ServerState::Down, health.since.max(wanted)),
            (Administration::Up, _, Some(ejection)) => (ServerState::Ejected, ejection.since.max(wanted)),
            (Administration::Up, Availability::Starting, None) => (ServerState::Starting, health.since.max(wanted)),
            (Administration::Up, Availability::Up, None) => {
                let recovered = self.outlier.recovered().unwrap_or(health.since);
                (ServerState::Up, health.since.max(wanted).max(recovered))
            }
        }
    }
}

impl ServerState {
    /// `up`, `down`, `draining`, `ejected` or `starting`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Down => "down",
            Self::Draining => "draining",
            Self::Ejected => "ejected",
            Self::Starting => "starting",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CheckKind, CheckStart, PassiveSettings, ServerSettings, outlier::Outcome};

    /// Events at a server, and the resulting state.
    #[test]
    fn states_follow_administration_checks_and_ejection() {
        let checked = |start, good: usize, failed: usize| {
            move |server: &Server| {
                let settings = CheckSettings { start, ..CheckSettings::new(CheckKind::Tcp) };
                for result in (0..good).map(|_| Ok(())).chain((0..failed).map(|_| Err("silence".to_owned()))) {
                    server.health.note(result, &settings, Clock::new().now());
                }
            }
        };
        let asked_in_vain = |server: &Server| {
            for _ in 0..3 {
                server.outlier.note(Outcome::Failure, Clock::new().now(), &PassiveSettings::default(), || true);
            }
        };
        let wanted =
            |administration| move |server: &Server| server.set_administration(administration, Clock::new().now());
        type Happening = Box<dyn Fn(&Server)>;
        let cases: [(CheckStart, Vec<Happening>, ServerState, Option<&str>); 9] = [
            (CheckStart::Up, vec![], ServerState::Up, None),
            (CheckStart::Down, vec![], ServerState::Starting, None),
            (CheckStart::Down, vec![Box::new(checked(CheckStart::Down, 2, 0))], ServerState::Up, None),
            (CheckStart::Up, vec![Box::new(checked(CheckStart::Up, 0, 3))], ServerState::Down, Some("silence")),
            (CheckStart::Up, vec![Box::new(checked(CheckStart::Up, 0, 1))], ServerState::Up, Some("silence")),
            (CheckStart::Up, vec![Box::new(asked_in_vain)], ServerState::Ejected, Some("3 requests in a row failed")),
            (CheckStart::Up, vec![Box::new(wanted(Administration::Draining))], ServerState::Draining, None),
            (CheckStart::Down, vec![Box::new(wanted(Administration::Down))], ServerState::Down, None),
            (
                CheckStart::Up,
                vec![Box::new(asked_in_vain), Box::new(wanted(Administration::Draining))],
                ServerState::Draining,
                Some("3 requests in a row failed"),
            ),
        ];
        for (number, (start, happenings, state, failure)) in cases.into_iter().enumerate() {
            let server = ServerSettings::new("127.0.0.1:9000".parse().unwrap());
            let mut settings = UpstreamSettings::new("app", vec![server]);
            settings.check = Some(CheckSettings { start, ..CheckSettings::new(CheckKind::Tcp) });
            let upstream = Upstream::new(settings);
            for happening in happenings {
                happening(&upstream.servers()[0]);
            }
            let report = upstream.report().servers.remove(0);
            assert_eq!((report.state, report.last_failure.as_deref()), (state, failure), "case {number}");
            assert!(report.state_time < Duration::from_secs(10), "case {number}: {:?}", report.state_time);
        }
    }
}
