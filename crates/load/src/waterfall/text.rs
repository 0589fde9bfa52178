//! A drawing of characters, and a table.

use std::time::Duration;

use super::{Recording, Resource, axis::Axis, bandwidth::Bandwidth, caption, figures};

/// A drawing of characters, at most so many in a row, and a table of the moments.
///
/// ```text
/// /picture.png  u=5  │▇▇▁▁▁▁▁▁▁▁▁▇▇▇▇▇▇▇▇▇
/// /script.js    u=1  │ ··▇▇▇▇▇▇▇▇▇
///                    └┬─────────┬─────────
///                     0         20 s
/// ```
#[must_use]
pub fn text(recording: &Recording, width: usize) -> String {
    let mut lines = vec![
        format!("{}, {}", recording.origin, caption::protocol(recording)),
        caption::summary(recording),
        String::new(),
    ];
    lines.extend(drawing(recording, width));
    lines.push(String::new());
    lines.extend(table(recording, width));
    if let Some(ending) = caption::ending(recording) {
        lines.extend([String::new(), ending]);
    }
    lines.iter().map(|line| line.trim_end().to_owned() + "\n").collect()
}

fn drawing(recording: &Recording, width: usize) -> Vec<String> {
    let names: Vec<_> = recording.resources.iter().map(|of| caption::name(&of.spec.path, width / 4)).collect();
    let priorities: Vec<_> = recording.resources.iter().map(caption::priorities).collect();
    let labels = joined(&[names, priorities], &[Side::Left, Side::Left]);
    let label_width = labels.iter().map(|label| label.chars().count()).max().unwrap_or_default() + 1;
    // One for the axis.
    let columns = width.saturating_sub(label_width + 1).max(LEAST_COLUMNS);
    let bandwidth = Bandwidth::of(recording);
    let rows = recording.resources.iter().zip(labels).enumerate().map(|(number, (resource, label))| {
        let shares = bandwidth.as_ref().map(|of| of.shares(Some(number), recording.elapsed, columns));
        let row = row(resource, recording.elapsed, &shares.unwrap_or_else(|| vec![0.0; columns]));
        format!("{label:<label_width$}│{row}")
    });
    let mut lines: Vec<_> = rows.collect();
    lines.extend(axis(recording.elapsed, columns).map(|line| format!("{:label_width$}{line}", "")));
    if let Some(bandwidth) = bandwidth {
        let rate = figures::rate(bandwidth.rate);
        lines.push(format!("{:label_width$} █ {rate}; · nothing comes", ""));
    }
    lines
}

/// The cells of a resource: what share it got, in eighths.
fn row(resource: &Resource, elapsed: Duration, shares: &[f64]) -> String {
    let Some((asked, end)) = resource.span(elapsed) else { return String::new() };
    let cell = |moment: Duration| {
        let place = moment.as_secs_f64() / elapsed.as_secs_f64().max(1e-9) * shares.len() as f64;
        (place as usize).min(shares.len().saturating_sub(1))
    };
    let in_flight = cell(asked)..=cell(end);
    let cells = shares.iter().enumerate().map(|(number, share)| {
        let eighths = (share.min(1.0) * 8.0).round() as usize;
        match BLOCKS.get(eighths.max(usize::from(*share > 0.0)).wrapping_sub(1)) {
            Some(block) if in_flight.contains(&number) => *block,
            None if in_flight.contains(&number) => '·',
            _ => ' ',
        }
    });
    cells.collect()
}

/// The line below the rows, and what is written below that.
fn axis(elapsed: Duration, columns: usize) -> [String; 2] {
    let (mut line, mut labels) = (vec!['─'; columns], vec![' '; columns]);
    for (share, label) in Axis::new(elapsed, (columns / COLUMNS_OF_A_MARK).max(1)).marks() {
        let place = ((share * columns as f64) as usize).min(columns - 1);
        line[place] = '┬';
        if let Some(cells) = labels.get_mut(place..place + label.chars().count()) {
            cells.iter_mut().zip(label.chars()).for_each(|(cell, character)| *cell = character);
        }
    }
    [format!("└{}", String::from_iter(line)), format!(" {}", String::from_iter(labels))]
}

fn table(recording: &Recording, width: usize) -> Vec<String> {
    let time = |moment: Option<Duration>| moment.map_or_else(|| "–".to_owned(), figures::time);
    let mut columns = ["priority", "status", "asked", "first byte", "end", "bytes"].map(|head| vec![head.to_owned()]);
    for resource in &recording.resources {
        let cells = [
            caption::priorities(resource),
            resource.status.map_or_else(|| "–".to_owned(), |status| status.to_string()),
            time(resource.asked),
            time(resource.head),
            caption::trouble(resource).unwrap_or_else(|| time(resource.end)),
            resource.bytes().to_string(),
        ];
        for (column, cell) in columns.iter_mut().zip(cells) {
            column.push(cell);
        }
    }
    let figures = joined(&columns, &[Side::Left, Side::Left, Side::Right, Side::Right, Side::Right, Side::Right]);
    let room = width.saturating_sub(figures[0].chars().count() + 2).max(LEAST_NAME);
    let names = recording.resources.iter().map(|resource| caption::name(&resource.spec.path, room));
    let names = std::iter::once(String::new()).chain(names).collect();
    joined(&[names, figures], &[Side::Left, Side::Left])
}

/// Where the cells of a column stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Left,
    Right,
}

/// Columns beside each other, each as wide as its widest cell; those with nothing in them are left out.
fn joined(columns: &[Vec<String>], sides: &[Side]) -> Vec<String> {
    let mut lines = vec![String::new(); columns.first().map_or(0, Vec::len)];
    for (cells, side) in columns.iter().zip(sides) {
        let width = cells.iter().map(|cell| cell.chars().count()).max().unwrap_or_default();
        if width == 0 {
            continue;
        }
        for (line, cell) in lines.iter_mut().zip(cells) {
            let between = if line.is_empty() { "" } else { "  " };
            *line += &match side {
                Side::Left => format!("{between}{cell:<width$}"),
                Side::Right => format!("{between}{cell:>width$}"),
            };
        }
    }
    lines
}

const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Narrower ones show nothing, so they are broken rather than left out.
const LEAST_COLUMNS: usize = 20;

/// A name that is shorter says nothing.
const LEAST_NAME: usize = 8;

/// A label with the room around it.
const COLUMNS_OF_A_MARK: usize = 9;
