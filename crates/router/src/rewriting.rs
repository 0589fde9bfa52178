//! Rewrites of the requests of a route, and the captures that they name.

use serow_message::{Request, RequestClient, Target, TrustedProxies};
use serow_variables::{
    Captures, Expression, Source,
    clean_path::{self, NoPath, Room},
};

use crate::{path_pattern::PathPattern, rewrite::RewriteTarget, routed_path::RoutedPath};

/// A rewrite with variables.
#[derive(Debug)]
pub(crate) struct Rewriting {
    pub(crate) target: RewriteTarget,
    pub(crate) captured: Captured,
}

/// Where captures come from.
#[derive(Clone, Debug)]
pub(crate) enum Captured {
    /// There are none, or nothing uses them.
    Nothing,
    /// The texts that the stars of the route's path stand for.
    Stars,
    /// The groups of an expression.
    Groups(Expression),
}

impl RewriteTarget {
    /// The target with this path for a request, whose client these proxies may name; nothing if a value makes it one that no
    /// path can be. It has no captures.
    #[must_use]
    pub fn target_of(&self, request: &Request, trusted: &TrustedProxies) -> Option<Target> {
        let (client, mut room) = (RequestClient::new(trusted), Room::new());
        let asked = RoutedPath::Asked(clean_path::of_routed(&request.target, &mut room));
        let rewriting = Rewriting { target: self.clone(), captured: Captured::Nothing };
        let path = rewriting.path(&asked, &PathPattern::any(), request, &client).ok()?;
        path.in_target(&request.target).ok()
    }
}

impl Rewriting {
    /// The path that a request goes on with.
    #[inline(never)]
    pub(crate) fn path(
        &self,
        path: &RoutedPath<'_>,
        pattern: &PathPattern,
        request: &Request,
        client: &RequestClient<'_>,
    ) -> Result<RoutedPath<'static>, NoPath> {
        let captures = self.captured.captures(path.as_bytes(), pattern);
        let (made, query) = self.target.filled(&Source { captures: &captures, ..path.source(request, client) });
        let made = clean_path::of_decoded(&made)?;
        // A query that an earlier rewrite made is kept as that of a request is.
        match query.or_else(|| path.query().map(str::to_owned)) {
            None => Ok(RoutedPath::Rewritten(made)),
            Some(query) => Ok(RoutedPath::WithQuery(Box::new((made, query)))),
        }
    }
}

impl Captured {
    /// Where the captures of a route come from whose path must match an expression, or not.
    pub(crate) fn of(expression: Option<&Expression>) -> Self {
        expression.cloned().map_or(Self::Stars, Self::Groups)
    }

    pub(crate) fn captures<'path>(&self, path: &'path [u8], pattern: &PathPattern) -> Captures<'path> {
        match self {
            Self::Nothing => Captures::new(),
            Self::Stars => Captures::from_vec(pattern.captures(path)),
            Self::Groups(expression) => expression.captures(path).unwrap_or_default(),
        }
    }
}
