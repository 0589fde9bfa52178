//! The routes whose requests are counted.

use serde_json::{Value, json};
use serow_access_log::{DurationCounts, Durations};
use serow_site::CountedRoute;

/// The routes whose requests are counted, and where; by default none.
#[derive(Clone, Debug, Default)]
pub struct CountedRoutes {
    routes: Vec<CountedRoute>,
    durations: Durations,
}

impl CountedRoutes {
    /// Counts the requests of these routes, in the order of their numbers.
    #[must_use]
    pub fn new(routes: Vec<CountedRoute>) -> Self {
        let durations = Durations::new(routes.len());
        Self { routes, durations }
    }

    /// Where the server counts.
    #[must_use]
    pub fn durations(&self) -> Durations {
        self.durations.clone()
    }

    /// The numbers as they are now.
    pub(crate) fn document(&self) -> Value {
        // The last counts have no route.
        let names = self.routes.iter().map(|route| (route.site.as_str(), route.path.as_str())).chain([("", "")]);
        let counts = self.durations.counts();
        let routes = names.zip(&counts).map(|((site, path), counts)| route(site, path, counts));
        routes.collect::<Vec<_>>().into()
    }
}

fn route(site: &str, path: &str, counts: &DurationCounts) -> Value {
    let microseconds = |time: std::time::Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    let classes = counts.classes.iter().map(|(limit, count)| {
        let limit = limit.map_or(u64::MAX, microseconds);
        json!({ "up_to_us": limit, "count": count })
    });
    json!({
        "name": format!("{site} {path}"),
        "site": site,
        "path": path,
        "requests": counts.classes.iter().map(|(_, count)| count).sum::<u64>(),
        "sum_us": microseconds(counts.sum),
        "buckets": classes.collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{route_metrics, total};

    #[test]
    fn counts_of_generations_are_added_by_route() {
        let route = |site: &str, path: &str| CountedRoute { site: site.to_owned(), path: path.to_owned() };
        let before = json!({ "routes": CountedRoutes::new(vec![route("a", "/*"), route("b", "/*")]).document() });
        let after = json!({ "routes": CountedRoutes::new(vec![route("b", "/*")]).document() });
        let mut sum = Value::Null;
        total::add_ended(&mut sum, &before);
        total::add(&mut sum, &after);
        let names: Vec<_> = sum["routes"].as_array().unwrap().iter().map(|route| route["name"].clone()).collect();
        assert_eq!(names, ["a /*", "b /*", " "]);
        let mut text = String::new();
        route_metrics::push(&sum, &mut text);
        assert_eq!(crate::exposition::faults(&text), Vec::<String>::new());
        assert!(CountedRoutes::default().document().as_array().unwrap().is_empty());
    }
}
