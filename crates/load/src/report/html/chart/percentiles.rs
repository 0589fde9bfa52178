//! Latencies by how many are shorter.

use super::{
    super::quantity,
    axis::Axis,
    figure, nothing,
    plot::{Plot, PlotStep},
};
use crate::Distribution;

/// The latencies as a line: which part of all of them does not exceed which. The scale has as much room for the tenth
/// part that is slowest as for the tenth part of that, and so on.
pub(super) fn chart(latencies: &Distribution) -> String {
    let explanation = "How long the fastest half, 90\u{a0}%, 99\u{a0}% and so on of the responses took at most.";
    figure("Percentiles", explanation, &[], &drawing(latencies))
}

fn drawing(latencies: &Distribution) -> String {
    if latencies.count() == 0 {
        return nothing("There was no response.");
    }
    // The slowest of all is drawn as wide as if there were another one.
    let end = (2.0 * latencies.count() as f64).log10().max(1.0);
    let steps = steps(latencies, end);
    let horizontal = Axis::with_places(end, ticks(end));
    let vertical = Axis::latencies_around(latencies.least() as f64, latencies.most() as f64, VERTICAL_TICKS);
    let mut plot = Plot::new(&horizontal, &vertical);
    plot.line("first", &steps);
    for step in &steps {
        let percent = quantity::trimmed(share(step.to) * 100.0);
        plot.answer(step.from, step.to, &format!("{percent}\u{a0}%: {}", quantity::time(step.high)));
    }
    let summary = format!(
        "Percentiles of the latencies: 50 % take at most {}, 99 % at most {}, all at most {}",
        quantity::time(latencies.percentile(50.0) as f64),
        quantity::time(latencies.percentile(99.0) as f64),
        quantity::time(latencies.most() as f64),
    );
    plot.finish("tall marked", &summary)
}

/// Latencies, each from the part of the responses that took less to the part that took at most as long. A step that is
/// too narrow to be seen is added to the next one.
fn steps(latencies: &Distribution, end: f64) -> Vec<PlotStep> {
    let total = latencies.count() as f64;
    let (mut steps, mut from, mut counted) = (Vec::new(), 0.0, 0);
    for bucket in latencies.buckets() {
        counted += bucket.count;
        let to = place(counted as f64 / total).min(end);
        if to - from >= end / MAX_STEPS || counted == latencies.count() {
            steps.push(PlotStep::at(from, to, bucket.high.min(latencies.most()) as f64));
            from = to;
        }
    }
    steps
}

/// Where a part of the responses is on the scale: 0 none, 1 nine tenths, 2 ninety-nine hundredths.
fn place(share: f64) -> f64 {
    if share < 1.0 { -(1.0 - share).log10() } else { f64::INFINITY }
}

fn share(place: f64) -> f64 {
    1.0 - 10_f64.powf(-place)
}

/// The half, then 90 %, 99 % and so on.
fn ticks(end: f64) -> Vec<(f64, String)> {
    let nines = (1..=end as i32).map(|nines| (f64::from(nines), 100.0 - 10_f64.powi(2 - nines)));
    let half = (place(0.5), 50.0);
    [half].into_iter().chain(nines).map(|(place, percent)| (place, quantity::round_percent(percent))).collect()
}

/// Steps that can be distinguished on the width of a page.
const MAX_STEPS: f64 = 200.0;

const VERTICAL_TICKS: usize = 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_reach_from_nothing_to_all() {
        let mut latencies = Distribution::new();
        for latency in 0..100_000_u64 {
            latencies.record(latency * latency);
        }
        let end = 200_000_f64.log10();
        let steps = steps(&latencies, end);
        assert!((50..=MAX_STEPS as usize + 1).contains(&steps.len()), "{}", steps.len());
        assert_eq!((steps[0].from, steps[steps.len() - 1].to), (0.0, end));
        assert!(steps.windows(2).all(|pair| pair[0].to == pair[1].from && pair[0].high < pair[1].high));
        // The median of the squares is the square of the median; a step holds what is beside it as well.
        let half = steps.iter().find(|step| step.to >= place(0.5)).map(|step| step.high);
        assert!(half.is_some_and(|half| (half / 2.5e9 - 1.0).abs() < 0.1), "{half:?}");
        assert_eq!(steps.last().map(|step| step.high), Some(latencies.most() as f64));
    }

    #[test]
    fn nines() {
        let labels = |end| ticks(end).into_iter().map(|(_, label)| label.replace('\u{a0}', " ")).collect::<Vec<_>>();
        assert_eq!(labels(1.0), ["50 %", "90 %"]);
        assert_eq!(labels(4.3), ["50 %", "90 %", "99 %", "99.9 %", "99.99 %"]);
        assert_eq!(labels(9.0).last().map(String::as_str), Some("99.9999999 %"));
    }

    #[test]
    fn few_values() {
        let mut latencies = Distribution::new();
        assert!(chart(&latencies).contains("There was no response."));
        latencies.record(1_234_567);
        let drawing = chart(&latencies);
        assert!(drawing.contains("<path class=\"first\" d=\"M0 ") && drawing.contains("H1000\""), "{drawing}");
    }
}
