//! Responses, errors and latencies over time.

use super::{
    super::{
        columns::{Column, Columns, Latencies},
        quantity,
    },
    axis::Axis,
    figure, nothing,
    plot::{Plot, PlotStep},
};

/// Responses each second, and below them errors each second, if there are any.
pub(super) fn throughput(drawn: &Columns, planned: Option<f64>) -> String {
    let Columns { columns, together } = drawn;
    let mut explanation = String::from("Responses each second.");
    if *together > 1 {
        explanation += &format!(
            " Each point stands for {together} intervals: the line is their mean, the darker area reaches from the slowest \
             to the fastest."
        );
    }
    let mut plots = rates(columns, *together > 1, planned);
    if columns.iter().any(|column| column.errors > 0) {
        plots += &format!("\n<h3>Errors each second</h3>\n{}", errors(columns));
    }
    figure("Throughput", &explanation, &[], &plots)
}

/// The median, 99 % and longest of the latencies.
pub(super) fn latencies(drawn: &Columns) -> String {
    let Columns { columns, together } = drawn;
    let mut explanation = String::from("Of the responses of each interval, on a logarithmic scale.");
    if *together > 1 {
        explanation += &format!(
            " Each point stands for {together} intervals: the middle one of their medians, the highest of the others."
        );
    }
    let legend = [("third", "longest"), ("second", "99\u{a0}%"), ("first", "median")];
    let lines = latency_lines(columns);
    let legend = if lines.is_some() { &legend[..] } else { &[] };
    let lines = lines.unwrap_or_else(|| nothing("There was no response."));
    figure("Latency over time", &explanation, legend, &lines)
}

fn rates(columns: &[Column], ranges: bool, planned: Option<f64>) -> String {
    if columns.is_empty() {
        return nothing("The run ended before there was anything to draw.");
    }
    let horizontal = time(columns);
    let fastest = columns.iter().map(|column| column.fastest.max(column.rate()));
    // A line at the very top would have no room for its name.
    let highest = fastest.chain(planned.map(|planned| planned * 1.05)).fold(0.0, f64::max);
    let vertical = Axis::amounts(highest, VERTICAL_TICKS, quantity::round_count);
    let mut plot = Plot::new(&horizontal, &vertical);
    let steps: Vec<_> = columns.iter().map(|column| PlotStep::at(column.start, column.end, column.rate())).collect();
    let filled: Vec<_> = steps.iter().map(|step| PlotStep { low: 0.0, ..*step }).collect();
    plot.area("first light", &filled);
    if ranges {
        let range = columns.iter().filter(|column| column.slowest <= column.fastest);
        let steps: Vec<_> = range
            .map(|column| PlotStep { from: column.start, to: column.end, low: column.slowest, high: column.fastest })
            .collect();
        plot.area("first", &steps);
    }
    plot.line("first", &steps);
    if let Some(planned) = planned {
        plot.level(planned, &format!("planned: {}", quantity::rate(planned)));
    }
    for column in columns {
        let errors =
            if column.errors > 0 { format!(", {}", quantity::counted(column.errors, "error")) } else { String::new() };
        let rate = quantity::rate(column.rate());
        plot.answer(column.start, column.end, &format!("{}: {rate} responses each second{errors}", span(column)));
    }
    plot.finish("tall", "Responses each second over time")
}

fn errors(columns: &[Column]) -> String {
    let horizontal = time(columns);
    let highest = columns.iter().map(Column::error_rate).fold(0.0, f64::max);
    let vertical = Axis::amounts(highest, 2, quantity::round_count);
    let mut plot = Plot::new(&horizontal, &vertical);
    let steps: Vec<_> = columns
        .iter()
        .filter(|column| column.errors > 0)
        .map(|column| PlotStep {
            from: column.start,
            to: column.end,
            low: 0.0,
            high: column.error_rate().max(highest * LEAST_HEIGHT),
        })
        .collect();
    plot.area("errors", &steps);
    for column in columns.iter().filter(|column| column.errors > 0) {
        let errors = quantity::counted(column.errors, "error");
        plot.answer(column.start, column.end, &format!("{}: {errors}", span(column)));
    }
    plot.finish("flat", "Errors each second over time")
}

fn latency_lines(columns: &[Column]) -> Option<String> {
    let measured: Vec<_> = columns.iter().filter_map(|column| Some((column, column.latencies?))).collect();
    let medians = measured.iter().map(|(_, latencies)| latencies.median as f64);
    let longest = measured.iter().map(|(_, latencies)| latencies.longest as f64);
    let (low, high) = (medians.reduce(f64::min)?, longest.reduce(f64::max)?);
    let horizontal = time(columns);
    let vertical = Axis::latencies_around(low, high, LATENCY_TICKS);
    let mut plot = Plot::new(&horizontal, &vertical);
    let mut line = |class: &str, value: fn(&Latencies) -> u64| {
        let steps: Vec<_> = measured
            .iter()
            .map(|(column, latencies)| PlotStep::at(column.start, column.end, value(latencies) as f64))
            .collect();
        plot.line(class, &steps);
    };
    line("third", |latencies| latencies.longest);
    line("second", |latencies| latencies.high);
    line("first", |latencies| latencies.median);
    for (column, latencies) in &measured {
        let [median, high, longest] =
            [latencies.median, latencies.high, latencies.longest].map(|latency| quantity::time(latency as f64));
        let answer = format!("{}: median {median}, 99\u{a0}% {high}, longest {longest}", span(column));
        plot.answer(column.start, column.end, &answer);
    }
    Some(plot.finish("tall", "Median, 99th percentile and longest of the latencies over time"))
}

fn time(columns: &[Column]) -> Axis {
    Axis::seconds(columns.last().map_or(0.0, |column| column.end), HORIZONTAL_TICKS)
}

fn span(column: &Column) -> String {
    let [start, end] = [column.start, column.end].map(|seconds| quantity::time(seconds * 1e9));
    format!("{start} to {end}")
}

/// A few errors among many are still to be seen.
const LEAST_HEIGHT: f64 = 0.04;

const HORIZONTAL_TICKS: usize = 6;
const VERTICAL_TICKS: usize = 5;
const LATENCY_TICKS: usize = 10;

#[cfg(test)]
mod tests {
    use super::*;

    fn column(start: f64, requests: u64, errors: u64) -> Column {
        let latencies = Latencies { median: 100_000, high: 1_000_000, longest: 3_000_000 };
        Column {
            start,
            end: start + 1.0,
            requests,
            errors,
            slowest: requests as f64,
            fastest: requests as f64,
            latencies: (requests > 0).then_some(latencies),
        }
    }

    fn drawn(columns: &[Column]) -> Columns {
        Columns { columns: columns.to_vec(), together: 1 }
    }

    #[test]
    fn errors_are_drawn_where_there_are_any() {
        let calm = throughput(&drawn(&[column(0.0, 10, 0), column(1.0, 12, 0)]), None);
        let bad = throughput(&drawn(&[column(0.0, 10, 0), column(1.0, 12, 1)]), None);
        assert!(!calm.contains("Errors each second") && bad.contains("Errors each second"));
        assert!(bad.contains("1.00\u{a0}s to 2.00\u{a0}s: 12.0 responses each second, 1 error"), "{bad}");
    }

    #[test]
    fn the_planned_rate_is_in_the_drawing() {
        let drawing = throughput(&drawn(&[column(0.0, 10, 0)]), Some(1000.0));
        assert!(drawing.contains("planned: 1,000") && drawing.contains(">1.5k</text>"), "{drawing}");
    }

    #[test]
    fn a_pause_is_a_gap() {
        let drawing = latencies(&drawn(&[column(0.0, 1, 0), column(1.0, 0, 0), column(2.0, 1, 0)]));
        assert_eq!(drawing.matches('M').count(), 2 * 3 + "Median".matches('M').count(), "{drawing}");
    }

    #[test]
    fn of_nothing() {
        assert!(throughput(&drawn(&[]), Some(5.0)).contains("before there was anything"));
        let silent = latencies(&drawn(&[column(0.0, 0, 3)]));
        assert!(silent.contains("There was no response.") && !silent.contains("legend"));
    }

    #[test]
    fn the_drawing_says_how_many_intervals_are_put_together() {
        let column = Column { slowest: 3.0, fastest: 30.0, ..column(0.0, 10, 0) };
        let drawn = Columns { columns: vec![column], together: 417 };
        let drawing = throughput(&drawn, None);
        assert!(drawing.contains("417 intervals") && drawing.contains("\"area first\""));
        assert!(latencies(&drawn).contains("417 intervals"));
    }
}
