//! What the routes of a site cannot mean.

use serow_message::Method;

use crate::{
    error::RouterError,
    site::{Action, Route},
};

/// Refuses routes that no request comes to, and those that contradict themselves; only where that is certain.
pub(crate) fn check<H>(site: usize, routes: &[Route<H>]) -> Result<(), RouterError> {
    for (number, route) in routes.iter().enumerate() {
        // An expression has groups, which are variables.
        let stars = if route.conditions.path.is_some() { 0 } else { route.path.stars() };
        let wanted = match &route.action {
            Action::Redirect(redirect) => redirect.stars(),
            Action::Rewrite(target) => target.stars(),
            Action::Handle(_) | Action::Try(_) | Action::Respond(_) => 0,
        };
        if wanted > stars {
            return Err(RouterError::Stars { site, route: number, stars });
        }
        if is_rewrite(route) && number + 1 == routes.len() {
            return Err(RouterError::LastRewrite { site, route: number });
        }
        if is_try(route) && number + 1 == routes.len() {
            return Err(RouterError::LastTry { site, route: number });
        }
        if is_try(route) && !(route.methods.allow(&Method::GET)) {
            return Err(RouterError::TryWithoutGet { site, route: number });
        }
        if is_rewrite(route) && !route.headers.is_empty() {
            return Err(RouterError::RewriteWithHeaders { site, route: number });
        }
        let before = routes.get(..number).unwrap_or_default();
        if let Some(earlier) = answers_all(before, route) {
            return Err(RouterError::Unreachable { site, route: number, earlier });
        }
        if let Some((path, earlier)) = unreachable_path(before, route) {
            return Err(RouterError::UnreachablePath { site, route: number, path, earlier });
        }
    }
    Ok(())
}

/// The route before this one that takes all its requests. What comes out of a rewrite has not been seen by the routes
/// before that, so only those behind the last rewrite count.
fn answers_all<H>(before: &[Route<H>], route: &Route<H>) -> Option<usize> {
    answers(before, route, |earlier| earlier.path.covers(&route.path))
}

/// The first of several paths of a route whose requests never come to it, and the route before it that takes them.
fn unreachable_path<H>(before: &[Route<H>], route: &Route<H>) -> Option<(String, usize)> {
    let mut paths = route.path.alternatives();
    paths.find_map(|path| {
        let earlier = answers(before, route, |earlier| earlier.path.covers_one(path))?;
        Some((path.as_str().to_owned(), earlier))
    })
}

/// The route before this one that takes all its requests for paths that it covers.
fn answers<H>(before: &[Route<H>], route: &Route<H>, covers: impl Fn(&Route<H>) -> bool) -> Option<usize> {
    let first = before.iter().rposition(is_rewrite).map_or(0, |rewrite| rewrite + 1);
    let takes_all = |earlier: &Route<H>| {
        !is_try(earlier)
            // A script that chooses a name passes the routes of other names by.
            && (route.name.is_none() || earlier.name == route.name)
            && earlier.methods.include(&route.methods)
            && covers(earlier)
            && (earlier.conditions == route.conditions || earlier.conditions.is_empty())
    };
    before.iter().skip(first).position(takes_all).map(|place| first + place)
}

/// Whether a route may leave its requests to those behind it.
fn is_try<H>(route: &Route<H>) -> bool {
    matches!(route.action, Action::Try(_))
}

fn is_rewrite<H>(route: &Route<H>) -> bool {
    matches!(route.action, Action::Rewrite(_))
}
