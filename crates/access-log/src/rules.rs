//! Which requests have lines in which logs.

use std::{ops::RangeInclusive, sync::Arc};

use serow_message::StatusCode;

use super::{Condition, Destination, Format, sampling::Sampling};

/// A log, and which requests have a line there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogRule {
    /// Where the lines go. Rules with the same destination share it.
    pub destination: Destination,
    /// How a line is written.
    pub format: Format,
    /// A condition that requests have to meet.
    pub condition: Option<Condition>,
    /// The statuses of requests with lines; empty for all.
    pub statuses: Vec<RangeInclusive<u16>>,
    /// Whether only some of these requests have a line.
    pub sampling: Option<Sampling>,
}

/// The logs of a server: which route has which. Several rules are several lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogRules {
    /// The logs of all requests that no entry of `of_routes` is for.
    pub otherwise: Arc<[LogRule]>,
    /// The logs of the requests of some routes, by the number of the route ([`serow_message::Served::route`]). Routes behind the
    /// last have those of all others.
    pub of_routes: Vec<Option<Arc<[LogRule]>>>,
}

impl LogRule {
    /// A line for each request.
    #[must_use]
    pub fn new(destination: Destination, format: Format) -> Self {
        Self { destination, format, condition: None, statuses: Vec::new(), sampling: None }
    }

    /// Whether it needs the attempts on upstream servers.
    #[must_use]
    pub fn reads_attempts(&self) -> bool {
        self.format.reads_attempts() || self.condition.as_ref().is_some_and(Condition::reads_attempts)
    }

    /// Whether it needs what the path of the route matched.
    #[must_use]
    pub fn reads_captures(&self) -> bool {
        self.format.reads_captures() || self.condition.as_ref().is_some_and(Condition::reads_captures)
    }

    /// Whether a variable has a value in other places only.
    #[must_use]
    pub fn lacks_names(&self) -> bool {
        self.format.lacks_names() || self.condition.as_ref().is_some_and(Condition::lacks_names)
    }

    pub(super) fn reads_response(&self) -> bool {
        self.format.reads_response() || self.condition.as_ref().is_some_and(Condition::reads_response)
    }

    /// Whether each request has a line.
    fn is_plain(&self) -> bool {
        self.condition.is_none() && self.statuses.is_empty() && self.sampling.is_none()
    }
}

impl LogRules {
    /// One log for all requests.
    #[must_use]
    pub fn of_all(rule: LogRule) -> Self {
        Self { otherwise: [rule].into(), of_routes: Vec::new() }
    }

    /// Each rule, those of several routes perhaps more than once.
    pub fn all(&self) -> impl Iterator<Item = &LogRule> {
        self.otherwise.iter().chain(self.of_routes.iter().flatten().flat_map(|rules| rules.iter()))
    }

    /// Each destination, once.
    #[must_use]
    pub fn destinations(&self) -> Vec<&Destination> {
        let mut destinations = Vec::new();
        for rule in self.all() {
            if !destinations.contains(&&rule.destination) {
                destinations.push(&rule.destination);
            }
        }
        destinations
    }

    /// The only log, if all requests have a line there.
    pub(super) fn only(&self) -> Option<&LogRule> {
        match &*self.otherwise {
            [only] if only.is_plain() && self.of_routes.iter().all(Option::is_none) => Some(only),
            _ => None,
        }
    }

    /// Whether nothing is logged.
    pub(super) fn is_empty(&self) -> bool {
        self.all().next().is_none()
    }
}

/// Whether a status is one of these.
pub(super) fn contain(statuses: &[RangeInclusive<u16>], status: StatusCode) -> bool {
    statuses.iter().any(|range| range.contains(&status.as_u16()))
}
