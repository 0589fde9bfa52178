//! The figures that are looked at first.

use super::{escape::escaped, quantity};
use crate::Results;

/// They, side by side.
pub(super) fn headline(results: &Results) -> String {
    let figures =
        [throughput(results), median(results), high(results), longest(results), errors(results), received(results)];
    let tiles: String = figures.iter().map(Figure::tile).collect();
    format!("<section class=\"headline\">\n{tiles}</section>")
}

struct Figure {
    name: &'static str,
    amount: String,
    /// The whole that it is a part of, or another figure that belongs to it.
    note: String,
    mood: Mood,
}

#[derive(PartialEq)]
enum Mood {
    Calm,
    Bad,
}

impl Figure {
    fn new(name: &'static str, amount: String, note: String) -> Self {
        Self { name, amount, note, mood: Mood::Calm }
    }

    fn tile(&self) -> String {
        let class = if self.mood == Mood::Bad { " class=\"bad\"" } else { "" };
        format!(
            "<div{class}><h2>{}</h2><p>{}</p><small>{}</small></div>\n",
            self.name,
            escaped(&self.amount),
            escaped(&self.note)
        )
    }
}

fn throughput(results: &Results) -> Figure {
    let note = match results.planned_rate {
        Some(planned) => format!("of {} planned", quantity::rate(planned)),
        None => format!("{} in {}", quantity::short_count(results.requests), quantity::duration(results.elapsed)),
    };
    Figure::new("Responses per second", quantity::rate(results.requests_per_second()), note)
}

fn median(results: &Results) -> Figure {
    let mean = quantity::time(results.latencies.mean());
    Figure::new("Median latency", latency(results, 50.0), noted(results, format!("mean {mean}")))
}

fn high(results: &Results) -> Figure {
    let rare = format!("99.9\u{a0}%: {}", latency(results, 99.9));
    Figure::new("99\u{a0}% take at most", latency(results, 99.0), noted(results, rare))
}

fn longest(results: &Results) -> Figure {
    let least = quantity::time(results.latencies.least() as f64);
    Figure::new("Longest latency", latency(results, 100.0), noted(results, format!("shortest {least}")))
}

fn errors(results: &Results) -> Figure {
    let (errors, all) = (results.errors.all(), results.requests + results.errors.unanswered());
    let note = format!("{} of {}", quantity::share(errors, all), quantity::short_count(all));
    let mood = if errors > 0 { Mood::Bad } else { Mood::Calm };
    Figure { mood, ..Figure::new("Errors", quantity::short_count(errors), note) }
}

fn received(results: &Results) -> Figure {
    let note = format!("{} in all", quantity::bytes(results.bytes as f64));
    Figure::new("Received per second", quantity::bytes(results.bytes_per_second()), note)
}

/// A percentile of the latencies, or a dash where there is none.
fn latency(results: &Results, percent: f64) -> String {
    if results.latencies.count() == 0 {
        "–".into()
    } else {
        quantity::time(results.latencies.percentile(percent) as f64)
    }
}

fn noted(results: &Results, note: String) -> String {
    if results.latencies.count() == 0 { "no response".into() } else { note }
}
