//! The applications as a table for people.

use serde_json::Value;
use serow_config::printable::on_one_line;

use super::{table, units::count};

/// The table; nothing where there is no application.
pub(super) fn of(status: &Value) -> String {
    let applications = status["applications"].as_array().filter(|applications| !applications.is_empty());
    let Some(applications) = applications else { return String::new() };
    let mut rows = vec![HEADINGS.map(str::to_owned)];
    rows.extend(applications.iter().map(row));
    format!("\napplications\n{}", table::lines(&rows, WORDS).concat())
}

fn row(application: &Value) -> [String; 7] {
    let number = |key: &str| count(application[key].as_u64().unwrap_or(0));
    let name = on_one_line(application["name"].as_str().unwrap_or_default());
    let workers = format!("{}/{}", number("workers"), number("wanted"));
    [name, workers, number("busy"), number("waiting"), number("requests"), number("replaced"), number("deaths")]
}

const HEADINGS: [&str; 7] = ["application", "workers", "busy", "waiting", "requests", "replaced", "died"];

/// The first column is words, the others numbers.
const WORDS: usize = 1;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn applications_become_a_table() {
        let application = |name: &str, workers: u64| {
            json!({ "name": name, "wanted": 4, "workers": workers, "busy": 2, "waiting": 30, "requests": 12_345,
                    "replaced": 7, "deaths": 1 })
        };
        let status = json!({ "applications": [application("config.ru", 4), application("a\nb", 3)] });
        let expected = "
applications
  application  workers  busy  waiting  requests  replaced  died
  config.ru        4/4     2       30    12,345         7     1
  a\\nb             3/4     2       30    12,345         7     1
";
        assert_eq!(of(&status), expected);
        assert_eq!(of(&json!({ "applications": [] })), "");
    }
}
