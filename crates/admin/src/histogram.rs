//! Histograms, as the status and Prometheus have them.

use std::fmt::Write;

use serde_json::Value;

/// Appends the buckets of a histogram in seconds and its count, which is returned. The labels are written as in the
/// format, without braces.
pub(super) fn push(name: &str, labels: &str, classes: &[Value], text: &mut String) -> u64 {
    let comma = if labels.is_empty() { "" } else { "," };
    let mut below = 0;
    for (limit, count) in numbers(classes) {
        below = u64::saturating_add(below, count);
        if limit < u64::MAX {
            // Writing to memory does not fail.
            let _ = writeln!(text, "{name}_bucket{{{labels}{comma}le=\"{}\"}} {below}", limit as f64 / 1e6);
        }
    }
    let braces = if labels.is_empty() { String::new() } else { format!("{{{labels}}}") };
    let _ = writeln!(text, "{name}_bucket{{{labels}{comma}le=\"+Inf\"}} {below}\n{name}_count{braces} {below}");
    below
}

/// The limit in microseconds of the class that so many thousandths do not exceed; nothing in an empty histogram.
pub(super) fn quantile(classes: &[Value], thousandths: u64) -> Option<u64> {
    let count: u128 = numbers(classes).map(|(_, count)| u128::from(count)).sum();
    let rank = (count * u128::from(thousandths)).div_ceil(1000);
    let mut below = 0;
    numbers(classes).find_map(|(limit, count)| {
        below += u128::from(count);
        (below >= rank && count > 0).then_some(limit)
    })
}

/// The limit in microseconds and the count of each class, in the order of the limits.
fn numbers(classes: &[Value]) -> impl Iterator<Item = (u64, u64)> {
    classes.iter().filter_map(|class| Some((class["up_to_us"].as_u64()?, class["count"].as_u64()?)))
}
