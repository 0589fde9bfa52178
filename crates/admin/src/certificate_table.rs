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
    let errors = std::iter::once(String::new()).chain(certificates.iter().map(error));
    let lines = table::lines(&rows, WORDS).into_iter().zip(errors).map(|(line, error)| line + &error);
    format!("\ncertificates\n{}", lines.collect::<String>())
}

/// The lines below a row that say why the last order failed, if it did.
fn error(certificate: &Value) -> String {
    let count = match certificate["failures"].as_u64().unwrap_or(0) {
        0 => return String::new(),
        1 => "once".to_owned(),
        count => format!("{count} times"),
    };
    let text = certificate["last_error"].as_str().map(on_one_line).unwrap_or_default();
    let mut lines = vec![String::new()];
    for word in format!("failed {count}: {text}").split(' ') {
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if line.chars().count() + 1 + word.chars().count() <= ERROR_WIDTH => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines.iter().map(|line| format!("    {line}\n")).collect()
}

fn row(certificate: &Value, now: u64) -> [String; 4] {
    let text = |key: &str| certificate[key].as_str().map(on_one_line);
    let time = |key: &str, past: &str| match certificate[key].as_u64() {
        Some(time) if time > now => format!("in {}", long_time(time - now)),
        Some(_) => past.to_owned(),
        None => "-".to_owned(),
    };
    let dash = || "-".to_owned();
    [
        text("names").unwrap_or_default() + if certificate["on_demand"] == true { " (on demand)" } else { "" },
        text("issuer").unwrap_or_else(dash),
        time("expires", "EXPIRED"),
        time("next_order", "now"),
    ]
}

const HEADINGS: [&str; 4] = ["names", "issuer", "expires", "next order"];

/// All columns are words.
const WORDS: usize = 4;

/// With the indentation, lines of 80 columns.
const ERROR_WIDTH: usize = 76;

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
        for part in ["a.example,b.example", "in 1 h", "\n    failed 3 times: a\\nb\n", "EXPIRED", "in 5 min"] {
            assert!(found.contains(part), "{part}: {found}");
        }
        assert_eq!(of(&json!({ "certificates": [] })), "");
    }

    #[test]
    fn a_long_error_stays_within_80_columns_below_its_row() {
        let long = ["the authority refuses the name"; 12].join("; ");
        let status = json!({ "certificates": [
            { "names": "a.example", "issuer": null, "expires": null, "next_order": 100_300, "failures": 1,
              "last_error": long },
        ] });
        let found = of_time(&status, 100_000);
        assert!(found.lines().all(|line| line.chars().count() <= 80), "{found}");
        assert!(found.contains("\n    failed once: the authority refuses the name; the"), "{found}");
        let words = found.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.ends_with(&long), "{found}");
    }
}
