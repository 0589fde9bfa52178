//! A drawing, as SVG of its own.

use std::{fmt::Write, time::Duration};

use self::{
    lane::Lane,
    markup::{Anchor, line, rectangle, text},
};
use super::{Recording, axis::Axis, bandwidth::Bandwidth, caption, figures};

mod lane;
mod markup;

/// A drawing: a lane for each resource, from when it was asked for to its end, in which the height says what share of
/// the link's rate it got; and one for all together. Its colours follow the reader's preference for light or dark.
#[must_use]
pub fn svg(recording: &Recording, title: Option<&str>) -> String {
    let origin = recording.origin.to_string();
    let title = title.unwrap_or(&origin);
    let bandwidth = Bandwidth::of(recording);
    let ending = caption::ending(recording);
    let top = if ending.is_some() { TOP + LINE } else { TOP };
    let plane = Plane::new(recording, top);
    let mut drawing = String::new();
    begin(&mut drawing, recording, title, plane.bottom + FOOT);
    for (number, line) in [Some(subtitle(recording)), ending].into_iter().flatten().enumerate() {
        let class = if number == 0 { "quiet" } else { "trouble" };
        text(&mut drawing, class, (MARGIN, TOP - 22.0 + number as f64 * LINE), Anchor::Start, &line);
    }
    grid(&mut drawing, &plane);
    for (number, resource) in recording.resources.iter().enumerate() {
        let lane = Lane { plane: &plane, bandwidth: bandwidth.as_ref(), top: plane.lane_top(number) };
        lane.draw(&mut drawing, number, resource);
    }
    if let Some(bandwidth) = bandwidth.as_ref().filter(|_| recording.resources.len() > 1) {
        let lane = Lane { plane: &plane, bandwidth: Some(bandwidth), top: plane.lane_top(recording.resources.len()) };
        lane.draw_all(&mut drawing);
    }
    legend(&mut drawing, recording, plane.bottom + 50.0);
    if let Some(bandwidth) = &bandwidth {
        let note = format!("Full height: {}.", figures::rate(bandwidth.rate));
        text(&mut drawing, "quiet", (WIDTH - MARGIN, plane.bottom + 50.0), Anchor::End, &note);
    }
    drawing.push_str("</svg>\n");
    drawing
}

/// Where lanes and moments are.
pub(super) struct Plane {
    time: Duration,
    lane_height: f64,
    top: f64,
    bottom: f64,
}

impl Plane {
    fn new(recording: &Recording, top: f64) -> Self {
        let lanes = recording.resources.len();
        let lane_height = match lanes {
            ..=3 => 64.0,
            4..=6 => 44.0,
            7..=12 => 34.0,
            _ => 22.0,
        };
        let all = if lanes > 1 { ALL_HEIGHT + GAP } else { 0.0 };
        let bottom = top + lanes as f64 * (lane_height + GAP) + all;
        Self { time: recording.elapsed.max(Duration::from_nanos(1)), lane_height, top, bottom }
    }

    fn lane_top(&self, number: usize) -> f64 {
        self.top + number as f64 * (self.lane_height + GAP)
    }

    /// Where a moment is, from the left.
    fn x(&self, moment: Duration) -> f64 {
        LEFT + (moment.as_secs_f64() / self.time.as_secs_f64()).min(1.0) * PLOT
    }
}

fn begin(drawing: &mut String, recording: &Recording, title: &str, height: f64) {
    // Writing to memory does not fail, here and below.
    let _ = write!(
        drawing,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" \
         role=\"img\" aria-labelledby=\"title description\">\n<title id=\"title\">{}</title>\n<desc id=\"description\">{}</desc>\n\
         <style>{STYLE}</style>\n",
        markup::escaped(title),
        markup::escaped(&description(recording)),
    );
    let _ = writeln!(drawing, "<rect class=\"ground\" width=\"{WIDTH}\" height=\"{height}\" rx=\"8\"/>");
    text(drawing, "title", (MARGIN, 34.0), Anchor::Start, title);
}

fn subtitle(recording: &Recording) -> String {
    format!("{}: {}.", caption::protocol(recording), caption::summary(recording))
}

/// The drawing in words.
fn description(recording: &Recording) -> String {
    let lines = recording.resources.iter().map(lane::description);
    lines.collect::<Vec<_>>().join(" ")
}

fn grid(drawing: &mut String, plane: &Plane) {
    for (share, label) in Axis::new(plane.time, MAX_MARKS).marks() {
        let x = LEFT + share * PLOT;
        line(drawing, "grid", x, plane.top - 4.0, plane.bottom);
        text(drawing, "quiet", (x, plane.bottom + 18.0), Anchor::Middle, &label);
    }
}

/// Explains the colours and marks: of the urgencies only those that were used.
fn legend(drawing: &mut String, recording: &Recording, y: f64) {
    let mut used: Vec<u8> = recording
        .resources
        .iter()
        .filter(|resource| resource.asked.is_some())
        .flat_map(|resource| resource.urgencies().map(|(_, urgency)| urgency).collect::<Vec<_>>())
        .collect();
    used.sort_unstable();
    used.dedup();
    let mut x = MARGIN;
    for urgency in used {
        rectangle(drawing, &format!("u{urgency}"), (x, y - 10.0), (12.0, 12.0));
        text(drawing, "quiet", (x + 18.0, y), Anchor::Start, &format!("u={urgency}"));
        x += 58.0;
    }
    rectangle(drawing, "wait", (x, y - 10.0), (12.0, 12.0));
    text(drawing, "quiet", (x + 18.0, y), Anchor::Start, "asked for, nothing has come");
    x += 200.0;
    line(drawing, "first", x + 6.0, y - 11.0, y + 3.0);
    text(drawing, "quiet", (x + 18.0, y), Anchor::Start, "first byte");
}

const WIDTH: f64 = 960.0;
const MARGIN: f64 = 24.0;
/// Where the lanes begin, beside their names.
const LEFT: f64 = 168.0;
/// How long they are; behind them are their figures.
const PLOT: f64 = 612.0;
const TOP: f64 = 84.0;
/// From one line of text to the next.
const LINE: f64 = 20.0;
const GAP: f64 = 10.0;
const ALL_HEIGHT: f64 = 30.0;
/// Below the lanes: the axis, and the legend.
const FOOT: f64 = 70.0;
/// Marks on the axis: labels of five letters need no more room.
const MAX_MARKS: usize = 10;

const STYLE: &str = include_str!("svg/style.css");
