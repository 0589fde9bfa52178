//! Tables for people.

/// The lines of a table whose first row are the headings: the first columns are words, the others numbers.
#[must_use]
pub fn lines<const COLUMNS: usize>(rows: &[[String; COLUMNS]], words: usize) -> Vec<String> {
    let widths: [usize; COLUMNS] = std::array::from_fn(|column| width(rows, column));
    rows.iter().map(|row| line(row, &widths, words)).collect()
}

/// A row; a name that is too long for its column has a line of its own.
fn line(row: &[String], widths: &[usize], words: usize) -> String {
    let long_name = row.first().filter(|name| name.chars().count() > MAX_NAME);
    let before = long_name.map(|name| format!("  {name}\n")).unwrap_or_default();
    let cells = row.iter().zip(widths).enumerate().map(|(column, (cell, width))| match column {
        0 if long_name.is_some() => format!("  {:width$}", ""),
        _ if column < words => format!("  {cell:width$}"),
        _ => format!("  {cell:>width$}"),
    });
    format!("{before}{}\n", cells.collect::<String>().trim_end())
}

/// The width of the widest cell that is within its column.
fn width<const COLUMNS: usize>(rows: &[[String; COLUMNS]], column: usize) -> usize {
    let widths = rows.iter().map(|row| row.get(column).map_or(0, |cell| cell.chars().count()));
    widths.filter(|width| column > 0 || *width <= MAX_NAME).max().unwrap_or(0)
}

/// With that, tables fit into 80 columns.
const MAX_NAME: usize = 18;
