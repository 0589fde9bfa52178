//! The automatic certificates, as metrics for Prometheus.

use std::fmt::Write;

use serde_json::Value;

use super::{metric_head::head, upstreams::label};

/// Appends the metrics of all certificates, where there are any.
pub(super) fn push(status: &Value, text: &mut String) {
    let certificates = status["certificates"].as_array().filter(|certificates| !certificates.is_empty());
    let Some(certificates) = certificates else { return };
    for (name, explanation, key) in METRICS {
        head(text, name, "gauge", explanation);
        for certificate in certificates {
            let Some(number) = certificate[key].as_u64() else { continue };
            for host in certificate["names"].as_str().unwrap_or_default().split(',') {
                // Writing to memory does not fail.
                let _ = writeln!(text, "{name}{{name=\"{}\"}} {number}", label(host));
            }
        }
    }
}

/// Names and explanations, and where the number stands.
const METRICS: [(&str, &str, &str); 3] = [
    ("serow_certificate_expiry_timestamp_seconds", "Until when the certificate of a name is valid.", "expires"),
    ("serow_certificate_next_order_timestamp_seconds", "When the next certificate is ordered.", "next_order"),
    ("serow_certificate_failures", "Orders that have failed since the last one that did not.", "failures"),
];

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::exposition;

    #[test]
    fn each_name_has_its_metrics() {
        let status = json!({ "certificates": [
            { "names": "a.example,b.example", "expires": 7, "next_order": 5, "failures": 0 },
            { "names": "c.example", "expires": null, "next_order": 6, "failures": 3 },
        ] });
        let mut text = String::new();
        push(&status, &mut text);
        for line in [
            r#"serow_certificate_expiry_timestamp_seconds{name="a.example"} 7"#,
            r#"serow_certificate_expiry_timestamp_seconds{name="b.example"} 7"#,
            r#"serow_certificate_failures{name="c.example"} 3"#,
        ] {
            assert!(text.lines().any(|other| other == line), "{text}");
        }
        assert!(!text.contains(r#"expiry_timestamp_seconds{name="c.example"}"#));
        assert_eq!(exposition::faults(&text), Vec::<String>::new());
    }
}
