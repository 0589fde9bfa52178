//! Sums of the numbers that several generations of a server counted.

use serde_json::{Map, Value};

use super::{applications, bans, cache, histogram, servers};

/// Adds the last report of a generation that has ended. Connections and requests that it had open or under way at that
/// time are gone, though it may not have come to say so.
pub fn add_ended(total: &mut Value, report: &Value) {
    let mut report = report.clone();
    for path in MOMENTARY {
        if let Some(number) = report.pointer_mut(path) {
            *number = 0.into();
        }
    }
    applications::end(&mut report);
    cache::end(&mut report);
    servers::end(&mut report);
    add_report(total, &report);
}

/// Adds the report of a generation, with the numbers of those of its parts that others have replaced.
pub(super) fn add_report(total: &mut Value, report: &Value) {
    if let Some(former) = report.get(FORMER).filter(|former| former.is_object()) {
        add(total, former);
    }
    add(total, report);
}

/// Adds the numbers of a report to those of others. Other values stay as they are, once they are there; of another kind
/// than before, it is left out.
pub(crate) fn add(total: &mut Value, report: &Value) {
    match (total, report) {
        (total @ Value::Null, report) => {
            *total = report.clone();
            if let Value::Object(fields) = total {
                fields.remove(FORMER);
            }
        }
        (Value::Object(total), Value::Object(report)) => {
            for (name, value) in report.iter().filter(|(name, _)| *name != FORMER) {
                match total.get_mut(name) {
                    // The moment, and how long ago it is: of the oldest.
                    Some(before) if name == STARTED => *before = before.as_u64().min(value.as_u64()).into(),
                    Some(before) => add(before, value),
                    None => drop(total.insert(name.clone(), value.clone())),
                }
            }
        }
        (Value::Array(total), Value::Array(report)) => {
            report.iter().enumerate().for_each(|(place, element)| match element["name"].is_string() {
                true => add_named(total, place, element),
                false if applications::is_request(element) => total.push(element.clone()),
                false => add_class(total, element),
            });
        }
        (total @ Value::Number(_), Value::Number(_)) => {
            let sum = total.as_u64().unwrap_or(0).saturating_add(report.as_u64().unwrap_or(0));
            *total = sum.into();
        }
        _ => {}
    }
}

/// Adds what has a name to what has the same; most probably that has the same place.
fn add_named(total: &mut Vec<Value>, place: usize, element: &Value) {
    match servers::place_of(total, &element["name"], place).and_then(|place| total.get_mut(place)) {
        Some(other) => add(other, element),
        None => total.push(element.clone()),
    }
}

/// Adds a class of a histogram, in the order of the classes.
fn add_class(total: &mut Vec<Value>, class: &Value) {
    let limit = |class: &Value| class[CLASS].as_u64();
    // An element without a class comes from a generation of another version.
    if limit(class).is_none() {
        return;
    }
    let place = total.partition_point(|other| limit(other) < limit(class));
    match total.get_mut(place).filter(|other| limit(other) == limit(class)) {
        Some(other) => other[COUNT] = count(other).saturating_add(count(class)).into(),
        None => total.insert(place, class.clone()),
    }
}

fn count(class: &Value) -> u64 {
    class[COUNT].as_u64().unwrap_or(0)
}

/// Sets the values of a total that are not sums: the serving generation, the start of the oldest one, and the quantiles.
pub(super) fn identify(total: &mut Value, serving: Option<&Value>, now: u64) {
    let started = total[STARTED].as_u64().unwrap_or(now);
    if let Value::Object(fields) = &mut *total {
        // There are no workers without a generation that serves.
        fields.insert("workers".to_owned(), serving.map_or(0.into(), |serving| serving["workers"].clone()));
        if let Some(serving) = serving {
            fields.insert("version".to_owned(), serving["version"].clone());
            fields.insert("sandbox".to_owned(), serving["sandbox"].clone());
            fields.insert("maintenance".to_owned(), serving["maintenance"].clone());
            fields.insert("certificates".to_owned(), serving["certificates"].clone());
            fields.insert("fleet".to_owned(), serving["fleet"].clone());
            fields.insert("containers".to_owned(), serving["containers"].clone());
        }
        fields.insert("uptime_seconds".to_owned(), now.saturating_sub(started).into());
    }
    applications::identify(total, serving);
    bans::identify(total, serving);
    servers::identify(total, serving);
    if let Some(Value::Object(delays)) = total.pointer_mut("/pacing/queue_delay") {
        set_quantiles(delays);
    }
}

fn set_quantiles(delays: &mut Map<String, Value>) {
    let classes = delays.get("buckets").and_then(Value::as_array).cloned().unwrap_or_default();
    for (name, thousandths) in [("p50_us", 500), ("p90_us", 900), ("p99_us", 990), ("max_us", 1000)] {
        delays.insert(name.to_owned(), histogram::quantile(&classes, thousandths).into());
    }
}

/// The paths of momentary numbers, which do not count from the beginning.
pub(super) const MOMENTARY: [&str; 9] = [
    "/connections/open",
    "/connections/open_http1",
    "/connections/open_http2",
    "/connections/open_http3",
    "/requests/in_progress",
    "/http2/streams_active",
    "/http3/streams_active",
    "/pacing/connections_waiting",
    "/access_log/waiting",
];

/// The numbers of parts that others have replaced, in the report of a generation.
pub(super) const FORMER: &str = "former";

const STARTED: &str = "started";
const CLASS: &str = "up_to_us";
const COUNT: &str = "count";

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn report(started: u64, total: u64, buckets: Value) -> Value {
        json!({
            "version": "0.1.0", "started": started, "uptime_seconds": 7, "workers": 2,
            "requests": { "total": total, "in_progress": 0 },
            "pacing": { "queue_delay": { "count": 9, "p50_us": 1, "p90_us": 1, "p99_us": 1, "max_us": null,
                                         "buckets": buckets } },
        })
    }

    #[test]
    fn numbers_are_added_and_the_rest_is_of_those_who_know() {
        let mut total = Value::Null;
        let class = |limit: u64, count: u64| json!({ "up_to_us": limit, "count": count });
        add(&mut total, &report(100, 5, json!([class(10, 90), class(30, 1)])));
        add(&mut total, &report(50, 7, json!([class(20, 8), class(30, 1)])));
        let serving = json!({ "version": "0.2.0", "workers": 3 });
        identify(&mut total, Some(&serving), 150);
        assert_eq!(total["requests"]["total"], 12);
        assert_eq!((&total["version"], &total["workers"]), (&json!("0.2.0"), &json!(3)));
        assert_eq!((&total["started"], &total["uptime_seconds"]), (&json!(50), &json!(100)));
        let delays = &total["pacing"]["queue_delay"];
        assert_eq!(delays["buckets"], json!([class(10, 90), class(20, 8), class(30, 2)]));
        assert_eq!([&delays["p50_us"], &delays["p90_us"], &delays["p99_us"], &delays["max_us"]], [10, 10, 30, 30]);
    }

    #[test]
    fn numbers_of_replaced_parts_are_added_once() {
        let report = json!({
            "requests": { "total": 5 },
            "mirrors": [{ "name": "a", "sent": 1 }],
            "former": { "mirrors": [{ "name": "a", "sent": 10 }, { "name": "b", "sent": 100 }] },
        });
        let mut total = Value::Null;
        add_report(&mut total, &report);
        add_ended(&mut total, &report);
        let mirrors = json!([{ "name": "a", "sent": 22 }, { "name": "b", "sent": 200 }]);
        assert_eq!(total, json!({ "requests": { "total": 10 }, "mirrors": mirrors }));
    }

    #[test]
    fn an_ended_generation_has_nothing_open() {
        let mut total = Value::Null;
        let crashed =
            json!({ "connections": { "open": 7, "accepted": 9 }, "requests": { "in_progress": 3, "total": 5 } });
        add_ended(&mut total, &crashed);
        add_ended(&mut total, &crashed);
        let expected =
            json!({ "connections": { "open": 0, "accepted": 18 }, "requests": { "in_progress": 0, "total": 10 } });
        assert_eq!(total, expected);
    }

    #[test]
    fn reports_of_other_versions_and_nonsense() {
        let good = report(100, 5, json!([{ "up_to_us": 10, "count": 90 }]));
        let reports = [
            json!(null),
            json!(7),
            json!([1, [2], "x", {}, { "up_to_us": 10 }, { "up_to_us": -1, "count": 1 }]),
            json!({ "requests": 7, "pacing": { "queue_delay": {} } }),
            json!({ "requests": { "total": u64::MAX, "new": 1 }, "pacing": { "queue_delay": { "buckets": 7 } } }),
            report(
                u64::MAX,
                u64::MAX,
                json!([1, { "up_to_us": 10, "count": u64::MAX }, { "up_to_us": 10, "count": "x" }]),
            ),
            json!({ "started": "x", "requests": { "total": -5 }, "workers": [], "pacing": [] }),
            good.clone(),
        ];
        for (one, other) in reports.iter().flat_map(|one| reports.iter().map(move |other| (one, other))) {
            let mut total = Value::Null;
            for report in [one, other, one] {
                add_ended(&mut total, report);
            }
            identify(&mut total, Some(one), 150);
            super::super::metrics::text(&total);
            super::super::summary::of(&total.to_string());
        }
    }

    #[test]
    fn without_measurements_quantiles_are_null() {
        let mut total = Value::Null;
        add(&mut total, &report(100, 5, json!([])));
        identify(&mut total, None, 150);
        assert_eq!(total["pacing"]["queue_delay"]["p50_us"], Value::Null);
        let mut nothing = Value::Null;
        identify(&mut nothing, None, 150);
    }
}
