//! The requests that workers of applications have now, as a table for people.

use serde_json::Value;
use serow_config::printable::on_one_line;

use super::{table, units::short_time};

/// The table, with those that take longest first; nothing where there are none.
pub(super) fn of(status: &Value) -> String {
    let mut requests: Vec<_> = status["applications"]
        .as_array()
        .into_iter()
        .flatten()
        .flat_map(|application| {
            application["running"].as_array().into_iter().flatten().map(move |one| (application, one))
        })
        .collect();
    if requests.is_empty() {
        return String::new();
    }
    requests.sort_by_key(|(_, request)| std::cmp::Reverse(request["took_us"].as_u64()));
    let shown = || requests.iter().take(ROWS);
    let mut rows = vec![HEADINGS.map(str::to_owned)];
    rows.extend(shown().map(|(application, request)| row(application, request)));
    // Paths are of any length: no column is as wide as the longest.
    let texts = ["request".to_owned()].into_iter().chain(shown().map(|(_, request)| line(request)));
    let lines: String = table::lines(&rows, WORDS)
        .iter()
        .zip(texts)
        .map(|(numbers, text)| format!("{}  {text}\n", numbers.trim_end()))
        .collect();
    let more = match requests.len().saturating_sub(ROWS) {
        0 => String::new(),
        more => format!("  and {more} more: serow status --json\n"),
    };
    format!("\nrequests that workers have now\n{lines}{more}")
}

fn text(value: &Value) -> String {
    on_one_line(value.as_str().unwrap_or_default())
}

fn line(request: &Value) -> String {
    format!("{} {}", text(&request["method"]), text(&request["path"]))
}

fn row(application: &Value, request: &Value) -> [String; 4] {
    let number = |key: &str| request[key].as_u64().map_or_else(|| "-".to_owned(), |number| number.to_string());
    let took = short_time(request["took_us"].as_u64().unwrap_or(0));
    [text(&application["name"]), number("worker"), number("pid"), took]
}

const HEADINGS: [&str; 4] = ["application", "worker", "pid", "took"];

/// The first column is words.
const WORDS: usize = 1;

/// More do not fit on a screen.
const ROWS: usize = 10;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_longest_come_first_and_no_name_breaks_a_line() {
        let request = |worker: u64, took: u64, path: &str| json!({ "worker": worker, "pid": 100 + worker, "took_us": took, "method": "GET", "path": path });
        let quick = (3..13).map(|worker| request(worker, 5, "/"));
        let running: Vec<_> =
            [request(1, 900, "/a\nb"), request(2, 1_600_000, "/report")].into_iter().chain(quick).collect();
        let table = of(&json!({ "applications": [{ "name": "config.ru", "running": running }] }));
        let mut lines = table.lines();
        let expected = [
            "",
            "requests that workers have now",
            "  application  worker  pid    took  request",
            "  config.ru         2  102   1.6 s  GET /report",
            "  config.ru         1  101  900 µs  GET /a\\nb",
        ];
        expected.iter().for_each(|line| assert_eq!(lines.next().map(str::trim_end), Some(*line), "{table}"));
        assert_eq!(table.lines().last(), Some("  and 2 more: serow status --json"));
        assert_eq!(of(&json!({ "applications": [{ "name": "config.ru", "running": [] }] })), "");
    }
}
