//! Adding up what several generations of a server counted.

use serde_json::{Map, Value};

/// Adds the numbers of a report to those of others. What is no number stays as it is, once it is there.
pub(crate) fn add(total: &mut Value, report: &Value) {
    match (total, report) {
        (total @ Value::Null, report) => *total = report.clone(),
        (Value::Object(total), Value::Object(report)) => {
            for (name, value) in report {
                match total.get_mut(name) {
                    // The moment, and how long ago it is: of the oldest.
                    Some(before) if name == STARTED => *before = before.as_u64().min(value.as_u64()).into(),
                    Some(before) => add(before, value),
                    None => drop(total.insert(name.clone(), value.clone())),
                }
            }
        }
        (Value::Array(total), Value::Array(report)) => report.iter().for_each(|class| add_class(total, class)),
        (total @ Value::Number(_), Value::Number(_)) => {
            let sum = total.as_u64().unwrap_or(0).saturating_add(report.as_u64().unwrap_or(0));
            *total = sum.into();
        }
        _ => {}
    }
}

/// Adds a class of a histogram, in the order of the classes.
fn add_class(total: &mut Vec<Value>, class: &Value) {
    let limit = |class: &Value| class[CLASS].as_u64();
    let place = total.partition_point(|other| limit(other) < limit(class));
    match total.get_mut(place).filter(|other| limit(other) == limit(class)) {
        Some(other) => other[COUNT] = (other[COUNT].as_u64().unwrap_or(0) + class[COUNT].as_u64().unwrap_or(0)).into(),
        None => total.insert(place, class.clone()),
    }
}

/// Says in a total what is no sum: who serves, since when the oldest did, and what part of the waits was how long.
pub(super) fn identify(total: &mut Value, serving: Option<&Value>, now: u64) {
    let started = total[STARTED].as_u64().unwrap_or(now);
    if let (Value::Object(fields), Some(serving)) = (&mut *total, serving) {
        for name in ["version", "workers"] {
            fields.insert(name.to_owned(), serving[name].clone());
        }
    }
    if let Value::Object(fields) = &mut *total {
        fields.insert("uptime_seconds".to_owned(), now.saturating_sub(started).into());
    }
    if let Some(Value::Object(delays)) = total.pointer_mut("/pacing/queue_delay") {
        set_quantiles(delays);
    }
}

fn set_quantiles(delays: &mut Map<String, Value>) {
    let classes: Vec<(u64, u64)> = delays["buckets"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|class| Some((class[CLASS].as_u64()?, class[COUNT].as_u64()?)))
        .collect();
    let count: u64 = classes.iter().map(|(_, count)| count).sum();
    for (name, thousandths) in [("p50_us", 500), ("p90_us", 900), ("p99_us", 990), ("max_us", 1000)] {
        let rank = (u128::from(count) * thousandths).div_ceil(1000);
        let mut below = 0;
        let class = classes.iter().find(|(_, count)| {
            below += u128::from(*count);
            below >= rank && *count > 0
        });
        delays.insert(name.to_owned(), class.map_or(Value::Null, |(limit, _)| (*limit).into()));
    }
}

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
    fn nothing_was_measured() {
        let mut total = Value::Null;
        add(&mut total, &report(100, 5, json!([])));
        identify(&mut total, None, 150);
        assert_eq!(total["pacing"]["queue_delay"]["p50_us"], Value::Null);
        let mut nothing = Value::Null;
        identify(&mut nothing, None, 150);
    }
}
