//! The mirrors: as JSON, as metrics for Prometheus, and as a table for people.

use std::fmt::Write;

use serde_json::{Value, json};
use serow_config::printable::on_one_line;
use serow_site::MirrorReport;

use super::{metric_head::head, table, units::count, upstreams::label};

/// The numbers of mirrors, as JSON.
pub(super) fn document(mirrors: &[MirrorReport]) -> Value {
    let mirror = |report: &MirrorReport| {
        let MirrorReport { name, upstream, sent, dropped, failed } = report;
        json!({ "name": name, "upstream": upstream, "sent": sent, "dropped": dropped, "failed": failed })
    };
    mirrors.iter().map(mirror).collect()
}

/// Appends the metrics of all mirrors, where there are any.
pub(super) fn push(status: &Value, text: &mut String) {
    let Some(mirrors) = mirrors(status) else { return };
    for (name, explanation, key) in METRICS {
        head(text, name, "counter", explanation);
        for mirror in mirrors {
            let Some(number) = mirror[key].as_u64() else { continue };
            let [name_of_mirror, upstream] =
                ["name", "upstream"].map(|key| label(mirror[key].as_str().unwrap_or_default()));
            // Writing to memory does not fail.
            let _ = writeln!(text, "{name}{{mirror=\"{name_of_mirror}\",upstream=\"{upstream}\"}} {number}");
        }
    }
}

/// The table; nothing where there is no mirror.
pub(super) fn table(status: &Value) -> String {
    let Some(mirrors) = mirrors(status) else { return String::new() };
    let mut rows = vec![HEADINGS.map(str::to_owned)];
    rows.extend(mirrors.iter().map(|mirror| {
        let text = |key: &str| on_one_line(mirror[key].as_str().unwrap_or_default());
        let number = |key: &str| count(mirror[key].as_u64().unwrap_or(0));
        [text("name"), text("upstream"), number("sent"), number("dropped"), number("failed")]
    }));
    format!("\nmirrors\n{}", table::lines(&rows, WORDS).concat())
}

fn mirrors(status: &Value) -> Option<&Vec<Value>> {
    status["mirrors"].as_array().filter(|mirrors| !mirrors.is_empty())
}

/// Names and explanations, and where the number stands.
const METRICS: [(&str, &str, &str); 3] = [
    ("serow_mirror_requests_total", "Copies of requests that the upstream responded to.", "sent"),
    (
        "serow_mirror_dropped_total",
        "Copies of requests that were left out, since the body was too long or incomplete, or too many were in flight.",
        "dropped",
    ),
    ("serow_mirror_failures_total", "Copies of requests that the upstream did not respond to.", "failed"),
];

const HEADINGS: [&str; 5] = ["route", "upstream", "sent", "dropped", "failed"];

/// The first columns are words, the others numbers.
const WORDS: usize = 2;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{exposition, total};

    fn status() -> Value {
        let report = MirrorReport {
            name: "a.example /api/*".to_owned(),
            upstream: "staging".to_owned(),
            sent: 1234,
            dropped: 5,
            failed: 6,
        };
        json!({ "mirrors": document(&[report]) })
    }

    #[test]
    fn mirrors_as_metrics_and_as_a_table() {
        let mut text = String::new();
        push(&status(), &mut text);
        for line in [
            r#"serow_mirror_requests_total{mirror="a.example /api/*",upstream="staging"} 1234"#,
            r#"serow_mirror_dropped_total{mirror="a.example /api/*",upstream="staging"} 5"#,
            r#"serow_mirror_failures_total{mirror="a.example /api/*",upstream="staging"} 6"#,
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
        assert_eq!(exposition::faults(&text), Vec::<String>::new());
        let expected = "
mirrors
  route             upstream   sent  dropped  failed
  a.example /api/*  staging   1,234        5       6
";
        assert_eq!(table(&status()), expected);
        assert_eq!(table(&json!({})), "");
    }

    #[test]
    fn generations_are_added_by_name() {
        let mut sum = Value::Null;
        total::add_ended(&mut sum, &status());
        total::add(&mut sum, &status());
        assert_eq!(sum["mirrors"][0]["sent"], 2468);
        assert_eq!(sum["mirrors"].as_array().unwrap().len(), 1);
    }
}
