//! The servers of a fleet, as they have told one another: as JSON, and as a table for people.

use std::fmt::Write;

use serde_json::{Map, Value, json};
use serow_config::printable::on_one_line;
use serow_fleet::{JournalCounts, ServerReport};

use super::{
    table,
    units::{count, long_time},
};

/// The servers, as JSON. Any program that can write to Redis may have written a report: only known fields are taken.
pub(super) fn document(servers: &[ServerReport]) -> Value {
    let server = |report: &ServerReport| {
        let told: Map<String, Value> = serde_json::from_str(&report.text).ok()?;
        let mut fields = Map::new();
        fields.insert("server".to_owned(), report.server.to_string().into());
        fields.insert("age_ms".to_owned(), u64::try_from(report.age.as_millis()).unwrap_or(u64::MAX).into());
        for (name, is_text) in FIELDS {
            let value = told.get(name).filter(|value| if is_text { value.is_string() } else { value.is_number() });
            fields.insert(name.to_owned(), value.cloned().unwrap_or_default());
        }
        Some(Value::Object(fields))
    };
    servers.iter().filter_map(server).collect()
}

/// How the commands of the fleet are on this server, as JSON; null where another process has them.
pub(super) fn commands(counts: Option<&JournalCounts>) -> Value {
    let Some(counts) = counts else { return Value::Null };
    json!({
        "kept": counts.entries,
        "behind": counts.behind,
        "unsent": counts.unsent,
        "refused": counts.refused,
        "last_refusal": counts.last_refusal.as_ref().map(|(subject, reason)| format!("{subject}: {reason}")),
        "invalid": counts.invalid,
        "ahead": counts.ahead,
        "seconds_ahead": counts.seconds_ahead,
    })
}

/// The table of the servers in the fleet's part of a status.
pub(super) fn table(fleet: &Value) -> String {
    let servers: Vec<_> = fleet["servers"].as_array().into_iter().flatten().collect();
    let mut text = match fleet["connected"] == true {
        true => String::new(),
        false => "Redis is not in contact: this is what the servers told before\n\n".to_owned(),
    };
    if servers.is_empty() {
        text.push_str("no server has told about itself yet\n");
    } else {
        let mut rows = vec![HEADINGS.map(str::to_owned)];
        rows.extend(servers.iter().map(|server| row(server)));
        text.push_str(&table::lines(&rows, WORDS).concat());
    }
    for server in &servers {
        if let Some(refusal) = server["last_refusal"].as_str() {
            let name = on_one_line(server["name"].as_str().unwrap_or_default());
            // Writing to memory does not fail.
            let _ = writeln!(text, "\n{name} has refused {}", on_one_line(refusal));
        }
    }
    if let Some(seconds) = fleet["commands"]["seconds_ahead"].as_u64().filter(|seconds| *seconds > 0) {
        let _ = writeln!(
            text,
            "\nthis server leaves out commands of the future, by {}: set the clocks of the servers",
            long_time(seconds)
        );
    }
    text
}

fn row(server: &Value) -> [String; 7] {
    let text = |name: &str| server[name].as_str().map_or("-".to_owned(), on_one_line);
    let number = |name: &str| server[name].as_u64().map_or("-".to_owned(), count);
    let age = server["age_ms"].as_u64().unwrap_or(0);
    let contact = if age < MAX_AGE_OF_PRESENT { "now".to_owned() } else { format!("{} ago", long_time(age / 1000)) };
    let rate = server["requests_per_second"].as_f64().map_or("-".to_owned(), |rate| format!("{rate:.1}"));
    [text("name"), text("version"), contact, rate, number("behind"), number("unsent"), number("refused")]
}

/// The fields of a report, and whether they are texts.
const FIELDS: [(&str, bool); 8] = [
    ("name", true),
    ("version", true),
    ("requests_per_second", false),
    ("commands", false),
    ("behind", false),
    ("unsent", false),
    ("refused", false),
    ("last_refusal", true),
];

const HEADINGS: [&str; 7] = ["server", "version", "contact", "requests/s", "behind", "unsent", "refused"];

/// The first columns are words, the others numbers.
const WORDS: usize = 3;

/// In milliseconds: a server tells about itself every second, and less often in a large fleet.
const MAX_AGE_OF_PRESENT: u64 = 5000;

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serow_fleet::ServerId;

    use super::*;

    fn report(number: u64, age: u64, text: &str) -> ServerReport {
        ServerReport { server: ServerId(number), age: Duration::from_millis(age), text: text.to_owned() }
    }

    #[test]
    fn servers_are_listed_with_what_they_refused() {
        let one =
            r#"{"name":"web1","version":"0.1.0","requests_per_second":1234.56,"behind":0,"unsent":0,"refused":0}"#;
        let two = r#"{"name":"web2","version":"0.1.0","requests_per_second":0.0,"behind":3,"unsent":1,"refused":1,
            "last_refusal":"config/a: no\nfolder","other":[1]}"#;
        let servers =
            document(&[report(1, 300, one), report(2, 65_000, two), report(3, 0, "nonsense"), report(4, 0, "{}")]);
        let fleet = json!({ "connected": true, "servers": servers, "commands": { "seconds_ahead": 7200 } });
        let expected = "  server  version  contact        requests/s  behind  unsent  refused
  web1    0.1.0    now                1234.6       0       0        0
  web2    0.1.0    1 min 5 s ago         0.0       3       1        1
  -       -        now                     -       -       -        -

web2 has refused config/a: no\\nfolder

this server leaves out commands of the future, by 2 h 0 min: set the clocks of the servers
";
        assert_eq!(table(&fleet), expected);
        let without = table(&json!({ "connected": false, "servers": [], "commands": null }));
        assert!(without.starts_with("Redis is not in contact") && without.ends_with("yet\n"), "{without}");
    }
}
