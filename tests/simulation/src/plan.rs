//! Plans: everything that clients and servers do in one run.

mod answer;
mod client;

use std::{collections::BTreeSet, fmt, time::Duration};

pub(crate) use self::{
    answer::{Answer, Fault, ResponseFraming},
    client::{
        ClientPlan, Conduct, Departure, Malformation, Moment, Place, RequestBody, RequestPlan, Version, Violation,
    },
};
use crate::{generator, settings::Settings};

/// Everything that happens in one run.
#[derive(Clone, Debug)]
pub struct Plan {
    pub(crate) seed: u64,
    pub(crate) settings: Settings,
    pub(crate) clients: Vec<ClientPlan>,
    /// When the server begins to drain, if it does while clients are there.
    pub(crate) stop: Option<Duration>,
    /// From when on, and for how long, there are no descriptors for new connections.
    pub(crate) exhaustion: Option<(Duration, Duration)>,
}

/// The parts of a plan that are carried out: all of them, or those that are left when it was made smaller.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// The requests that are left out.
    pub(crate) without: BTreeSet<Id>,
    pub(crate) without_stop: bool,
}

/// A request: the number of its connection, and its own there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Id {
    pub(crate) client: usize,
    pub(crate) request: usize,
}

impl Plan {
    /// The plan of a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        generator::plan(seed)
    }

    /// The number that it was made from.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The number of its requests.
    #[must_use]
    pub fn requests(&self) -> usize {
        self.clients.iter().map(|client| client.requests.len()).sum()
    }

    /// Whether each run does the same. A body that is buffered in a file is written by other threads, in real time.
    #[must_use]
    pub fn is_repeatable(&self) -> bool {
        let requests = self.clients.iter().flat_map(|client| &client.requests);
        let buffered = requests.filter(|request| request.place == Place::Buffered).filter_map(|request| request.body);
        buffered.into_iter().all(|body| body.length <= BUFFERED_IN_MEMORY)
    }

    /// The plan without the parts that are left out.
    #[must_use]
    pub fn kept(&self, kept: &Kept) -> Self {
        let mut plan = self.clone();
        for client in &mut plan.clients {
            client.requests.retain(|request| !kept.without.contains(&request.id));
        }
        plan.stop = plan.stop.filter(|_| !kept.without_stop);
        plan
    }

    /// The seed, and the requests that are left.
    #[must_use]
    pub fn line(&self, kept: &Kept) -> String {
        let ids = self.clients.iter().flat_map(|client| &client.requests).map(|request| request.id);
        let left: Vec<_> = ids.filter(|id| !kept.without.contains(id)).map(|id| id.to_string()).collect();
        let stop = if kept.without_stop { " without-stop" } else { "" };
        format!("{} {}{stop}", self.seed, left.join(" "))
    }

    /// The plan of a [line](Self::line), and what is left of it.
    #[must_use]
    pub fn of_line(line: &str) -> Option<(Self, Kept)> {
        let mut words = line.split_whitespace();
        let plan = Self::new(words.next()?.parse().ok()?);
        let (mut left, mut without_stop) = (BTreeSet::<Id>::new(), false);
        for word in words {
            match word {
                "without-stop" => without_stop = true,
                word => drop(left.insert(word.parse().ok()?)),
            }
        }
        let ids = plan.clients.iter().flat_map(|client| &client.requests).map(|request| request.id);
        let without = ids.filter(|id| !left.contains(id)).collect();
        Some((plan, Kept { without, without_stop }))
    }

    pub(crate) fn request(&self, id: Id) -> Option<&RequestPlan> {
        self.clients.get(id.client)?.requests.iter().find(|request| request.id == id)
    }

    /// Whether a request may fail before it reaches a server.
    pub(crate) fn may_fail_unseen(&self) -> bool {
        let Settings { refusing, server_idle, max_failures, .. } = self.settings;
        refusing || server_idle.is_some() || max_failures.is_some() || self.exhaustion.is_some()
    }

    /// Whether a server may cut a response at this place.
    pub(crate) fn is_cached_cut(&self, place: Place) -> bool {
        let requests = self.clients.iter().flat_map(|client| &client.requests).filter(|request| request.place == place);
        requests.flat_map(|request| &request.answers).any(|answer| answer.fault.cut().is_some())
    }
}

/// Bytes that belong to a request: those of another one differ.
pub(crate) fn pattern(kind: char, id: Id, length: usize) -> Vec<u8> {
    let word = format!("{kind}{id};");
    word.bytes().cycle().take(length).collect()
}

impl fmt::Display for Id {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}", self.client, self.request)
    }
}

impl std::str::FromStr for Id {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (client, request) = text.split_once('.').ok_or(())?;
        Ok(Self { client: client.parse().map_err(drop)?, request: request.parse().map_err(drop)? })
    }
}

impl fmt::Display for Plan {
    /// The settings, and a line for each request that is left.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "{:?}, drains at {:?}, exhausted {:?}", self.settings, self.stop, self.exhaustion)?;
        for client in self.clients.iter().filter(|client| !client.requests.is_empty()) {
            let ClientPlan { begins, version, link, stays, .. } = client;
            writeln!(formatter, "{version:?} at {begins:?} over {link:?}, stays: {stays}")?;
            for request in &client.requests {
                writeln!(formatter, "  {request:?}")?;
            }
        }
        Ok(())
    }
}

/// Bytes of a body that `buffer-requests` keeps in memory.
const BUFFERED_IN_MEMORY: usize = 64 * 1024;
