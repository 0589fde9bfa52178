//! Which paths belong to a route, for handlers by which a request reaches other paths than its own, as with WebDAV.

use std::sync::Arc;

use serow_variables::{Expression, LiteralIndex};

use crate::{
    path_pattern::PathPattern,
    route_index::literals,
    site::{Action, Route},
};

/// The paths whose requests come to a route, and those that other routes of its site may take.
///
/// The patterns are those that the router compares. A route takes a path from another one whichever methods and conditions
/// it has, so a path that it takes for some requests only is not the other route's either. Routes that take all paths of
/// the other one, and leave some requests to it by their methods or conditions, make no difference between its paths.
///
/// ```
/// use serow_router::{Action, Route, RoutePaths};
///
/// let routes = ["/admin/*", "/*"].map(|path| Route::new(path.parse().unwrap(), Action::Handle(())));
/// let paths = RoutePaths::of(&routes, 1)?;
/// assert!(paths.receive(b"/a") && !paths.receive(b"/admin/a"));
/// # Ok::<(), serow_router::UndecidedPaths>(())
/// ```
#[derive(Clone, Debug)]
pub struct RoutePaths {
    own: PathMatch,
    others: Vec<PathMatch>,
    /// Of the others; nothing for few.
    index: Option<Arc<LiteralIndex>>,
}

/// The patterns that the path of a request must match for a route to take it.
#[derive(Clone, Debug)]
struct PathMatch {
    pattern: PathPattern,
    expression: Option<Expression>,
}

/// Why the path alone does not say which route takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UndecidedPaths {
    /// A condition of the route with this number looks at the path by a variable.
    Variable(usize),
    /// The route with this number rewrites all paths before.
    Rewrite(usize),
}

impl RoutePaths {
    /// The paths of the route with this number.
    ///
    /// # Errors
    ///
    /// A route for which the path alone does not say whether it takes a request.
    ///
    /// # Panics
    ///
    /// There is no route with this number.
    pub fn of<H>(routes: &[Route<H>], number: usize) -> Result<Self, UndecidedPaths> {
        let route = &routes[number];
        if route.conditions.depend_on_path() {
            return Err(UndecidedPaths::Variable(number));
        }
        let mut others = Vec::new();
        for (place, other) in routes.iter().enumerate() {
            let is_before = place < number;
            // A script may choose it before the route, wherever it is.
            let is_chosen = other.name.is_some() && other.name != route.name;
            if place == number || !is_before && !is_chosen {
                continue;
            }
            if !takes_all_paths(other, route) {
                others.push(PathMatch::of(other));
            } else if is_before && matches!(other.action, Action::Rewrite(_) | Action::Restart(_)) {
                return Err(UndecidedPaths::Rewrite(place));
            } else if other.conditions.depend_on_path() {
                return Err(UndecidedPaths::Variable(place));
            }
        }
        let of_other = |other: &PathMatch| literals(&other.pattern, other.expression.as_ref());
        let index = LiteralIndex::of_many(others.iter().map(of_other)).map(Arc::new);
        Ok(Self { own: PathMatch::of(route), others, index })
    }

    /// Whether the route gets the requests for a path, which is decoded and clean.
    #[must_use]
    pub fn receive(&self, path: &[u8]) -> bool {
        self.own.matches(path) && !self.are_taken(path)
    }

    /// Whether another route may take requests for a path.
    #[must_use]
    pub fn are_taken(&self, path: &[u8]) -> bool {
        match &self.index {
            None => self.others.iter().any(|other| other.matches(path)),
            Some(index) => {
                let mut others = index.candidates(path).filter_map(|number| self.others.get(number as usize));
                others.any(|other| other.matches(path))
            }
        }
    }
}

impl PathMatch {
    fn of<H>(route: &Route<H>) -> Self {
        Self { pattern: route.path.clone(), expression: route.conditions.path.clone() }
    }

    fn matches(&self, path: &[u8]) -> bool {
        self.pattern.matches(path) && self.expression.as_ref().is_none_or(|expression| expression.matches(path))
    }
}

/// Whether a route is for all paths of another one.
fn takes_all_paths<H>(other: &Route<H>, route: &Route<H>) -> bool {
    other.path.covers(&route.path)
        && (other.conditions.path.is_none() || other.conditions.path == route.conditions.path)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serow_variables::{Letters, MapTable, Maps, Scope, Text, ValuePatterns};

    use super::*;
    use crate::{Conditions, Methods, Networks};

    fn route(path: &str) -> Route<()> {
        Route::new(path.parse().unwrap(), Action::Handle(()))
    }

    fn expression(text: &str) -> Route<()> {
        let conditions = Conditions { path: Some(text.parse().unwrap()), ..Conditions::default() };
        Route { conditions, ..route("/*") }
    }

    fn rewrite(path: &str) -> Route<()> {
        Route::new(path.parse().unwrap(), Action::Rewrite("/x".parse().unwrap()))
    }

    fn named(name: &str, path: &str) -> Route<()> {
        Route { name: Some(name.into()), ..route(path) }
    }

    fn of_methods(methods: &[&str], path: &str) -> Route<()> {
        Route { methods: Methods::new(methods).unwrap(), ..route(path) }
    }

    fn of_clients(path: &str) -> Route<()> {
        let conditions = Conditions { clients: Networks::parse(&["10.0.0.0/8"]).unwrap(), ..Conditions::default() };
        Route { conditions, ..route(path) }
    }

    /// A route with a condition of this variable.
    fn of_variable(variable: &str, path: &str) -> Route<()> {
        let map = MapTable { from: "$uri".to_owned(), to: "by_path".to_owned(), ..MapTable::default() };
        let scope = Scope::new(Arc::new(Maps::new(&[map]).unwrap())).of_stars(1);
        let text = Text::parse(variable, &scope).unwrap();
        let patterns = ValuePatterns::parse(&["a"], Letters::Exact).unwrap();
        Route { conditions: Conditions { texts: vec![(text, patterns)], ..Conditions::default() }, ..route(path) }
    }

    #[test]
    fn a_route_receives_what_its_path_matches_and_none_of_the_others_before_it() {
        let all = || route("/*");
        let cases = [
            (vec![all()], 0, "/ /a /a/", ""),
            (vec![all(), route("/admin/*")], 0, "/admin/a", ""),
            (vec![route("/admin/*"), all()], 1, "/admin /ADMIN/a /a/admin/", "/admin/ /admin/a /admin/a/b"),
            (vec![route("/admin"), all()], 1, "/admin/ /admin/a", "/admin"),
            (vec![route("/*/private/*"), all()], 1, "/private/a /a/private", "/a/private/ /a/b/private/c"),
            (vec![route("*.php"), all()], 1, "/a.php/b /a.phpx", "/a.php /a/.php"),
            (vec![expression("(?i)^/admin(/|$)"), all()], 1, "/administrator", "/admin /ADMIN/a"),
            (vec![all(), route("/docs/*")], 1, "/docs/ /docs/a", "/docs /a /"),
            (vec![route("/a"), expression("^/docs/")], 1, "/docs/a", "/a /docs /docsa"),
            // For some requests only.
            (vec![of_methods(&["GET"], "/admin/*"), all()], 1, "/a", "/admin/a"),
            (vec![of_clients("/admin/*"), all()], 1, "/a", "/admin/a"),
            (vec![of_variable("$uri", "/admin/*"), all()], 1, "/a", "/admin/a"),
            (vec![rewrite("/old/*"), all()], 1, "/a", "/old/a"),
            // These make no difference between the paths of the other one.
            (vec![of_methods(&["GET"], "/*"), all()], 1, "/a /admin/a", ""),
            (vec![of_clients("/*"), route("/docs/*")], 1, "/docs/a", "/a"),
            (vec![of_variable("$host", "/*"), all()], 1, "/a", ""),
            (vec![of_methods(&["GET"], "/*"), expression("^/a")], 1, "/a", "/b"),
            // Scripts choose names.
            (vec![all(), named("admin", "/admin/*")], 0, "/a", "/admin/a"),
            (vec![named("one", "/*"), named("one", "/admin/*")], 0, "/a /admin/a", ""),
            (vec![named("one", "/*"), all(), named("other", "/*")], 1, "/a", ""),
        ];
        for (routes, number, received, others) in cases {
            let paths = RoutePaths::of(&routes, number).unwrap();
            for (list, expected) in [(received, true), (others, false)] {
                for path in list.split_whitespace() {
                    assert_eq!(paths.receive(path.as_bytes()), expected, "{path} at {number} of {routes:?}");
                }
            }
        }
    }

    #[test]
    fn paths_that_variables_or_rewrites_decide_about_are_refused() {
        use UndecidedPaths::{Rewrite, Variable};
        let all = || route("/*");
        for (routes, number, expected) in [
            (vec![of_variable("$uri", "/*"), all()], 1, Some(Variable(0))),
            (vec![of_variable("$request_uri", "/*"), all()], 1, Some(Variable(0))),
            (vec![of_variable("$1", "/*"), route("/docs/*")], 1, Some(Variable(0))),
            (vec![of_variable("$by_path", "/*"), all()], 1, Some(Variable(0))),
            (vec![of_variable("$uri", "/docs/*")], 0, Some(Variable(0))),
            (vec![all(), rewrite("/*"), all()], 2, Some(Rewrite(1))),
            (vec![rewrite("/*"), route("/docs/*")], 1, Some(Rewrite(0))),
            (vec![all(), rewrite("/*"), all()], 0, None),
            (vec![all(), of_variable("$uri", "/*")], 0, None),
        ] {
            assert_eq!(RoutePaths::of(&routes, number).err(), expected, "{number} of {routes:?}");
        }
    }
}
