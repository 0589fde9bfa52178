//! The paths of a route, and how messages name it by them.

use serow_document::{Place, Problem, Step};
use serow_router::PathPattern;

use crate::values::Texts;

/// The pattern of all paths that a route names; that of every path, if it names none.
pub fn pattern(texts: Option<&Texts>, place: &Place) -> Result<PathPattern, Problem> {
    let Some(Texts(texts)) = texts else { return Ok(PathPattern::any()) };
    let parse = |(number, text): (usize, &String)| {
        let place = if texts.len() == 1 { place.clone() } else { place.element(number) };
        text.parse().map_err(|error| Problem::of_value(place, format!("{text:?}: {error}")))
    };
    let patterns = texts.iter().enumerate().map(parse).collect::<Result<Vec<PathPattern>, _>>()?;
    for (number, pattern) in patterns.iter().enumerate() {
        // Of two that are the same, the second is too many.
        let covers = |(other, covering): &(usize, &PathPattern)| {
            *other != number && covering.covers(pattern) && (*other < number || !pattern.covers(covering))
        };
        if let Some((_, covering)) = patterns.iter().enumerate().find(covers) {
            let text = format!("{covering} beside it matches {pattern} as well: leave it out");
            return Err(Problem::of_value(place.element(number), text));
        }
    }
    let text = "there is no path: name one, as in path = \"/*\"";
    PathPattern::any_of(patterns).ok_or_else(|| Problem::of_value(place.clone(), text))
}

/// How messages name a route with these paths, which stands at this place.
pub fn of_route(place: Option<&Place>, paths: &str) -> String {
    match place.and_then(|place| place.steps_back().next()) {
        Some(Step::Element(number)) => format!("route {}, {paths}", number + 1),
        _ => paths.to_owned(),
    }
}

/// The same with the site, of which this is the first host.
pub fn shown(site: &str, place: Option<&Place>, paths: &str) -> String {
    let site = if site == "*" { "the site without hosts".to_owned() } else { format!("site {site}") };
    format!("{site}, {}", of_route(place, paths))
}
