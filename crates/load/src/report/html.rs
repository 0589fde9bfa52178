//! A run as a page: one file without anything from outside and without scripts, to look at, to print and to keep.
//!
//! | what | file |
//! | --- | --- |
//! | the figures at its top | `headline.rs` |
//! | the drawings | `chart.rs` |
//! | the tables below them | `tables.rs` |
//! | amounts as people read them | `quantity.rs` |
//! | how it looks | `page.css` |

mod chart;
mod columns;
mod escape;
mod headline;
mod quantity;
mod tables;

use self::escape::escaped;
use super::moment;
use crate::Results;

/// The run as a page.
#[must_use]
pub fn html(results: &Results) -> String {
    let url = escaped(&results.url);
    let parts = [
        heading(results),
        headline::headline(results),
        section("charts", &chart::all(results)),
        section("tables", &tables::all(results)),
    ];
    let body = parts.join("\n");
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{url} under load</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n{body}\n</main>\n\
         <footer>serow bench {}</footer>\n</body>\n</html>\n",
        env!("CARGO_PKG_VERSION"),
    )
}

fn heading(results: &Results) -> String {
    let connections = quantity::counted(results.connections as u64, "connection");
    let threads = quantity::counted(results.threads as u64, "thread");
    let interrupted = if results.interrupted { " <strong>Interrupted before its end.</strong>" } else { "" };
    format!(
        "<header>\n<h1>{}</h1>\n<p>{connections} on {threads} for {}, {}, begun {}.{interrupted}</p>\n</header>",
        escaped(&results.url),
        quantity::duration(results.elapsed),
        escaped(&tables::protocol(results)),
        moment::rfc_3339(results.began).replace('T', " ").replace('Z', " UTC"),
    )
}

fn section(class: &str, parts: &[String]) -> String {
    format!("<section class=\"{class}\">\n{}\n</section>", parts.join("\n"))
}

const STYLE: &str = include_str!("html/page.css");
