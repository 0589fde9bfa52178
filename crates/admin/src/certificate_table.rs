//! The automatic certificates as a table for people.

use serde_json::Value;
use serow_config::printable::on_one_line;
use serow_net::time;

use super::{table, units::long_time};

/// The table; nothing where there are no automatic certificates.
pub(super) fn of(status: &Value) -> String {
    of_time(status, time::seconds_since_1970())
}

fn of_time(status: &Value, now: u64) -> String {
    let certificates = status["certificates"].as_array().filter(|certificates| !certificates.is_empty());
    let Some(certificates) = certificates else { return String::new() };
    let mut rows = vec![HEADINGS.map(str::to_owned)];
    rows.extend(certificates.iter().map(|certificate| row(certificate, now)));
    format!("\ncertificates\n{}", table::lines(&rows, WORDS).concat())
}

fn row(certificate: &Value, now: u64) -> [String; 5] {
    let text = |key: &str| certificate[key].as_str().map(on_one_line);
    let time = |key: &str, past: &str| match certificate[key].as_u64() {
        Some(time) if time > now => format!("in {}", long_time(time - now)),
        Some(_) => past.to_owned(),
        None => "-".to_owned(),
    };
    let error = match (certificate["failures"].as_u64().unwrap_or(0), text("last_error")) {
        (0, _) | (_, None) => "-".to_owned(),
        (count, Some(error)) => format!("{error} ({count} times)"),
    };
    let dash = || "-".to_owned();
    [
        text("names").unwrap_or_default() + if certificate["on_demand"] == true { " (on demand)" } else { "" },
        text("issuer").unwrap_or_else(dash),
        time("expires", "EXPIRED"),
        time("next_order", "now"),
        error,
    ]
}

const HEADINGS: [&str; 5] = ["names", "issuer", "expires", "next order", "last error"];

/// All columns are words.
const WORDS: usize = 5;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn certificates_become_a_table() {
        let status = json!({ "certificates": [
            { "names": "a.example,b.example", "issuer": "E7", "expires": 190_000, "next_order": 103_600, "failures": 0,
              "last_error": null },
            { "names": "c.example", "issuer": null, "expires": null, "next_order": 100_300, "failures": 3,
              "last_error": "a\nb" },
            { "names": "d.example", "issuer": "E7", "expires": 5, "next_order": 5, "failures": 0, "last_error": null },
        ] });
        let found = of_time(&status, 100_000);
        for part in ["a.example,b.example", "in 1 h", "a\\nb (3 times)", "EXPIRED", "in 5 min"] {
            assert!(found.contains(part), "{part}: {found}");
        }
        assert_eq!(of(&json!({ "certificates": [] })), "");
    }
}
