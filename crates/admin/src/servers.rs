//! The servers that several generations asked: one state, and what all of them counted.

use serde_json::Value;

/// Resets the momentary numbers of servers in the report of a generation that has ended.
pub(super) fn end(report: &mut Value) {
    for upstream in list(report, "upstreams") {
        set(upstream, "waiting", 0.into());
        list(upstream, "servers").for_each(|server| set(server, "active", 0.into()));
    }
}

/// The upstreams of a sum are those of the generation that serves, and so are their states; where none serves, there
/// are none.
pub(super) fn identify(total: &mut Value, serving: Option<&Value>) {
    let Some(fields) = total.as_object_mut() else { return };
    let sum = fields.remove("upstreams").unwrap_or_default();
    let mut upstreams = serving.map(|serving| serving["upstreams"].clone()).filter(Value::is_array);
    for (place, upstream) in upstreams.iter_mut().filter_map(Value::as_array_mut).flatten().enumerate() {
        let Some(of_sum) = named(&sum, &upstream["name"], place) else { continue };
        take_sum(upstream, of_sum, &["waiting"]);
        for (place, server) in list(upstream, "servers").enumerate() {
            if let Some(of_sum) = named(&of_sum["servers"], &server["name"], place) {
                take_sum(server, of_sum, &SUMS);
            }
        }
    }
    fields.insert("upstreams".to_owned(), upstreams.unwrap_or_else(|| Value::Array(Vec::new())));
}

pub(super) fn take_sum(of_serving: &mut Value, sum: &Value, keys: &[&str]) {
    for key in keys {
        if sum[*key].is_u64() {
            set(of_serving, key, sum[*key].clone());
        }
    }
}

pub(super) fn named<'v>(list: &'v Value, name: &Value, place: usize) -> Option<&'v Value> {
    let list = list.as_array()?;
    list.get(place_of(list, name, place)?)
}

/// Where what has this name stands: here, as a rule, or somewhere else. There may be thousands.
pub(super) fn place_of(list: &[Value], name: &Value, here: usize) -> Option<usize> {
    let is_it = |element: &Value| element["name"] == *name;
    if list.get(here).is_some_and(is_it) { Some(here) } else { list.iter().position(is_it) }
}

pub(super) fn list<'v>(value: &'v mut Value, key: &str) -> impl Iterator<Item = &'v mut Value> {
    value.get_mut(key).and_then(Value::as_array_mut).into_iter().flatten()
}

pub(super) fn set(value: &mut Value, key: &str, number: Value) {
    if let Some(place) = value.get_mut(key) {
        *place = number;
    }
}

/// The keys of a server whose numbers are sums over the generations: counters, and work in progress.
const SUMS: [&str; 7] = ["active", "requests", "failures", "retries", "cut", "unsolicited", "connections"];

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::total;

    fn report(state: &str, active: u64, requests: u64) -> Value {
        let server = json!({ "name": "a:1", "state": state, "weight": 3, "active": active, "requests": requests });
        json!({ "version": "1", "workers": 1, "upstreams": [{ "name": "app", "waiting": active, "servers": [server] }] })
    }

    #[test]
    fn counters_are_added_and_the_rest_is_of_the_serving_generation() {
        let mut sum = Value::Null;
        total::add_ended(&mut sum, &report("down", 7, 100));
        let (draining, serving) = (report("down", 2, 10), report("up", 1, 1));
        total::add(&mut sum, &draining);
        total::add(&mut sum, &serving);
        let mut nobody = sum.clone();
        total::identify(&mut sum, Some(&serving), 0);
        let upstream = &sum["upstreams"][0];
        assert_eq!(upstream["waiting"], 3);
        let server = &upstream["servers"][0];
        assert_eq!((&server["state"], &server["weight"]), (&json!("up"), &json!(3)));
        assert_eq!((&server["active"], &server["requests"]), (&json!(3), &json!(111)));
        total::identify(&mut nobody, None, 0);
        assert_eq!(nobody["upstreams"], json!([]));
    }
}
