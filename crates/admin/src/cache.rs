//! The cache: as JSON, as metrics for Prometheus, and as lines for people.

use std::fmt::Write;

use serde_json::{Value, json};
use serow_site::CacheReport;
#[cfg(test)]
use serow_site::DiskCounts;

use super::{
    metric_head::head,
    units::{bytes, count},
};

/// The numbers of the cache, as JSON; null without a cache.
pub(super) fn document(report: Option<&CacheReport>) -> Value {
    let Some(report) = report else { return Value::Null };
    let disk = report.disk.unwrap_or_default();
    json!({
        "hits": report.hits,
        "stale_hits": report.stale_hits,
        "revalidated": report.revalidated,
        "collapsed": report.collapsed,
        "misses": report.misses,
        "bypassed": report.bypassed,
        "stored": report.stored,
        "not_stored": report.not_stored,
        "purges": report.purges,
        "evictions": report.evictions,
        "responses": report.responses,
        "bytes": report.bytes,
        "memory": report.memory,
        "tags": report.tags,
        "disk_bytes": disk.bytes,
        "disk_limit": disk.limit,
        "disk_found": disk.found,
        "disk_written": disk.written,
        "disk_dropped": disk.dropped,
        "disk_evictions": disk.evicted,
    })
}

/// A generation that has ended holds nothing any more.
pub(super) fn end(report: &mut Value) {
    let Some(cache) = report.get_mut("cache").and_then(Value::as_object_mut) else { return };
    for key in HELD {
        cache.insert(key.to_owned(), 0.into());
    }
}

/// Appends the metrics, if there is a cache.
pub(super) fn push(status: &Value, text: &mut String) {
    let cache = &status["cache"];
    if cache.is_null() {
        return;
    }
    // Writing to memory does not fail.
    head(text, "serow_cache_requests_total", "counter", "Requests to routes with a cache, by what they got.");
    for (result, key) in RESULTS {
        let number = cache[key].as_u64().unwrap_or(0);
        let _ = writeln!(text, "serow_cache_requests_total{{result=\"{result}\"}} {number}");
    }
    let has_disk = cache["disk_limit"].as_u64().is_some_and(|limit| limit > 0);
    let disk = if has_disk { &DISK_METRICS[..] } else { &[] };
    for (name, kind, explanation, key) in METRICS.iter().chain(disk) {
        head(text, name, kind, explanation);
        let _ = writeln!(text, "{name} {}", cache[*key].as_u64().unwrap_or(0));
    }
}

/// The lines of the status; none without a cache.
pub(super) fn lines(status: &Value) -> Vec<(&'static str, String)> {
    let cache = &status["cache"];
    if cache.is_null() {
        return Vec::new();
    }
    let number = |key: &str| cache[key].as_u64().unwrap_or(0);
    let written = |key: &str| count(number(key));
    let counted = |key: &str, one: &str, more: &str| match number(key) {
        1 => format!("1 {one}"),
        number => format!("{} {more}", count(number)),
    };
    let requests: u64 = RESULTS.iter().map(|(_, key)| number(key)).sum();
    let answered: u64 = ["hits", "stale_hits", "collapsed"].into_iter().map(number).sum();
    let percent = (u128::from(answered) * 100).checked_div(u128::from(requests)).unwrap_or(0);
    let mut lines = vec![
        (
            "cache",
            format!(
                "{}, {} of {}",
                counted("responses", "response", "responses"),
                bytes(number("bytes")),
                bytes(number("memory"))
            ),
        ),
        (
            "  requests",
            format!(
                "{}: {percent} % without the origin; {}, {} stale, {} collapsed, {} validated, {}, {} bypassed",
                count(requests),
                counted("hits", "hit", "hits"),
                written("stale_hits"),
                written("collapsed"),
                written("revalidated"),
                counted("misses", "miss", "misses"),
                written("bypassed")
            ),
        ),
        (
            "  removed",
            format!("{}, {} displaced", counted("purges", "purge", "purges"), counted("evictions", "URL", "URLs")),
        ),
    ];
    if number("disk_limit") > 0 {
        let (taken, limit) = (bytes(number("disk_bytes")), bytes(number("disk_limit")));
        let text = format!(
            "{taken} of {limit}; {} written, {} found, {} removed to make room; {} not written",
            counted("disk_written", "file", "files"),
            written("disk_found"),
            written("disk_evictions"),
            counted("disk_dropped", "response", "responses")
        );
        lines.push(("  folder", text));
    }
    lines
}

/// The keys of the store's present content.
const HELD: [&str; 6] = ["responses", "bytes", "memory", "tags", "disk_bytes", "disk_limit"];

/// The results of requests, as metrics name them, and the keys of their numbers.
const RESULTS: [(&str, &str); 6] = [
    ("hit", "hits"),
    ("stale", "stale_hits"),
    ("revalidated", "revalidated"),
    ("collapsed", "collapsed"),
    ("miss", "misses"),
    ("bypass", "bypassed"),
];

/// Names, kinds and explanations, and where the number stands.
const METRICS: [(&str, &str, &str, &str); 8] = [
    ("serow_cache_stored_total", "counter", "Responses that were stored.", "stored"),
    (
        "serow_cache_not_stored_total",
        "counter",
        "Responses that were received for the cache and not stored.",
        "not_stored",
    ),
    ("serow_cache_purges_total", "counter", "Purges.", "purges"),
    ("serow_cache_evictions_total", "counter", "URLs that were displaced, since the memory was full.", "evictions"),
    ("serow_cache_responses", "gauge", "Stored responses; those of one URL count once.", "responses"),
    ("serow_cache_bytes", "gauge", "Bytes that stored responses take.", "bytes"),
    ("serow_cache_memory_bytes", "gauge", "Bytes that stored responses may take.", "memory"),
    ("serow_cache_tags", "gauge", "Tags of stored responses.", "tags"),
];

/// The same of a folder.
const DISK_METRICS: [(&str, &str, &str, &str); 6] = [
    ("serow_cache_disk_bytes", "gauge", "Bytes that files of stored responses take.", "disk_bytes"),
    ("serow_cache_disk_limit_bytes", "gauge", "Bytes that files of stored responses may take.", "disk_limit"),
    ("serow_cache_disk_found_total", "counter", "Files that were read since memory had no response.", "disk_found"),
    ("serow_cache_disk_written_total", "counter", "Files that were written.", "disk_written"),
    (
        "serow_cache_disk_dropped_total",
        "counter",
        "Responses that were not written, since the disk was full or slow.",
        "disk_dropped",
    ),
    ("serow_cache_disk_evictions_total", "counter", "Files that were removed to make room.", "disk_evictions"),
];

/// A report with numbers, for tests.
#[cfg(test)]
pub(super) fn example() -> CacheReport {
    CacheReport {
        hits: 1500,
        stale_hits: 20,
        revalidated: 30,
        collapsed: 40,
        misses: 300,
        bypassed: 60,
        stored: 70,
        not_stored: 80,
        purges: 2,
        evictions: 90,
        responses: 1234,
        bytes: 5 << 20,
        memory: 64 << 20,
        tags: 7,
        disk: Some(DiskCounts { bytes: 1 << 30, limit: 10 << 30, found: 11, written: 1200, dropped: 3, evicted: 4 }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{exposition, total};

    fn status() -> Value {
        json!({ "cache": document(Some(&example())) })
    }

    #[test]
    fn the_cache_as_metrics_and_as_lines() {
        let mut text = String::new();
        push(&status(), &mut text);
        for line in [
            r#"serow_cache_requests_total{result="hit"} 1500"#,
            r#"serow_cache_requests_total{result="bypass"} 60"#,
            "serow_cache_evictions_total 90",
            "serow_cache_bytes 5242880",
            "serow_cache_responses 1234",
            "serow_cache_disk_bytes 1073741824",
            "serow_cache_disk_evictions_total 4",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
        assert_eq!(exposition::faults(&text), Vec::<String>::new());
        let expected = [
            ("cache", "1,234 responses, 5.0 MiB of 64.0 MiB"),
            (
                "  requests",
                "1,950: 80 % without the origin; 1,500 hits, 20 stale, 40 collapsed, 30 validated, 300 misses, 60 bypassed",
            ),
            ("  removed", "2 purges, 90 URLs displaced"),
            (
                "  folder",
                "1.0 GiB of 10.0 GiB; 1,200 files written, 11 found, 4 removed to make room; 3 responses not written",
            ),
        ];
        let lines = lines(&status());
        assert_eq!(lines.iter().map(|(name, text)| (*name, &**text)).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn one_is_singular() {
        let mut status = status();
        for key in ["responses", "hits", "misses", "purges", "evictions", "disk_written", "disk_dropped"] {
            status["cache"][key] = 1.into();
        }
        let lines = lines(&status).into_iter().map(|(_, text)| text).collect::<Vec<_>>().join("\n");
        for text in
            ["1 response, ", "1 hit, ", "1 miss, ", "1 purge, 1 URL displaced", "1 file written", "; 1 response not"]
        {
            assert!(lines.contains(text), "{text}: {lines}");
        }
    }

    #[test]
    fn without_a_folder_nothing_is_said_of_it() {
        let report = CacheReport { disk: None, ..example() };
        let (status, mut text) = (json!({ "cache": document(Some(&report)) }), String::new());
        push(&status, &mut text);
        assert!(!text.contains("disk"), "{text}");
        assert!(!lines(&status).iter().any(|(name, _)| *name == "  folder"));
    }

    #[test]
    fn without_a_cache_there_is_nothing() {
        let (status, mut text) = (json!({ "cache": document(None) }), String::new());
        push(&status, &mut text);
        assert_eq!((text.as_str(), lines(&status)), ("", Vec::new()));
    }

    #[test]
    fn generations_that_have_ended_hold_nothing() {
        let mut sum = Value::Null;
        total::add_ended(&mut sum, &json!({ "cache": Value::Null }));
        total::add_ended(&mut sum, &status());
        total::add(&mut sum, &status());
        let cache = &sum["cache"];
        assert_eq!((&cache["hits"], &cache["evictions"]), (&3000.into(), &180.into()));
        assert_eq!(
            (&cache["responses"], &cache["bytes"], &cache["tags"]),
            (&1234.into(), &(5 << 20).into(), &7.into())
        );
    }
}
