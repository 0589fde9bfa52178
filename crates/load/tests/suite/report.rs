//! The reports of runs, compared with files. With `BLESS=1` in the environment the files are written instead.

mod page;
mod samples;

use std::{fs, path::Path};

use serow_load::{Results, report};

#[test]
fn texts() {
    each(&samples::all(), "txt", |results| {
        let opening = report::opening(&results.url, results.planned_duration, results.threads, results.connections);
        opening + &report::text(results, true)
    });
}

#[test]
fn percentiles_are_printed_when_asked_for() {
    let results = samples::usual();
    let (with, without) = (report::text(&results, true), report::text(&results, false));
    let distribution: Vec<_> = with.lines().skip(3).take(5).collect();
    assert_eq!(distribution[0], "  Latency Distribution");
    assert_eq!(with, without.replacen("\n  97", &format!("\n{}\n  97", distribution.join("\n")), 1));
}

#[test]
fn json() {
    each(&samples::all(), "json", |results| {
        let text = report::json(results);
        let value: serde_json::Value = serde_json::from_str(&text).expect("it is json");
        assert_eq!(value["summary"]["requests"], results.requests);
        assert_eq!(value["course"].as_array().map(Vec::len), Some(results.time_series.len()));
        text
    });
}

#[test]
fn courses() {
    each(&samples::all(), "csv", |results| {
        let lines = report::csv(results);
        assert!(lines.lines().all(|line| line.matches(',').count() == 9));
        lines
    });
}

/// With `PAGES=FOLDER` in the environment the pages are left there, to be looked at.
#[test]
fn pages() {
    for (name, results) in samples::all().into_iter().chain([("long", samples::long())]) {
        let page = report::html(&results);
        if let Some(folder) = std::env::var_os("PAGES") {
            fs::write(Path::new(&folder).join(name).with_extension("html"), &page).expect("the folder is writable");
        }
        page::check(&page).unwrap_or_else(|fault| panic!("{name}: {fault}"));
    }
}

#[test]
fn texts_from_outside_are_escaped_in_a_page() {
    let page = report::html(&samples::everything());
    assert!(page.contains("https://example.org/search?q=&lt;script&gt;&quot;x&quot;&amp;b=&#39;"));
    assert!(!page.contains("<script"));
    let hostile = "</style><svg onload=x>\" '&amp;";
    let results = Results {
        url: hostile.into(),
        socket: Some(hostile.into()),
        encryption: Some(hostile.into()),
        ..samples::usual()
    };
    let page = report::html(&results);
    assert!(!page.contains("<svg onload") && page.matches("</style>").count() == 1);
    page::check(&page).expect("a page");
}

fn each(samples: &[(&str, Results)], extension: &str, write: fn(&Results) -> String) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/report");
    for (name, results) in samples {
        let (path, found) = (folder.join(name).with_extension(extension), write(results));
        if std::env::var_os("BLESS").is_some() {
            fs::write(&path, &found).expect("the folder is writable");
        }
        let expected = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert!(found == expected, "{}\n--- found\n{found}\n--- expected\n{expected}", path.display());
    }
}
