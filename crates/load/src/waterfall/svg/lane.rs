//! A lane: what a resource got of the link, from when it was asked for to its end.

use std::{collections::BTreeMap, fmt::Write, time::Duration};

use super::{
    ALL_HEIGHT, LEFT, MARGIN, PLOT, Plane,
    markup::{self, Anchor, Number, line, rectangle, text},
};
use crate::waterfall::{Outcome, Resource, bandwidth::Bandwidth, caption, figures};

/// Where a lane is, and what is drawn in it.
pub(super) struct Lane<'a> {
    pub(super) plane: &'a Plane,
    pub(super) bandwidth: Option<&'a Bandwidth>,
    pub(super) top: f64,
}

impl Lane<'_> {
    /// The lane of the resource with this number.
    pub(super) fn draw(&self, drawing: &mut String, number: usize, resource: &Resource) {
        let _ = writeln!(drawing, "<g><title>{}</title>", markup::escaped(&description(resource)));
        self.label(drawing, resource);
        if let Some((asked, end)) = resource.span(self.plane.time) {
            let height = self.plane.lane_height;
            let bottom = self.top + height;
            let bar = |drawing: &mut String, class, from: Duration, to: Duration| {
                let (from, to) = (self.plane.x(from), self.plane.x(to));
                rectangle(drawing, class, (from, self.top), ((to - from).max(1.0), height));
            };
            bar(drawing, "bar", asked, end);
            bar(drawing, "wait", asked, resource.head.unwrap_or(end));
            self.transfers(drawing, number, resource);
            line(drawing, "edge", self.plane.x(asked), self.top, bottom);
            if let Some(head) = resource.head {
                line(drawing, "first", self.plane.x(head), self.top, bottom);
            }
            let class = if resource.outcome == Outcome::Whole { "edge" } else { "cut" };
            line(drawing, class, self.plane.x(end), self.top, bottom);
            for (moment, priority) in &resource.changes {
                let x = self.plane.x(*moment);
                line(drawing, "change", x, self.top - 4.0, bottom);
                text(drawing, "text", (x + 4.0, self.top + 11.0), Anchor::Start, priority.as_str());
            }
        }
        drawing.push_str("</g>\n");
    }

    /// The lane of all together.
    pub(super) fn draw_all(&self, drawing: &mut String) {
        text(drawing, "quiet", (MARGIN, self.top + ALL_HEIGHT / 2.0 + 4.0), Anchor::Start, "all");
        let levels = self.levels(None, ALL_HEIGHT);
        let colours = vec![String::from("all"); levels.len()];
        columns(drawing, &levels, &colours, self.top + ALL_HEIGHT);
    }

    /// Its name and priority on the left, its figures on the right.
    fn label(&self, drawing: &mut String, resource: &Resource) {
        let (middle, right) = (self.top + self.plane.lane_height / 2.0, LEFT + PLOT + 12.0);
        let priorities = caption::priorities(resource);
        let outcome = outcome(resource);
        let class = if outcome.is_odd { "trouble" } else { "text" };
        if self.plane.lane_height < TWO_LINES {
            text(drawing, "name", (MARGIN, middle + 4.0), Anchor::Start, &caption::name(&resource.spec.path, 12));
            text(drawing, "quiet", (LEFT - 12.0, middle + 4.0), Anchor::End, &priorities);
            text(drawing, class, (right, middle + 4.0), Anchor::Start, &outcome.first);
            return;
        }
        let name = caption::name(&resource.spec.path, 18);
        text(drawing, "name", (MARGIN, middle - 4.0), Anchor::Start, &name);
        text(drawing, "quiet", (MARGIN, middle + 12.0), Anchor::Start, &priorities);
        text(drawing, class, (right, middle - 4.0), Anchor::Start, &outcome.first);
        text(drawing, "quiet", (right, middle + 12.0), Anchor::Start, &outcome.second);
    }

    /// Its share of the link over time, in the colour of its urgency.
    fn transfers(&self, drawing: &mut String, number: usize, resource: &Resource) {
        let levels = self.levels(Some(number), self.plane.lane_height);
        let urgencies: Vec<_> = resource.urgencies().collect();
        let colour = |column: usize| {
            let moment = self.plane.time.mul_f64((column as f64 + 0.5) / levels.len() as f64);
            let said = urgencies.iter().rev().find(|(from, _)| *from <= moment);
            format!("u{}", said.map_or(0, |(_, urgency)| *urgency))
        };
        let colours: Vec<_> = (0..levels.len()).map(colour).collect();
        columns(drawing, &levels, &colours, self.top + self.plane.lane_height);
    }

    /// The height of each column, in steps, so that rounding of times does not show as a fringe.
    fn levels(&self, resource: Option<usize>, height: f64) -> Vec<f64> {
        let slices = (PLOT / COLUMN) as usize;
        let shares = self.bandwidth.map(|bandwidth| bandwidth.shares(resource, self.plane.time, slices));
        let level = |share: f64| (share.min(1.0) * STEPS).round() / STEPS * height;
        shares.unwrap_or_default().into_iter().map(level).collect()
    }
}

/// The outcome of a resource, in two lines.
struct OutcomeText {
    is_odd: bool,
    first: String,
    second: String,
}

fn outcome(resource: &Resource) -> OutcomeText {
    let bytes = figures::bytes(resource.bytes());
    if let Some(trouble) = caption::trouble(resource) {
        let second = if resource.asked.is_some() { format!("after {bytes}") } else { String::new() };
        return OutcomeText { is_odd: true, first: trouble, second };
    }
    let (status, end) = (caption::odd_status(resource), figures::time(resource.end.unwrap_or_default()));
    let done = status.map_or_else(|| "done".to_owned(), |status| status.to_string());
    let wait = caption::wait(resource).unwrap_or_default();
    OutcomeText {
        is_odd: status.is_some(),
        first: format!("{done} at {end}, {bytes}"),
        second: format!("first byte in {}", figures::time(wait)),
    }
}

/// A resource in words.
pub(super) fn description(resource: &Resource) -> String {
    let mut words = vec![resource.spec.path.clone()];
    words.extend(Some(caption::priorities(resource)).filter(|priorities| !priorities.is_empty()));
    words.extend(resource.asked.map(|asked| format!("asked for at {}", figures::time(asked))));
    words.extend(resource.status.map(|status| format!("status {status}")));
    words.extend(resource.head.map(|head| format!("first byte at {}", figures::time(head))));
    words.extend(resource.end.map(|end| format!("end at {}", figures::time(end))));
    words.extend(resource.asked.map(|_| figures::bytes(resource.bytes())));
    words.extend(caption::trouble(resource));
    words.join(", ") + "."
}

/// Columns of the same height and colour beside each other are one shape, and all of a colour are one path.
fn columns(drawing: &mut String, levels: &[f64], colours: &[String], bottom: f64) {
    let mut paths: BTreeMap<&str, String> = BTreeMap::new();
    let mut since = 0;
    for column in 1..=levels.len() {
        let (before, now) = (column - 1, (levels.get(column), colours.get(column)));
        if now == (Some(&levels[before]), Some(&colours[before])) {
            continue;
        }
        if levels[before] > 0.0 {
            let path = paths.entry(&colours[before]).or_default();
            let (x, width) = (Number(LEFT + since as f64 * COLUMN), Number((column - since) as f64 * COLUMN));
            let _ = write!(path, "M{x} {}v-{}h{width}V{}z", Number(bottom), Number(levels[before]), Number(bottom));
        }
        since = column;
    }
    for (colour, path) in paths {
        let _ = writeln!(drawing, "<path class=\"{colour}\" d=\"{path}\"/>");
    }
}

/// Pixels of a column: narrower than the eye needs.
const COLUMN: f64 = 2.0;

/// Steps in which heights are rounded.
const STEPS: f64 = 16.0;

/// A lane of this height has room for two lines of text.
const TWO_LINES: f64 = 30.0;
