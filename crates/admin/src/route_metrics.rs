//! How long the requests of each route took, as a histogram for Prometheus.

use std::fmt::Write;

use serde_json::Value;

use super::{histogram, metric_head::head, upstreams::label};

/// Appends the histogram of all routes, if they are counted.
pub(super) fn push(status: &Value, text: &mut String) {
    let Some(routes) = status["routes"].as_array().filter(|routes| !routes.is_empty()) else { return };
    head(
        text,
        NAME,
        "histogram",
        "How long requests took, from their head to the last byte of the response, by route.",
    );
    for route in routes {
        let Some(classes) = route["buckets"].as_array() else { continue };
        let [site, path] = ["site", "path"].map(|key| label(route[key].as_str().unwrap_or_default()));
        let labels = format!("site=\"{site}\",route=\"{path}\"");
        histogram::push(NAME, &labels, classes, text);
        let sum = route["sum_us"].as_u64().unwrap_or_default() as f64 / 1e6;
        // Writing to memory does not fail.
        let _ = writeln!(text, "{NAME}_sum{{{labels}}} {sum}");
    }
}

const NAME: &str = "serow_request_duration_seconds";

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::exposition;

    #[test]
    fn durations_become_a_histogram() {
        let route = |site: &str, path: &str| {
            json!({ "name": format!("{site} {path}"), "site": site, "path": path, "sum_us": 1_500_000, "buckets": [
                { "up_to_us": 100, "count": 2 }, { "up_to_us": 2500, "count": 3 }, { "up_to_us": u64::MAX, "count": 1 },
            ] })
        };
        let mut text = String::new();
        push(&json!({ "routes": [route("a.example", "/\"x\"/*"), route("", "")] }), &mut text);
        for line in [
            "# TYPE serow_request_duration_seconds histogram",
            r#"serow_request_duration_seconds_bucket{site="a.example",route="/\"x\"/*",le="0.0001"} 2"#,
            r#"serow_request_duration_seconds_bucket{site="a.example",route="/\"x\"/*",le="0.0025"} 5"#,
            r#"serow_request_duration_seconds_bucket{site="a.example",route="/\"x\"/*",le="+Inf"} 6"#,
            r#"serow_request_duration_seconds_sum{site="",route=""} 1.5"#,
            r#"serow_request_duration_seconds_count{site="",route=""} 6"#,
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
        assert_eq!(text.lines().count(), 2 + 2 * 5);
        assert_eq!(exposition::faults(&text), Vec::<String>::new());
        text.clear();
        push(&json!({ "routes": [] }), &mut text);
        assert_eq!(text, "");
    }
}
