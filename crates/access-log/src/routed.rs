//! Several logs, of which each request has those of its route.

use std::{cell::RefCell, rc::Rc, sync::Arc};

use serow_message::{RequestId, Served};

use super::{
    ClientRules,
    date::Date,
    lines::{Lines, LinesMaker},
    rules::{LogRule, LogRules, contain},
    sampling::Sampler,
};

/// Makes the log of each worker, for several logs.
#[derive(Clone)]
pub struct RoutedLogs(Arc<Plan>);

/// The data that all workers share.
struct Plan {
    clients: ClientRules,
    /// By their destinations.
    makers: Vec<LinesMaker>,
    /// For each set of rules, where its lines go.
    sets: Vec<Set>,
    /// The set of requests of no route.
    otherwise: usize,
    /// The sets of routes by their numbers.
    of_routes: Vec<usize>,
    reads_response: bool,
}

/// Rules that were written in one place.
struct Set {
    rules: Arc<[LogRule]>,
    /// For each rule, the number of its destination.
    outputs: Vec<usize>,
}

/// The access log of one worker, for `serow::Server::access_log`.
pub struct RoutedLog {
    plan: Arc<Plan>,
    /// By their destinations.
    lines: Vec<Rc<Lines>>,
    /// For each set, one for each rule with a sample.
    samplers: Vec<Vec<Option<Sampler>>>,
    /// For conditions.
    room: RefCell<(Date, Vec<u8>)>,
}

impl RoutedLogs {
    /// Logs by these rules. `makers` are those of the destinations of the rules, in their order.
    pub(super) fn new(rules: LogRules, clients: ClientRules, makers: Vec<LinesMaker>) -> Self {
        let destinations = rules.destinations();
        let place = |rule: &LogRule| destinations.iter().position(|known| **known == rule.destination);
        let mut sets: Vec<Set> = Vec::new();
        let mut number = |rules: &Arc<[LogRule]>| match sets.iter().position(|set| Arc::ptr_eq(&set.rules, rules)) {
            Some(number) => number,
            None => {
                let outputs = rules.iter().map(|rule| place(rule).unwrap_or_default()).collect();
                sets.push(Set { rules: Arc::clone(rules), outputs });
                sets.len() - 1
            }
        };
        let otherwise = number(&rules.otherwise);
        let of_routes = rules.of_routes.iter().map(|rules| rules.as_ref().map_or(otherwise, &mut number)).collect();
        let reads_response = rules.all().any(LogRule::reads_response);
        Self(Arc::new(Plan { clients, makers, sets, otherwise, of_routes, reads_response }))
    }

    /// The log of one worker, to be called on the worker's thread.
    pub fn for_worker(&self) -> RoutedLog {
        let plan = &self.0;
        let sampler = |rule: &LogRule| rule.sampling.as_ref().map(|sampling| Sampler::new(sampling.one_of));
        RoutedLog {
            plan: Arc::clone(plan),
            lines: plan.makers.iter().map(|maker| maker.lines(None)).collect(),
            samplers: plan.sets.iter().map(|set| set.rules.iter().map(sampler).collect()).collect(),
            room: RefCell::new((Date::new(), Vec::new())),
        }
    }
}

impl serow_message::AccessLog for RoutedLog {
    fn log(&self, served: &Served<'_>) {
        let plan = &*self.plan;
        let route = served.route().and_then(|number| plan.of_routes.get(number as usize).copied());
        let number = route.unwrap_or(plan.otherwise);
        let (Some(set), Some(samplers)) = (plan.sets.get(number), self.samplers.get(number)) else { return };
        if set.rules.is_empty() {
            return;
        }
        let (client, client_scheme) = plan.clients.client(served);
        let redacted = plan.clients.secrets.redacted(served.request);
        let request = redacted.as_ref().or(served.request);
        let served = &Served { client, client_scheme, request, ..*served };
        for ((rule, output), sampler) in set.rules.iter().zip(&set.outputs).zip(samplers) {
            if self.is_wanted(rule, sampler.as_ref(), served)
                && let Some(lines) = self.lines.get(*output)
            {
                lines.log(&rule.format, served);
            }
        }
    }

    fn reads_response(&self) -> bool {
        self.plan.reads_response
    }

    fn reads_route(&self) -> bool {
        !self.plan.of_routes.is_empty() || self.plan.clients.reads_route() || RequestId::is_wanted()
    }
}

impl RoutedLog {
    fn is_wanted(&self, rule: &LogRule, sampler: Option<&Sampler>, served: &Served<'_>) -> bool {
        if !rule.statuses.is_empty() && !contain(&rule.statuses, served.status) {
            return false;
        }
        if let Some(condition) = &rule.condition {
            let (date, room) = &mut *self.room.borrow_mut();
            if !condition.holds(served, date, room) {
                return false;
            }
        }
        match (&rule.sampling, sampler) {
            (Some(sampling), Some(sampler)) => contain(&sampling.always, served.status) || sampler.takes(),
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, num::NonZeroU32};

    use serow_message::{AccessLog, StatusCode};
    use serow_variables::Scope;
    use tokio::runtime::{Builder, LocalOptions};

    use super::*;
    use crate::{
        AccessLogs, Condition, Destination, Format, LogMakers, OtherNames, Sampling,
        example::{self, Example},
    };

    #[test]
    fn each_request_has_lines_in_the_logs_of_its_route() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| Destination::File(folder.path().join(name));
        let format: Format = "$status $arg_q".parse().unwrap();
        let rule = |name| LogRule::new(file(name), format.clone());
        let condition = Condition::read("$arg_q", &Scope::default(), OtherNames::Nothing).unwrap();
        let sampling = Sampling { one_of: NonZeroU32::new(10).unwrap(), always: vec![500..=599] };
        let sets: [Vec<LogRule>; 4] = [
            vec![LogRule { statuses: vec![400..=499, 500..=500], ..rule("a") }, rule("b")],
            vec![],
            vec![LogRule { condition: Some(condition), ..rule("a") }],
            vec![LogRule { sampling: Some(sampling), ..rule("c") }],
        ];
        let of_routes = sets.into_iter().map(|set| Some(set.into())).chain([None]).collect();
        let rules = LogRules { otherwise: [rule("b")].into(), of_routes };
        let logs = AccessLogs::open(rules, ClientRules::default()).unwrap().unwrap();
        let LogMakers::Routed(makers) = logs.makers() else { panic!("it is one log") };
        let counter = logs.counter();
        let runtime = Builder::new_current_thread().enable_time().build_local(LocalOptions::default()).unwrap();
        runtime.block_on(async {
            let log = makers.for_worker();
            assert!(log.reads_route() && !log.reads_response());
            let mut example = Example::unix();
            let mut ask = |route, status, target| {
                example.target(target);
                let (note, status) = (example::note(route), StatusCode::from_u16(status).unwrap());
                log.log(&Served { note: note.as_ref(), status, ..example.served() });
            };
            for (route, status, target) in [
                (None, 200, "/?q=none"),
                (Some(4), 200, "/?q=inherited"),
                (Some(9), 200, "/?q=unknown"),
                (Some(0), 200, "/?q=found"),
                (Some(0), 404, "/?q=missing"),
                (Some(1), 500, "/?q=off"),
                (Some(2), 200, "/?q=0"),
                (Some(2), 200, "/?p"),
                (Some(2), 200, "/?q=1"),
            ] {
                ask(route, status, target);
            }
            for _ in 0..100 {
                ask(Some(3), 200, "/?q=often");
                ask(Some(3), 503, "/?q=error");
            }
        });
        drop(runtime);
        drop(makers);
        logs.finish();
        let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
        assert_eq!(read("a"), "404 missing\n200 1\n");
        assert_eq!(read("b"), "200 none\n200 inherited\n200 unknown\n200 found\n404 missing\n");
        let count = |text: &str| read("c").lines().filter(|line| *line == text).count();
        assert_eq!((count("200 often"), count("503 error")), (10, 100));
        assert_eq!(counter.counts().lines, 2 + 5 + 110);
    }

    #[test]
    fn one_log_for_all_requests_stays_as_simple_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let rule = LogRule::new(Destination::File(folder.path().join("a")), Format::Combined);
        let logs = AccessLogs::open(LogRules::of_all(rule), ClientRules::default()).unwrap().unwrap();
        assert!(matches!(logs.makers(), LogMakers::Single(_)));
        logs.finish();
        assert!(AccessLogs::open(LogRules::default(), ClientRules::default()).unwrap().is_none());
    }
}
