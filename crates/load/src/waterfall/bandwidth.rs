//! When the link carried whose bytes.
//!
//! Bytes arrive in lumps: a record of TLS can be used when its last byte is there, and bytes that wait for a lost
//! packet come all at once. The link carried them one after the other. So bytes are drawn as late as a link of the rate
//! that this one has shown can have carried them; but not much earlier than they came, since links change their rate.

use std::time::Duration;

use super::{Recording, Resource};

/// When the link was busy with whose bytes.
#[derive(Clone, Debug)]
pub(super) struct Bandwidth {
    /// The rate that the link has shown, in bytes each second.
    pub(super) rate: f64,
    /// In the order of time.
    passages: Vec<Passage>,
}

/// The link was busy with bytes of the resource with this number; in seconds from the beginning.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Passage {
    resource: usize,
    begins: f64,
    ends: f64,
}

/// Bytes that were noticed at a moment.
#[derive(Clone, Copy, Debug)]
struct Arrival {
    resource: usize,
    moment: f64,
    bytes: f64,
}

impl Bandwidth {
    /// `None` where no byte came.
    pub(super) fn of(recording: &Recording) -> Option<Self> {
        let arrivals = arrivals(&recording.resources);
        let last = arrivals.last()?.moment;
        let asked = recording.resources.iter().filter_map(|resource| resource.asked).min().unwrap_or_default();
        let window = last / WINDOWS;
        let rate = usual_rate(&arrivals, window).unwrap_or_else(|| {
            let time = (last - asked.as_secs_f64()).max(SHORTEST);
            arrivals.iter().map(|arrival| arrival.bytes).sum::<f64>() / time
        });
        Some(Self { rate, passages: passages(&arrivals, rate, window) })
    }

    /// The share of the rate that each of several slices of this time carried, of one resource or of all.
    pub(super) fn shares(&self, resource: Option<usize>, time: Duration, slices: usize) -> Vec<f64> {
        let mut shares = vec![0.0; slices];
        let length = time.as_secs_f64().max(SHORTEST) / slices.max(1) as f64;
        let wanted = |passage: &&Passage| resource.is_none_or(|resource| resource == passage.resource);
        for passage in self.passages.iter().filter(wanted) {
            // A fraction of a slice too many at the end is cut off by the shares' own length.
            let (first, last) = ((passage.begins / length) as usize, (passage.ends / length) as usize);
            for (number, share) in shares.iter_mut().enumerate().take(last + 1).skip(first) {
                let (begins, ends) = (number as f64 * length, (number + 1) as f64 * length);
                *share += (passage.ends.min(ends) - passage.begins.max(begins)).max(0.0) / length;
            }
        }
        shares
    }
}

fn arrivals(resources: &[Resource]) -> Vec<Arrival> {
    let mut arrivals: Vec<_> = (resources.iter().enumerate())
        .flat_map(|(resource, of)| {
            let arrival = move |piece: &super::Piece| Arrival {
                resource,
                moment: piece.moment.as_secs_f64(),
                bytes: piece.bytes as f64,
            };
            of.pieces.iter().map(arrival)
        })
        .collect();
    arrivals.sort_by(|one, other| one.moment.total_cmp(&other.moment));
    arrivals
}

/// The rate over a window of this many seconds, or hardly more, that three of four windows do not surpass: what comes
/// at once behind a lost packet is in few of them. `None` where all came in less. The first lump of a window came
/// before it.
fn usual_rate(arrivals: &[Arrival], window: f64) -> Option<f64> {
    let mut rates = Vec::new();
    // Bytes that came after the first arrival of a window, up to its last, which walks ahead.
    let (mut bytes, mut ends) = (0.0, arrivals.iter());
    let mut last = ends.next()?;
    'windows: for (first, second) in arrivals.iter().zip(arrivals.iter().skip(1)) {
        while last.moment - first.moment < window {
            let Some(next) = ends.next() else { break 'windows };
            last = next;
            bytes += next.bytes;
        }
        rates.push(bytes / (last.moment - first.moment).max(SHORTEST));
        bytes -= second.bytes;
    }
    rates.sort_by(f64::total_cmp);
    rates.get(rates.len() * 3 / 4).copied().filter(|rate| *rate > 0.0)
}

/// When the link carried what arrived: one after the other, and at most `reach` seconds before it came.
fn passages(arrivals: &[Arrival], rate: f64, reach: f64) -> Vec<Passage> {
    let mut free = f64::INFINITY;
    let backwards = arrivals.iter().rev().map(|arrival| {
        let ends = free.clamp((arrival.moment - reach).max(0.0), arrival.moment);
        let begins = (ends - arrival.bytes / rate).max(0.0);
        free = begins;
        Passage { resource: arrival.resource, begins, ends }
    });
    let mut passages: Vec<_> = backwards.collect();
    passages.reverse();
    passages
}

/// A twentieth of the time: shorter windows have lumps, longer ones the time in which nothing came.
const WINDOWS: f64 = 20.0;

/// A nanosecond, in seconds: no time is shorter.
const SHORTEST: f64 = 1e-9;

#[cfg(test)]
mod tests;
