//! Faults of a text in Prometheus' format, for tests: the rules of `promtool check metrics`
//! (github.com/prometheus/prometheus, model/textparse; client_golang, promlint).

use std::collections::{HashMap, HashSet};

/// Returns the faults that `promtool check metrics` would report; none where the text is right.
pub(super) fn faults(text: &str) -> Vec<String> {
    let mut faults = Vec::new();
    let mut families: HashMap<&str, &str> = HashMap::new();
    let (mut explained, mut samples) = (HashSet::new(), HashSet::new());
    let mut current = "";
    for line in text.lines() {
        if let Some(help) = line.strip_prefix("# HELP ") {
            current = help.split(' ').next().unwrap_or_default();
            if !explained.insert(current) {
                faults.push(format!("{current}: a second HELP"));
            }
        } else if let Some(kind) = line.strip_prefix("# TYPE ") {
            let (name, kind) = kind.split_once(' ').unwrap_or((kind, ""));
            if families.insert(name, kind).is_some() {
                faults.push(format!("{name}: a second TYPE"));
            }
            if name != current {
                faults.push(format!("{name}: no HELP before TYPE"));
            }
        } else {
            let (sample, value) = line.rsplit_once(' ').unwrap_or((line, ""));
            if !samples.insert(sample) {
                faults.push(format!("{sample}: a second time"));
            }
            if value.parse::<f64>().is_err() {
                faults.push(format!("{sample}: {value:?} is not a number"));
            }
            let kind = families.get(current).copied().unwrap_or_default();
            faults.extend(fault_of_sample(sample, current, kind));
        }
    }
    faults
}

/// The fault of the name and the labels of a sample, which stands below this family's head.
fn fault_of_sample(sample: &str, family: &str, kind: &str) -> Option<String> {
    let (name, labels) = sample.split_once('{').unwrap_or((sample, ""));
    let suffix = name.strip_prefix(family);
    let has_le = labels.contains("le=\"") && labels.split(',').any(|label| label.starts_with("le=\""));
    let fault = match (kind, suffix) {
        (_, None) => "is not below its own HELP and TYPE",
        ("histogram", Some("_bucket")) if !has_le => "is a bucket without the label le",
        ("histogram", Some("_bucket" | "_sum" | "_count")) => return None,
        ("histogram", Some(_)) => "is not a sample of a histogram",
        (_, Some(_)) if has_le => "has the label le and is not of a histogram",
        ("counter", Some("")) if !family.ends_with("_total") => "is a counter without the suffix _total",
        ("gauge", Some("")) if family.ends_with("_total") => "is not a counter and has the suffix _total",
        ("counter" | "gauge", Some("")) => return None,
        _ => "has a name or a type that is unknown",
    };
    Some(format!("{sample}: {fault}"))
}

#[test]
fn faults_that_promtool_refuses_are_found() {
    let head = |name: &str, kind: &str| format!("# HELP {name} Text.\n# TYPE {name} {kind}\n");
    for (name, kind, samples, fault) in [
        ("a_total", "counter", "a_total 1\na_total{x=\"1\"} 2\n", None),
        ("a_seconds", "histogram", "a_seconds_bucket{le=\"+Inf\"} 1\na_seconds_count 1\n", None),
        ("a_bytes", "gauge", "a_bytes{le=\"1\"} 1\n", Some("has the label le and is not of a histogram")),
        ("a", "counter", "a 1\n", Some("is a counter without the suffix _total")),
        ("a_total", "gauge", "a_total 1\n", Some("is not a counter and has the suffix _total")),
        ("a_total", "counter", "b_total 1\n", Some("is not below its own HELP and TYPE")),
        ("a_total", "counter", "a_total 1\na_total 2\n", Some("a second time")),
        ("a_total", "counter", "a_total x\n", Some("\"x\" is not a number")),
        ("a_seconds", "histogram", "a_seconds_bucket 1\n", Some("is a bucket without the label le")),
        ("a_seconds", "histogram", "a_seconds 1\n", Some("is not a sample of a histogram")),
    ] {
        let found = faults(&(head(name, kind) + samples));
        assert_eq!(found.len(), usize::from(fault.is_some()), "{samples}: {found:?}");
        assert!(fault.is_none_or(|fault| found[0].ends_with(fault)), "{found:?}");
    }
}
