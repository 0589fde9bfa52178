//! The routes of a server and of its locations, in their order.

use std::iter;

use serow_nginx_syntax::directive::Directive;
use serow_settings_writer::{matching::Match, route::Route, value::Value};

use super::{
    content::Content,
    flow::Flow,
    handler::Handler,
    locations::{Choice, Kind, Location},
    policies,
    position::Position,
    server::Server,
    text::{Part, Text, Variables},
};

/// How many named locations may lead to each other, as in nginx.
const DEEPEST_NAMES: usize = 10;

/// The routes of a server: of its paths, and those of the named locations that its error pages lead to.
pub(super) fn of_server<'a>(server: &'a Server<'a, '_>) -> Vec<Route> {
    let (mut routes, variables) = of_paths(server);
    // The routes of one of them can have error pages, too.
    let mut number = 0;
    while let Some(name) = server.error_location(number) {
        match named_for_errors(server, &name, &variables) {
            Ok(more) => routes.extend(more),
            Err(why) => server.notes().lost(server.directive, why),
        }
        number += 1;
    }
    routes
}

/// The routes of the paths of a server, and the variables that all its locations have.
fn of_paths<'a>(server: &'a Server<'a, '_>) -> (Vec<Route>, Variables) {
    let variables = server.with_folder(&server.first_variables(), &server.scope);
    let mut flow = Flow::new(Position { server, variables }, None);
    let reaches_locations = flow.run(&server.scope, &Match::all());
    let (mut routes, position) = (flow.routes, flow.position);
    if !reaches_locations {
        server.locations.iter().for_each(|location| server.unreached(location.directive));
        return (routes, position.variables);
    }
    for choice in server.root.order() {
        match choice {
            Choice::Location(location, _) if location.is_unreachable() => server.unreached(location.directive),
            Choice::Location(location, within) => {
                let matching = location.matching(within);
                routes.extend(of_location(server, location, &matching, &position.variables, 0));
            }
            Choice::AddSlash(location, _) if location.is_unreachable() => {}
            Choice::AddSlash(location, path) => {
                let mut route = Route::new(Match::exact(&path));
                // nginx first looks whether the location is internal.
                let is_internal = location.scope.nearest_one("internal").is_some();
                let redirect = || Handler::redirecting(format!("{}/", path.replace('*', "%2A")), 301);
                let handler = if is_internal { Handler::responding(404) } else { redirect() };
                policies::set(&position, &location.scope, &handler, &mut route.table);
                server.notes().translated(location.directive);
                routes.push(route);
            }
        }
    }
    (routes, position.variables)
}

/// The routes of a location for these requests.
fn of_location<'a, 'tree>(
    server: &'a Server<'a, 'tree>,
    location: &'a Location<'tree>,
    matching: &Match,
    variables: &Variables,
    depth: usize,
) -> Vec<Route> {
    if let Some(why) = &location.unreadable {
        return vec![Route::refusing(matching.clone(), format!("{}: {why}", location.directive.place))];
    }
    let variables = match depth {
        0 => server.with_carried(variables, location),
        // A named location has the variables of those that lead there.
        _ => variables.clone(),
    };
    let mut variables = server.with_folder(&variables, &location.scope);
    name_groups(server, location, &mut variables);
    let content = Content { location, depth };
    let mut flow = Flow::new(Position { server, variables }, Some(content));
    if server.is_server(&location.scope) {
        content.append(&mut flow, &location.scope, matching, false);
    } else {
        server.notes().translated(location.directive);
        flow.run(&location.scope, matching);
    }
    let is_named = matches!(location.kind, Kind::Named(_));
    if location.scope.nearest_one("internal").is_some() && !is_named {
        close_to_clients(&mut flow, location, matching);
    }
    flow.routes
}

/// Lets texts name the groups of a location's expression: by their numbers, unless another expression stands in the location,
/// which has numbers of its own. A rewrite changes the path that they are taken from.
fn name_groups(server: &Server<'_, '_>, location: &Location<'_>, variables: &mut Variables) {
    let Kind::Expression(pattern) = &location.kind else { return };
    let inside = location.directive.children().iter().filter(|directive| directive.name() != "location");
    let all: Vec<&Directive> = inside.flat_map(|directive| iter::once(directive).chain(directive.children())).collect();
    let compares =
        |directive: &&Directive| directive.texts().any(|word| word.starts_with('~') || word.starts_with("!~"));
    if all.iter().any(|directive| directive.name() == "rewrite") {
        let why = "it is a group of the location, and a rewrite stands in the location";
        pattern.group_names().iter().for_each(|(name, _)| variables.lose(name, why));
    } else if all.iter().filter(|directive| directive.name() == "if").any(compares) {
        server.import.name_groups("$uri", pattern, variables);
    } else {
        for (name, number) in pattern.group_names() {
            variables.set(&name, Text { parts: vec![Part::Variable(number.to_string())] });
        }
    }
}

/// Makes the routes of a location internal, and adds the refusal that clients get.
fn close_to_clients<'tree>(flow: &mut Flow<'_, 'tree>, location: &Location<'tree>, matching: &Match) {
    let is_restricted = |route: &Route| policies::access::KEYS.iter().any(|key| route.table.get(key).is_some());
    let lost = match () {
        () if flow.routes.iter().any(Route::restarts) => Some("an internal location that leads to other locations"),
        () if flow.routes.iter().any(is_restricted) => Some("access control of an internal location"),
        () => None,
    };
    if let Some(lost) = lost {
        flow.position.notes().lost(location.directive, format!("{lost} has no translation"));
        flow.routes.clear();
    }
    flow.routes.iter_mut().for_each(make_internal);
    let mut refusal = Route::new(matching.clone());
    policies::set(&flow.position, &location.scope, &Handler::responding(404), &mut refusal.table);
    flow.routes.push(refusal);
}

/// Appends the routes of a named location for these requests.
pub(super) fn append_named(flow: &mut Flow<'_, '_>, name: &str, matching: &Match, depth: usize) -> Result<(), String> {
    if depth >= DEEPEST_NAMES {
        return Err(format!("named locations lead in a circle at @{name}"));
    }
    let server = flow.position.server;
    let location = server.named(name)?;
    flow.routes.extend(of_location(server, location, matching, &flow.position.variables, depth + 1));
    Ok(())
}

/// The routes of a named location that error pages lead to.
fn named_for_errors<'a>(server: &'a Server<'a, '_>, name: &str, variables: &Variables) -> Result<Vec<Route>, String> {
    let mut routes = of_location(server, server.named(name)?, &Match::all(), variables, 1);
    if routes.iter().any(Route::restarts) {
        return Err(format!("@{name} leads to other locations, which a page of an error does not"));
    }
    for route in &mut routes {
        // nginx counts a request once.
        ["limits", "max-requests-per-client"].iter().for_each(|key| _ = route.table.remove(key));
        if policies::access::KEYS.iter().any(|key| route.table.get(key).is_some()) {
            let why = "access control of a location for error pages has no translation";
            server.notes().lost(server.named(name)?.directive, why);
            *route = Route::refusing(route.matching.clone(), format!("@{name}: {why}"));
        }
        route.table.entries.insert(0, ("name".to_owned(), Value::Text(name.to_owned())));
        make_internal(route);
    }
    Ok(routes)
}

/// Makes a route internal: its requests have passed the limits and the cache of the route that led to it.
fn make_internal(route: &mut Route) {
    ["cache", "mirror", "max-body", "body-timeout"].iter().for_each(|key| _ = route.table.remove(key));
    route.table.set("internal", Value::Bool(true));
}
