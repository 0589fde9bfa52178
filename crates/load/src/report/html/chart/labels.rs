//! Which labels have room beside each other.
//!
//! The drawing does not know how wide it will be, so labels are chosen for two widths: those that have no room on a
//! telephone are marked, and hidden there by the style sheet.

use super::axis::Tick;

/// A label that is shown.
#[derive(Debug, PartialEq)]
pub(super) struct Label<'a> {
    pub(super) tick: &'a Tick,
    pub(super) anchor: Anchor,
    pub(super) shown: Shown,
}

/// Which end of the label is at its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    Middle,
    End,
}

/// Where there is room for the label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shown {
    Always,
    WhenWide,
}

/// The labels that have room along a horizontal scale: all, or every second, or every third.
pub(super) fn evenly(ticks: &[Tick]) -> Vec<Label<'_>> {
    chosen(ticks, |ticks, width| {
        let every = |step: &usize| ticks.iter().copied().step_by(*step).collect::<Vec<_>>();
        (1..=ticks.len())
            .map(|step| every(&step))
            .find(|kept| apart(kept, width).len() == kept.len())
            .unwrap_or_default()
    })
}

/// The labels that have room beside those that stand before them in the list.
pub(super) fn by_rank(ticks: &[Tick]) -> Vec<Label<'_>> {
    chosen(ticks, apart)
}

fn chosen<'a>(ticks: &'a [Tick], choose: fn(&[&'a Tick], f64) -> Vec<&'a Tick>) -> Vec<Label<'a>> {
    let wide = choose(&ticks.iter().collect::<Vec<_>>(), WIDE);
    let narrow = choose(&wide, NARROW);
    let shown = |tick| {
        if narrow.iter().any(|kept| std::ptr::eq(*kept, tick)) { Shown::Always } else { Shown::WhenWide }
    };
    wide.into_iter().map(|tick| Label { tick, anchor: anchor(tick), shown: shown(tick) }).collect()
}

/// Those that do not touch one that was kept before, on so many pixels.
fn apart<'a>(ticks: &[&'a Tick], width: f64) -> Vec<&'a Tick> {
    let mut kept: Vec<&Tick> = Vec::new();
    for tick in ticks {
        let [left, right] = extent(tick, width);
        let touches = |other: &&Tick| {
            let [start, end] = extent(other, width);
            left < end + GAP && start < right + GAP
        };
        if !kept.iter().any(touches) {
            kept.push(tick);
        }
    }
    kept
}

/// From where to where it reaches, in pixels.
fn extent(tick: &Tick, width: f64) -> [f64; 2] {
    let (place, length) = (tick.place * width, length(tick));
    match anchor(tick) {
        Anchor::Middle => [place - length / 2.0, place + length / 2.0],
        Anchor::End => [place - length, place],
    }
}

/// A label in the middle above its place must not leave the page on the right. On the left it has the room below the
/// numbers of the other scale.
fn anchor(tick: &Tick) -> Anchor {
    if tick.place * NARROW + length(tick) / 2.0 > NARROW + MARGIN { Anchor::End } else { Anchor::Middle }
}

fn length(tick: &Tick) -> f64 {
    tick.label.chars().count() as f64 * CHARACTER
}

/// A drawing on a screen of 360 pixels, without what is beside it.
const NARROW: f64 = 250.0;

/// The narrowest one on a screen of more than 520 pixels, up to which the style sheet hides labels.
const WIDE: f64 = 400.0;

/// The space between a drawing and the edge of the page, at least.
const MARGIN: f64 = 16.0;

/// The widest of the usual digits at the size of the labels, 12 pixels.
const CHARACTER: f64 = 7.0;

/// So that two labels are not read as one.
const GAP: f64 = 8.0;

#[cfg(test)]
mod tests {
    use super::*;

    fn ticks(labels: &[(f64, &str)]) -> Vec<Tick> {
        labels.iter().map(|(place, label)| Tick { place: *place, label: (*label).into() }).collect()
    }

    fn texts(labels: &[Label<'_>], shown: &[Shown]) -> Vec<String> {
        let shown = labels.iter().filter(|label| shown.contains(&label.shown));
        shown.map(|label| label.tick.label.clone()).collect()
    }

    #[test]
    fn labels_that_touch_are_left_out() {
        let ticks = ticks(&[
            (0.06, "50 %"),
            (0.19, "90 %"),
            (0.38, "99 %"),
            (0.57, "99.9 %"),
            (0.76, "99.99 %"),
            (0.95, "99.999 %"),
        ]);
        let (even, ranked) = (evenly(&ticks), by_rank(&ticks));
        assert_eq!(texts(&even, &[Shown::Always, Shown::WhenWide]).len(), 6);
        assert_eq!(texts(&even, &[Shown::Always]), ["50 %", "99 %", "99.99 %"]);
        assert_eq!(texts(&ranked, &[Shown::Always]), ["50 %", "99 %", "99.9 %", "99.999 %"]);
    }

    #[test]
    fn a_label_that_would_leave_the_page_ends_at_its_place() {
        let ticks = ticks(&[(0.0, "0"), (1.0, "100 %"), (0.5, "x"), (1.0, "2 s")]);
        let anchors: Vec<_> = ticks.iter().map(anchor).collect();
        assert_eq!(anchors, [Anchor::Middle, Anchor::End, Anchor::Middle, Anchor::Middle]);
    }

    #[test]
    fn no_two_overlap() {
        for number in 0..60_u32 {
            let ticks: Vec<_> = (0..=number)
                .map(|tick| Tick {
                    place: f64::from(tick) / f64::from(number.max(1)),
                    label: "x".repeat(tick as usize % 11),
                })
                .collect();
            for labels in [evenly(&ticks), by_rank(&ticks)] {
                for (width, shown) in [(WIDE, &[Shown::Always, Shown::WhenWide][..]), (NARROW, &[Shown::Always])] {
                    let shown = labels.iter().filter(|label| shown.contains(&label.shown));
                    let mut extents: Vec<_> = shown.map(|label| extent(label.tick, width)).collect();
                    extents.sort_by(|one, other| one[0].total_cmp(&other[0]));
                    assert!(!extents.is_empty());
                    let apart = extents.windows(2).all(|pair| pair[0][1] + GAP <= pair[1][0]);
                    assert!(apart, "{number} at {width}: {extents:?}");
                }
            }
        }
    }
}
