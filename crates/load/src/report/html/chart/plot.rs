//! Grid, bars, lines and labels, and the SVG they are put together to.
//!
//! Everything is placed in per cent, so that the drawing takes the width there is while text and lines keep their size.
//! Paths cannot be: they are in a drawing of their own inside, a thousand units wide and high, which is stretched.

use std::fmt::Write;

use super::{
    super::{escape::escaped, quantity::trimmed},
    axis::{Axis, Tick},
    labels::{Anchor, Shown, by_rank, evenly},
};

/// A drawing in progress.
pub(super) struct Plot<'a> {
    horizontal: &'a Axis,
    vertical: &'a Axis,
    bars: String,
    paths: String,
    /// Areas that show a tooltip.
    answers: String,
    texts: String,
}

/// A value that holds from one place to another.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlotStep {
    pub(super) from: f64,
    pub(super) to: f64,
    pub(super) low: f64,
    pub(super) high: f64,
}

impl PlotStep {
    /// A step of a line, which has no thickness.
    pub(super) fn at(from: f64, to: f64, value: f64) -> Self {
        Self { from, to, low: value, high: value }
    }
}

impl<'a> Plot<'a> {
    pub(super) fn new(horizontal: &'a Axis, vertical: &'a Axis) -> Self {
        let empty = String::new;
        Self { horizontal, vertical, bars: empty(), paths: empty(), answers: empty(), texts: empty() }
    }

    /// A bar from the bottom, with a gap to the next one. It is never too low to be seen.
    pub(super) fn bar(&mut self, from: f64, to: f64, height: f64) {
        let (left, right) = (self.horizontal.place(from), self.horizontal.place(to));
        let gap = (right - left) * GAP;
        let height = self.vertical.place(height).max(LEAST_HEIGHT);
        add(
            &mut self.bars,
            format_args!(
                r#"<rect x="{}%" y="{}%" width="{}%" height="{}%"/>"#,
                percent(left + gap / 2.0),
                percent(1.0 - height),
                percent(right - left - gap),
                percent(height),
            ),
        );
    }

    /// A line through the upper ends of the steps. Where one does not begin at the end of the one before, there is a
    /// gap.
    pub(super) fn line(&mut self, class: &str, steps: &[PlotStep]) {
        let mut data = String::new();
        for piece in pieces(steps) {
            self.forward('M', piece, &mut data);
        }
        self.path(class, &data);
    }

    /// The area between the lower and the upper ends of the steps.
    pub(super) fn area(&mut self, class: &str, steps: &[PlotStep]) {
        let mut data = String::new();
        for piece in pieces(steps) {
            self.forward('M', piece, &mut data);
            for step in piece.iter().rev() {
                add(&mut data, format_args!("V{}H{}", self.y(step.low), self.x(step.from)));
            }
            data.push('Z');
        }
        self.path(&format!("area {class}"), &data);
    }

    /// A horizontal line at a value that is named.
    pub(super) fn level(&mut self, value: f64, name: &str) {
        let y = percent(1.0 - self.vertical.place(value));
        add(
            &mut self.texts,
            format_args!(
                r#"<line class="level" x1="0" x2="100%" y1="{y}%" y2="{y}%"/><text class="level" x="100%" y="{y}%" dy="-6" text-anchor="end">{}</text>"#,
                escaped(name),
            ),
        );
    }

    /// Vertical lines at values that are named above the drawing, as far as there is room for the names.
    pub(super) fn marks(&mut self, marks: &[(f64, String)]) {
        let mark = |(value, label): &(f64, String)| Tick { place: self.horizontal.place(*value), label: label.clone() };
        let ticks: Vec<_> = marks.iter().map(mark).collect();
        for label in by_rank(&ticks) {
            let x = percent(label.tick.place);
            let class = class("mark", label.shown);
            add(&mut self.texts, format_args!(r#"<line class="{class}" x1="{x}%" x2="{x}%" y1="-4" y2="100%"/>"#));
            text(&mut self.texts, &class, &format!("x=\"{x}%\" y=\"-9\""), label.anchor, &label.tick.label);
        }
    }

    /// The tooltip of a part of the horizontal scale.
    pub(super) fn answer(&mut self, from: f64, to: f64, answer: &str) {
        let (left, right) = (self.horizontal.place(from), self.horizontal.place(to));
        add(
            &mut self.answers,
            format_args!(
                r#"<rect x="{}%" width="{}%" height="100%"><title>{}</title></rect>"#,
                percent(left),
                percent(right - left),
                escaped(answer),
            ),
        );
    }

    /// The drawing; `class` says how high it is, and `summary` what it shows to those who do not see it.
    pub(super) fn finish(self, class: &str, summary: &str) -> String {
        format!(
            "<div class=\"plot {class}\"><svg role=\"img\" aria-label=\"{}\">{}<g class=\"bars\">{}</g>\
             <svg class=\"paths\" viewBox=\"0 0 1000 1000\" preserveAspectRatio=\"none\">{}</svg>{}\
             <g class=\"answers\">{}</g></svg></div>",
            escaped(summary),
            self.grid(),
            self.bars,
            self.paths,
            self.texts,
            self.answers,
        )
    }

    /// Lines across at the numbers of the vertical scale, a short one below at those of the horizontal, and the
    /// numbers.
    fn grid(&self) -> String {
        let mut grid = String::from("<g class=\"grid\">");
        for tick in &self.vertical.ticks {
            let y = percent(1.0 - tick.place);
            add(&mut grid, format_args!(r#"<line x1="0" x2="100%" y1="{y}%" y2="{y}%"/>"#));
            let place = format!("x=\"0\" y=\"{y}%\" dx=\"-8\" dy=\".35em\"");
            text(&mut grid, "", &place, Anchor::End, &tick.label);
        }
        for label in evenly(&self.horizontal.ticks) {
            let x = percent(label.tick.place);
            let class = class("", label.shown);
            let place = format!("x=\"{x}%\" y=\"100%\" dy=\"20\"");
            text(&mut grid, &class, &place, label.anchor, &label.tick.label);
            // From the end of the drawing downwards.
            add(
                &mut grid,
                format_args!(
                    r#"<svg class="paths" x="{x}%" y="100%" width="1" height="5"><line class="tick" x1="0" x2="0" y1="0" y2="5"/></svg>"#
                ),
            );
        }
        grid.push_str(r#"<line class="base" x1="0" x2="100%" y1="100%" y2="100%"/></g>"#);
        grid
    }

    fn forward(&self, command: char, piece: &[PlotStep], data: &mut String) {
        for (number, step) in piece.iter().enumerate() {
            let (y, to) = (self.y(step.high), self.x(step.to));
            match number {
                0 => add(data, format_args!("{command}{} {y}H{to}", self.x(step.from))),
                _ => add(data, format_args!("V{y}H{to}")),
            }
        }
    }

    fn path(&mut self, class: &str, data: &str) {
        add(&mut self.paths, format_args!(r#"<path class="{class}" d="{data}"/>"#));
    }

    fn x(&self, value: f64) -> String {
        thousandths(self.horizontal.place(value))
    }

    fn y(&self, value: f64) -> String {
        thousandths(1.0 - self.vertical.place(value))
    }
}

/// Steps that follow each other without a gap.
fn pieces(steps: &[PlotStep]) -> impl Iterator<Item = &[PlotStep]> {
    steps.chunk_by(|one, next| one.to == next.from)
}

fn text(into: &mut String, class: &str, place: &str, anchor: Anchor, text: &str) {
    let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
    let anchor = match anchor {
        Anchor::Middle => "middle",
        Anchor::End => "end",
    };
    add(into, format_args!(r#"<text{class} {place} text-anchor="{anchor}">{}</text>"#, escaped(text)));
}

fn class(name: &str, shown: Shown) -> String {
    match shown {
        Shown::Always => name.to_owned(),
        Shown::WhenWide => format!("{name} wide").trim_start().to_owned(),
    }
}

fn percent(share: f64) -> String {
    trimmed((share * 1e4).round() / 100.0)
}

fn thousandths(share: f64) -> String {
    trimmed((share * 1e4).round() / 10.0)
}

fn add(into: &mut String, what: std::fmt::Arguments<'_>) {
    // Writing to memory does not fail.
    let _ = into.write_fmt(what);
}

/// A pixel and a half.
const LEAST_HEIGHT: f64 = 0.007;

/// The part of a bar's place that stays empty.
const GAP: f64 = 0.16;

#[cfg(test)]
mod tests {
    use super::{super::super::quantity, *};

    fn axes() -> (Axis, Axis) {
        (Axis::seconds(10.0, 5), Axis::amounts(100.0, 2, quantity::round_count))
    }

    #[test]
    fn lines_are_steps_with_gaps() {
        let (horizontal, vertical) = axes();
        let mut plot = Plot::new(&horizontal, &vertical);
        plot.line(
            "first",
            &[PlotStep::at(0.0, 1.0, 50.0), PlotStep::at(1.0, 2.0, 100.0), PlotStep::at(5.0, 10.0, 0.0)],
        );
        assert_eq!(plot.paths, r#"<path class="first" d="M0 500H100V0H200M500 1000H1000"/>"#);
    }

    #[test]
    fn areas_are_closed() {
        let (horizontal, vertical) = axes();
        let mut plot = Plot::new(&horizontal, &vertical);
        let step = |from, to, low, high| PlotStep { from, to, low, high };
        plot.area("first", &[step(0.0, 1.0, 0.0, 50.0), step(1.0, 2.0, 10.0, 100.0)]);
        assert_eq!(plot.paths, r#"<path class="area first" d="M0 500H100V0H200V900H100V1000H0Z"/>"#);
    }

    #[test]
    fn bars_are_never_too_low_to_be_seen() {
        let (horizontal, vertical) = axes();
        let mut plot = Plot::new(&horizontal, &vertical);
        plot.bar(0.0, 1.0, 100.0);
        plot.bar(1.0, 2.0, 0.001);
        assert_eq!(
            plot.bars,
            "<rect x=\"0.8%\" y=\"0%\" width=\"8.4%\" height=\"100%\"/>\
             <rect x=\"10.8%\" y=\"99.3%\" width=\"8.4%\" height=\"0.7%\"/>"
        );
    }

    #[test]
    fn values_outside_the_scales_are_drawn_at_the_edge() {
        let (horizontal, vertical) = axes();
        let mut plot = Plot::new(&horizontal, &vertical);
        plot.line("first", &[PlotStep::at(-5.0, 50.0, 1e9), PlotStep::at(50.0, 60.0, -1.0)]);
        assert_eq!(plot.paths, r#"<path class="first" d="M0 0H1000V1000H1000"/>"#);
    }

    #[test]
    fn text_is_escaped() {
        let (horizontal, vertical) = axes();
        let mut plot = Plot::new(&horizontal, &vertical);
        plot.level(50.0, "<b>");
        plot.marks(&[(5.0, "<i>".into())]);
        plot.answer(0.0, 1.0, "<u>");
        let drawing = plot.finish("tall", "\"<s>");
        assert!(["<b>", "<i>", "<u>", "<s>"].iter().all(|tag| !drawing.contains(tag)), "{drawing}");
        assert!(drawing.contains("aria-label=\"&quot;&lt;s&gt;\""));
    }
}
