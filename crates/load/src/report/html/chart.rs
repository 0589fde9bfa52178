//! The drawings: SVG that takes the width there is, with text that keeps its size.
//!
//! | what | file |
//! | --- | --- |
//! | scales, and the round numbers beside them | `axis.rs` |
//! | which labels have room | `labels.rs` |
//! | grid, lines, bars and what they are put together to | `plot.rs` |
//! | latencies by how often they were | `histogram.rs` |
//! | latencies by how many are shorter | `percentiles.rs` |
//! | responses, errors and latencies over time | `time_series.rs` |

mod axis;
mod histogram;
mod labels;
mod percentiles;
mod plot;
mod time_series;

use super::columns::Columns;
use crate::Results;

/// All of a run.
pub(super) fn all(results: &Results) -> Vec<String> {
    let columns = Columns::of(&results.time_series, MAX_COLUMNS);
    vec![
        histogram::chart(&results.latencies),
        percentiles::chart(&results.latencies),
        time_series::throughput(&columns, results.planned_rate),
        time_series::latencies(&columns),
    ]
}

/// A drawing with what it is called, what it shows, and the names of its lines, if there are several.
fn figure(title: &str, explanation: &str, legend: &[(&str, &str)], plots: &str) -> String {
    let key = |(class, name): &(&str, &str)| format!("<span class=\"key {class}\">{name}</span>");
    let keys: String = legend.iter().map(key).collect();
    let legend = if keys.is_empty() { keys } else { format!("<p class=\"legend\">{keys}</p>\n") };
    format!("<figure>\n<figcaption><h2>{title}</h2><p>{explanation}</p></figcaption>\n{legend}{plots}\n</figure>")
}

/// The text in the place of a drawing where there is nothing to draw.
fn nothing(what: &str) -> String {
    format!("<p class=\"nothing\">{what}</p>")
}

/// More cannot be distinguished on the width of a page.
const MAX_COLUMNS: usize = 240;
