//! The applications that several generations run: the workers of the one that serves, and what all of them counted.

use serde_json::Value;

use super::servers::{list, named, set, take_sum};

/// Resets the momentary numbers of applications in the report of a generation that has ended.
pub(super) fn end(report: &mut Value) {
    for application in list(report, "applications") {
        MOMENTARY.iter().for_each(|key| set(application, key, 0.into()));
        set(application, RUNNING, Value::Array(Vec::new()));
    }
}

/// The applications of a sum are those of the generation that serves, and so are their workers; where none serves,
/// there are none.
pub(super) fn identify(total: &mut Value, serving: Option<&Value>) {
    let Some(fields) = total.as_object_mut() else { return };
    let sum = fields.remove("applications").unwrap_or_default();
    let mut applications = serving.map(|serving| serving["applications"].clone()).filter(Value::is_array);
    for (place, application) in applications.iter_mut().filter_map(Value::as_array_mut).flatten().enumerate() {
        if let Some(of_sum) = named(&sum, &application["name"], place) {
            take_sum(application, of_sum, &SUMS);
            for key in [RUNNING, "queue_times", "work_times"].into_iter().filter(|key| of_sum[*key].is_array()) {
                set(application, key, of_sum[key].clone());
            }
        }
    }
    fields.insert("applications".to_owned(), applications.unwrap_or_else(|| Value::Array(Vec::new())));
}

/// Whether this is one of the requests that workers have now.
pub(super) fn is_request(element: &Value) -> bool {
    element["took_us"].is_u64()
}

/// The requests that workers have now.
const RUNNING: &str = "running";

/// The keys whose numbers are momentary.
const MOMENTARY: [&str; 3] = ["workers", "busy", "waiting"];

/// The keys whose numbers are sums over the generations: counters, and requests that wait.
const SUMS: [&str; 4] = ["waiting", "requests", "replaced", "deaths"];

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::total;

    fn report(workers: u64, waiting: u64, requests: u64) -> Value {
        let application = json!({ "name": "config.ru", "workers": workers, "busy": workers, "waiting": waiting,
                                  "requests": requests, "replaced": 1, "deaths": 2,
                                  "queue_times": [{ "up_to_us": requests, "count": 1 }],
                                  "running": [{ "worker": workers, "took_us": 5 }] });
        json!({ "version": "1", "workers": 1, "applications": [application] })
    }

    #[test]
    fn counters_are_added_and_workers_are_of_the_serving_generation() {
        let mut sum = Value::Null;
        total::add_ended(&mut sum, &report(3, 7, 100));
        let (draining, serving) = (report(2, 4, 10), report(4, 1, 1));
        total::add(&mut sum, &draining);
        total::add(&mut sum, &serving);
        let mut nobody = sum.clone();
        total::identify(&mut sum, Some(&serving), 0);
        let expected = json!([{ "name": "config.ru", "workers": 4, "busy": 4, "waiting": 5, "requests": 111,
                                "replaced": 3, "deaths": 6,
                                "queue_times": [{ "up_to_us": 1, "count": 1 }, { "up_to_us": 10, "count": 1 },
                                                { "up_to_us": 100, "count": 1 }],
                                "running": [{ "worker": 2, "took_us": 5 }, { "worker": 4, "took_us": 5 }] }]);
        assert_eq!(sum["applications"], expected);
        total::identify(&mut nobody, None, 0);
        assert_eq!(nobody["applications"], json!([]));
    }
}
