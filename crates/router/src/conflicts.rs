//! Conflicts between the routes of a site, and contradictions within one.

use std::collections::HashMap;

use serow_message::Method;

use crate::{
    conditions::Conditions,
    error::RouterError,
    path_pattern::PathPattern,
    rewrite::RewriteTarget,
    route_index::RouteIndex,
    site::{Action, Route},
};

/// Refuses routes that no request comes to, and those that contradict themselves; only where that is certain.
pub(crate) fn check<H>(site: usize, routes: &[Route<H>]) -> Result<(), RouterError> {
    let earlier_routes = EarlierRoutes::new(routes);
    let last = routes.iter().rposition(|route| !route.internal);
    for (number, route) in routes.iter().enumerate() {
        // An expression has groups, which are variables.
        let stars = if route.conditions.path.is_some() { 0 } else { route.path.stars() };
        let wanted = match &route.action {
            Action::Redirect(redirect) => redirect.stars(),
            Action::Rewrite(target) | Action::Restart(target) => target.stars(),
            Action::Handle(_) | Action::Try(_) => route.rewrite.as_ref().map_or(0, RewriteTarget::stars),
            Action::Respond(_) => 0,
        };
        if wanted > stars {
            return Err(RouterError::Stars { site, route: number, stars });
        }
        // The router of internal routes checks these among themselves.
        if route.internal {
            continue;
        }
        if is_rewrite(route) && Some(number) == last {
            return Err(RouterError::LastRewrite { site, route: number });
        }
        if is_try(route) && Some(number) == last {
            return Err(RouterError::LastTry { site, route: number });
        }
        if is_try(route) && !(route.methods.allow(&Method::GET)) {
            return Err(RouterError::TryWithoutGet { site, route: number });
        }
        if makes_no_response(route) && !route.headers.is_empty() {
            return Err(RouterError::RewriteWithHeaders { site, route: number });
        }
        if let Some(earlier) = earlier_routes.answers_all(number, route) {
            return Err(RouterError::Unreachable { site, route: number, earlier });
        }
        if let Some((path, earlier)) = earlier_routes.unreachable_path(number, route) {
            return Err(RouterError::UnreachablePath { site, route: number, path, earlier });
        }
    }
    Ok(())
}

/// The routes of a site, among which to find those before a route that take its requests.
struct EarlierRoutes<'r, H> {
    routes: &'r [Route<H>],
    /// Those with equal conditions, by the hash of these.
    groups: HashMap<u64, Group>,
    rewrites: Vec<usize>,
}

/// Routes in their order.
struct Group {
    numbers: Vec<usize>,
    /// Of their patterns, without regard to conditions.
    index: RouteIndex,
}

impl<'r, H> EarlierRoutes<'r, H> {
    fn new(routes: &'r [Route<H>]) -> Self {
        let mut groups: HashMap<u64, Vec<usize>> = HashMap::new();
        for (number, route) in routes.iter().enumerate() {
            groups.entry(route.conditions.hash()).or_default().push(number);
        }
        let group = |numbers: Vec<usize>| {
            let index = RouteIndex::of_patterns(numbers.iter().map(|number| &routes[*number].path));
            Group { numbers, index }
        };
        let groups = groups.into_iter().map(|(hash, numbers)| (hash, group(numbers))).collect();
        let rewrites = routes.iter().enumerate().filter(|(_, route)| is_rewrite(route)).map(|(number, _)| number);
        Self { routes, groups, rewrites: rewrites.collect() }
    }

    /// The route before this one that takes all its requests.
    fn answers_all(&self, number: usize, route: &Route<H>) -> Option<usize> {
        self.answers(number, route, &route.path, |earlier| earlier.path.covers(&route.path))
    }

    /// The first of several paths of a route whose requests never come to it, and the route before it that takes them.
    fn unreachable_path(&self, number: usize, route: &Route<H>) -> Option<(String, usize)> {
        let mut paths = route.path.alternatives();
        paths.find_map(|path| {
            let earlier = self.answers(number, route, path, |earlier| earlier.path.covers_one(path))?;
            Some((path.as_str().to_owned(), earlier))
        })
    }

    /// The route before this one that takes all its requests for paths that it covers, this pattern among them. The
    /// routes before a rewrite have not seen the paths that it makes, so only those behind the last rewrite count.
    fn answers(
        &self,
        number: usize,
        route: &Route<H>,
        pattern: &PathPattern,
        covers: impl Fn(&Route<H>) -> bool,
    ) -> Option<usize> {
        let rewrites_before = self.rewrites.partition_point(|rewrite| *rewrite < number);
        let first = rewrites_before.checked_sub(1).map_or(0, |last| self.rewrites[last] + 1);
        // A pattern that covers another one has no literal that a sample of that does not contain.
        let sample = pattern.samples().next()?;
        let hashes = [Conditions::default().hash(), route.conditions.hash()];
        let first_of = |group: &Group| {
            let first = group.numbers.partition_point(|earlier| *earlier < first);
            let candidates = group.index.candidates(&sample, first, false).map(|place| group.numbers[place]);
            candidates
                .take_while(|earlier| *earlier < number)
                .find(|earlier| takes_all(&self.routes[*earlier], route, &covers))
        };
        hashes.iter().filter_map(|hash| first_of(self.groups.get(hash)?)).min()
    }
}

/// Whether a route may leave its requests to those behind it.
fn is_try<H>(route: &Route<H>) -> bool {
    matches!(route.action, Action::Try(_))
}

fn is_rewrite<H>(route: &Route<H>) -> bool {
    matches!(route.action, Action::Rewrite(_))
}

fn makes_no_response<H>(route: &Route<H>) -> bool {
    matches!(route.action, Action::Rewrite(_) | Action::Restart(_))
}

/// Whether an earlier route takes all requests of a route for paths that it covers.
fn takes_all<H>(earlier: &Route<H>, route: &Route<H>, covers: impl Fn(&Route<H>) -> bool) -> bool {
    !is_try(earlier)
        && !earlier.internal
        // A script that chooses a name passes the routes of other names by.
        && (route.name.is_none() || earlier.name == route.name)
        && earlier.methods.include(&route.methods)
        && covers(earlier)
        && (earlier.conditions == route.conditions || earlier.conditions.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random_routes::Numbers;

    /// The route before another one that takes all its requests for some paths, with each tried.
    fn answers(routes: &[Route<()>], number: usize, covers: impl Fn(&Route<()>) -> bool) -> Option<usize> {
        let route = &routes[number];
        let first = routes[..number].iter().rposition(is_rewrite).map_or(0, |rewrite| rewrite + 1);
        (first..number).find(|place| takes_all(&routes[*place], route, &covers))
    }

    #[test]
    fn an_index_of_routes_changes_no_conflict() {
        let mut numbers = Numbers(7);
        let mut found = [0, 0];
        for _ in 0..LISTS {
            let mut routes: Vec<_> = (0..numbers.below(60) + 20).map(|_| numbers.route()).collect();
            // Routes with the same conditions as others.
            for _ in 0..10 {
                let number = numbers.below(routes.len());
                let conditions = routes[number].conditions.clone();
                routes.push(Route { conditions, ..numbers.route() });
            }
            let earlier_routes = EarlierRoutes::new(&routes);
            for (number, route) in routes.iter().enumerate() {
                let all = answers(&routes, number, |earlier| earlier.path.covers(&route.path));
                assert_eq!(earlier_routes.answers_all(number, route), all, "{number} of {routes:#?}");
                let path = route.path.alternatives().find_map(|path| {
                    let earlier = answers(&routes, number, |earlier| earlier.path.covers_one(path))?;
                    Some((path.as_str().to_owned(), earlier))
                });
                found[0] += u32::from(all.is_some());
                found[1] += u32::from(all.is_none() && path.is_some());
                assert_eq!(earlier_routes.unreachable_path(number, route), path, "{number} of {routes:#?}");
            }
        }
        assert!(found.iter().all(|count| *count > LISTS / 4), "{found:?}");
    }

    const LISTS: u32 = 200;
}
