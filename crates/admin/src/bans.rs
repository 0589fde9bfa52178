//! The bans: as JSON, as metrics for Prometheus, and as a table for people.

use std::fmt::Write;

use serde_json::{Map, Value, json};
use serow_config::printable::on_one_line;
use serow_limits::{Ban, BanOrigin, Bans};
use serow_net::monotonic;

use super::{metric_head::head, table, units::long_time};

/// The bans now, as JSON.
pub(super) fn document(bans: &Bans) -> Value {
    let now = monotonic();
    let counts = bans.counts(now);
    let added = BanOrigin::ALL.iter().zip(counts.added).map(|(origin, count)| (origin.name().to_owned(), count.into()));
    let ban = |ban: &Ban| {
        json!({
            "client": ban.client.to_string(),
            "remaining_seconds": ban.remaining(now).as_secs(),
            "origin": ban.origin.name(),
            "reason": &*ban.reason,
        })
    };
    json!({
        "banned": counts.banned,
        "added": added.collect::<Map<_, _>>(),
        "displaced": counts.displaced,
        "refused_requests": counts.refused_requests,
        "list": bans.list(MAX_LISTED, now).iter().map(ban).collect::<Vec<_>>(),
    })
}

/// The bans of a total are those of the serving generation.
pub(super) fn identify(total: &mut Value, serving: Option<&Value>) {
    let Some(bans) = total.get_mut("bans") else { return };
    for key in ["banned", "list"] {
        bans[key] = match (serving.and_then(|serving| serving["bans"].get(key)), key) {
            (Some(value), _) => value.clone(),
            (None, "list") => json!([]),
            (None, _) => 0.into(),
        };
    }
}

/// Appends the metrics.
pub(super) fn push(status: &Value, text: &mut String) {
    let bans = &status["bans"];
    let Some(banned) = bans["banned"].as_u64() else { return };
    // Writing to memory does not fail.
    head(text, "serow_limits", "gauge", "Clients that are banned.");
    let _ = writeln!(text, "serow_limits {banned}");
    head(text, "serow_bans_added_total", "counter", "Bans, by who added them.");
    for origin in BanOrigin::ALL.map(BanOrigin::name) {
        let _ = writeln!(
            text,
            "serow_bans_added_total{{origin=\"{origin}\"}} {}",
            bans["added"][origin].as_u64().unwrap_or(0)
        );
    }
    head(text, "serow_bans_displaced_total", "counter", "Bans that ended early, since there were too many.");
    let _ = writeln!(text, "serow_bans_displaced_total {}", bans["displaced"].as_u64().unwrap_or(0));
}

/// The bans as a table; a line that says so where there are none.
pub(super) fn table(status: &Value) -> String {
    let Some(list) = status["bans"]["list"].as_array().filter(|list| !list.is_empty()) else {
        return "nobody is banned\n".to_owned();
    };
    let mut rows = vec![HEADINGS.map(str::to_owned)];
    rows.extend(list.iter().map(|ban| {
        let text = |key: &str| on_one_line(ban[key].as_str().unwrap_or_default());
        [text("client"), long_time(ban["remaining_seconds"].as_u64().unwrap_or(0)), text("origin"), text("reason")]
    }));
    let more = status["bans"]["banned"].as_u64().unwrap_or(0).saturating_sub(list.len() as u64);
    let more = if more > 0 { format!("and {more} that end before these\n") } else { String::new() };
    table::lines(&rows, HEADINGS.len()).concat() + &more
}

/// As many as a status can have with long reasons (16 MB), and as anybody reads.
const MAX_LISTED: usize = 10_000;

const HEADINGS: [&str; 4] = ["client", "ends in", "by", "reason"];

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{exposition, total};

    fn status() -> Value {
        let bans = Bans::default();
        let hour = Duration::from_secs(3600);
        let client = |text: &str| text.parse().unwrap();
        bans.add(client("192.0.2.1"), 2 * hour, "scans\n", BanOrigin::Administrator, monotonic()).unwrap();
        bans.add(client("2001:db8::1"), hour, "limit logins", BanOrigin::Limit, monotonic()).unwrap();
        bans.note_request();
        json!({ "bans": document(&bans) })
    }

    #[test]
    fn bans_as_metrics_and_as_a_table() {
        let mut text = String::new();
        push(&status(), &mut text);
        for line in ["serow_limits 2", "serow_bans_added_total{origin=\"limit\"} 1", "serow_bans_displaced_total 0"] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
        assert_eq!(exposition::faults(&text), Vec::<String>::new());
        let table = table(&status());
        let lines: Vec<_> = table.lines().collect();
        assert!(lines[1].starts_with("  192.0.2.1      ") && lines[1].contains("1 h 59 min"), "{table}");
        assert!(lines[2].ends_with("limit          limit logins"), "{table}");
        assert_eq!(super::table(&json!({})), "nobody is banned\n");
    }

    #[test]
    fn bans_of_a_total_are_those_of_the_serving_generation() {
        let mut sum = Value::Null;
        total::add_ended(&mut sum, &status());
        total::add(&mut sum, &status());
        identify(&mut sum, Some(&status()));
        assert_eq!((&sum["bans"]["banned"], sum["bans"]["list"].as_array().unwrap().len()), (&2.into(), 2));
        assert_eq!((&sum["bans"]["added"]["limit"], &sum["bans"]["refused_requests"]), (&2.into(), &2.into()));
        identify(&mut sum, None);
        assert_eq!(sum["bans"]["banned"], 0);
    }
}
