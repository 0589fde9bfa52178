//! The applications, as metrics for Prometheus.

use std::fmt::Write;

use serde_json::Value;

use super::{histogram, metric_head::head, upstreams::label};

/// Appends the metrics of all applications, where there are any.
pub(super) fn push(status: &Value, text: &mut String) {
    let applications = status["applications"].as_array().filter(|applications| !applications.is_empty());
    let Some(applications) = applications else { return };
    for (name, kind, explanation, key) in METRICS {
        head(text, name, kind, explanation);
        for application in applications {
            let Some(number) = application[key].as_u64() else { continue };
            let application = label(application["name"].as_str().unwrap_or_default());
            // Writing to memory does not fail.
            let _ = writeln!(text, "{name}{{application=\"{application}\"}} {number}");
        }
    }
    for (name, explanation, key) in HISTOGRAMS {
        head(text, name, "histogram", explanation);
        for application in applications {
            let Some(classes) = application[key].as_array() else { continue };
            let application = label(application["name"].as_str().unwrap_or_default());
            histogram::push(name, &format!("application=\"{application}\""), classes, text);
        }
    }
}

/// Names, explanations, and where the classes stand. Quantiles and rates need the buckets only, without a sum.
const HISTOGRAMS: [(&str, &str, &str); 2] = [
    ("serow_application_queue_seconds", "How long requests waited for a worker.", "queue_times"),
    ("serow_application_work_seconds", "How long workers had requests, until they had finished.", "work_times"),
];

/// Names, kinds and explanations, and where the number stands.
const METRICS: [(&str, &str, &str, &str); 7] = [
    ("serow_application_workers_wanted", "gauge", "Workers that the application is to have.", "wanted"),
    ("serow_application_workers", "gauge", "Workers that take requests.", "workers"),
    ("serow_application_workers_busy", "gauge", "Workers that have a request.", "busy"),
    ("serow_application_requests_waiting", "gauge", "Requests that wait until a worker has room.", "waiting"),
    ("serow_application_requests_total", "counter", "Requests that asked for a worker.", "requests"),
    (
        "serow_application_workers_replaced_total",
        "counter",
        "Workers that were replaced, for their age or memory, or at their own request.",
        "replaced",
    ),
    (
        "serow_application_workers_died_total",
        "counter",
        "Workers that ended unasked, and those that took too long for a request.",
        "deaths",
    ),
];

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::exposition;

    #[test]
    fn applications_as_metrics() {
        let application = json!({ "name": "a\"b.ru", "wanted": 4, "workers": 3, "busy": 2, "waiting": 1,
                                  "requests": 12_345, "replaced": 7, "deaths": 5, "work_times": [],
                                  "queue_times": [{ "up_to_us": 0, "count": 9 }, { "up_to_us": 2_500, "count": 2 }] });
        let mut text = String::new();
        push(&json!({ "applications": [application] }), &mut text);
        for line in [
            "# TYPE serow_application_requests_total counter",
            r#"serow_application_requests_total{application="a\"b.ru"} 12345"#,
            r#"serow_application_workers{application="a\"b.ru"} 3"#,
            r#"serow_application_workers_died_total{application="a\"b.ru"} 5"#,
            r#"serow_application_queue_seconds_bucket{application="a\"b.ru",le="0.0025"} 11"#,
            r#"serow_application_queue_seconds_count{application="a\"b.ru"} 11"#,
            r#"serow_application_work_seconds_bucket{application="a\"b.ru",le="+Inf"} 0"#,
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
        assert_eq!(text.lines().count(), 3 * METRICS.len() + 6 + 4);
        assert_eq!(exposition::faults(&text), Vec::<String>::new());
        text.clear();
        push(&json!({}), &mut text);
        assert_eq!(text, "");
    }
}
