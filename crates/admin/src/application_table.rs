//! The applications as a table for people.

use serde_json::Value;
use serow_config::printable::on_one_line;

use super::{
    histogram, table,
    units::{count, short_time},
};

/// The table; nothing where there is no application.
pub(super) fn of(status: &Value) -> String {
    let applications = status["applications"].as_array().filter(|applications| !applications.is_empty());
    let Some(applications) = applications else { return String::new() };
    let mut rows = vec![HEADINGS.map(str::to_owned)];
    rows.extend(applications.iter().map(row));
    let mut times = vec![TIMES.map(str::to_owned)];
    times.extend(applications.iter().map(row_of_times));
    let tables = [&table::lines(&rows, WORDS)[..], &table::lines(&times, WORDS)].map(<[String]>::concat);
    format!("\napplications\n{}\n{}", tables[0], tables[1])
}

/// How long requests waited for a worker, and how long workers had them.
fn row_of_times(application: &Value) -> [String; 5] {
    let time = |key: &str, thousandths| {
        let classes = application[key].as_array().map_or(&[][..], Vec::as_slice);
        histogram::quantile(classes, thousandths).map_or_else(|| "-".to_owned(), short_time)
    };
    let name = on_one_line(application["name"].as_str().unwrap_or_default());
    let [wait, work] = ["queue_times", "work_times"].map(|key| [time(key, 500), time(key, 990)]);
    let ([wait_median, wait_late], [work_median, work_late]) = (wait, work);
    [name, wait_median, wait_late, work_median, work_late]
}

fn row(application: &Value) -> [String; 7] {
    let number = |key: &str| count(application[key].as_u64().unwrap_or(0));
    let name = on_one_line(application["name"].as_str().unwrap_or_default());
    let workers = format!("{}/{}", number("workers"), number("wanted"));
    [name, workers, number("busy"), number("waiting"), number("requests"), number("replaced"), number("deaths")]
}

const HEADINGS: [&str; 7] = ["application", "workers", "busy", "waiting", "requests", "replaced", "died"];

const TIMES: [&str; 5] = ["times", "wait p50", "wait p99", "work p50", "work p99"];

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
                    "replaced": 7, "deaths": 1, "queue_times": [{ "up_to_us": 0, "count": 99 }, { "up_to_us": 2_500, "count": 2 }],
                    "work_times": [] })
        };
        let status = json!({ "applications": [application("config.ru", 4), application("a\nb", 3)] });
        let expected = "
applications
  application  workers  busy  waiting  requests  replaced  died
  config.ru        4/4     2       30    12,345         7     1
  a\\nb             3/4     2       30    12,345         7     1

  times      wait p50  wait p99  work p50  work p99
  config.ru      0 µs    2.5 ms         -         -
  a\\nb           0 µs    2.5 ms         -         -
";
        assert_eq!(of(&status), expected);
        assert_eq!(of(&json!({ "applications": [] })), "");
    }
}
