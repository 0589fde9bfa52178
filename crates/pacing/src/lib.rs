//! How much to hand to the kernel, and when: so little that what becomes urgent does not wait behind what is not, and
//! so much that the link never runs dry.
//!
//! A server that chooses well among its responses gains nothing when the kernel has taken a megabyte of the least urgent
//! one before. What it has taken is in two places: *unsent*, in the socket, and *in flight*, which on a slow link means
//! in a queue before it. [`Pacer`] bounds the first always, and the second for bytes the client itself called less
//! urgent ([`Demand::Patient`]). It does no I/O and reads no clock; it is told what the kernel knows ([`TcpInfo`]).
//!
//! ```text
//!  Pacer ── allowance ──▶ │ unsent │ ──congestion window──▶ │ queue │═══link═══▶ client
//!                         └── at most 4 ms of the rate,      └── for patient bytes at most 60 ms
//!                             or one to three segments           of the rate, and two segments
//! ```
//!
//! # The unsent bytes
//!
//! The kernel sends when acknowledgements come, two segments for each, without us; between two of our turns it lives on the
//! unsent bytes. So there are [`UNSENT_TIME`] of them at the rate at which the path delivers, at least a segment, so that
//! there is something to wake us for, and at most [`MOST_UNSENT`]. The same number is the socket's low-water mark: the
//! kernel wakes us at half of it. On a slow link a segment leaves when the client acknowledges two, so what becomes urgent
//! waits for two segments' time at most.
//!
//! [`MOST_UNSENT`] is what the listeners set for every connection, against thousands of peers that read nothing. It stays
//! the bound where there is nothing to choose, in HTTP/1 and with [`Pacing::Off`]; pacing only ever goes below it. A path
//! so fast that it would go above (65 MB/s) is *open*: nothing can be gained, the kernel takes what it wants, and TCP_INFO
//! is read a hundred times a second at most. On the loopback device neither time nor throughput can be told from those
//! without pacing.
//!
//! What the congestion window lets out at once does not count: an allowance is the window's room and the unsent bytes.
//!
//! # Using it
//!
//! ```no_run
//! # use std::{future::poll_fn, io, time::Duration};
//! # use serow_net::Socket;
//! # use serow_pacing::{Demand, Pacer, Pacing};
//! # async fn write(socket: &Socket, now: fn() -> u64, mut choose: impl FnMut(usize) -> Vec<u8>) -> io::Result<()> {
//! let mut pacer = Pacer::new(Pacing::Adaptive);
//! loop {
//!     if pacer.needs_sample(now()) {
//!         match socket.tcp_info() {
//!             Ok(info) => pacer.handle_sample(&info, now()),
//!             Err(_) => pacer = Pacer::new(Pacing::Off), // a unix socket
//!         }
//!     }
//!     let allowance = pacer.allow(Demand::Urgent, now());
//!     if let Some(bytes) = allowance.low_water {
//!         socket.set_unsent_low_water(bytes)?;
//!     }
//!     if allowance.bytes > 0 {
//!         let chosen = choose(allowance.bytes.min(allowance.record));
//!         // What the kernel refuses has been chosen and has to wait for room as always.
//!         let sent = poll_fn(|context| socket.poll_send(context, &chosen, serow_net::More::Nothing)).await?;
//!         pacer.note_sent(sent, now());
//!     } else if let Some(time) = allowance.look_again {
//!         tokio::time::sleep(time).await; // or until something more urgent is there
//!     } else {
//!         poll_fn(|context| socket.poll_drained(context)).await?;
//!     }
//! }
//! # }
//! ```
#![no_std]
#![forbid(unsafe_code)]

#[cfg(test)]
extern crate alloc;

mod delay;
mod flight;
mod histogram;
mod path;
mod tcp_info;

use core::time::Duration;

pub use self::{delay::QueueDelay, histogram::DelayHistogram, tcp_info::TcpInfo};
use self::{flight::Flight, path::Path};

/// The setting: how the unsent bytes of connections with several responses at a time are bounded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pacing {
    /// By what the path turns out to be.
    #[default]
    Adaptive,
    /// By so many bytes (TCP_NOTSENT_LOWAT) on every path.
    Fixed(u32),
    /// As the listener has it.
    Off,
}

/// How urgent that is which would be sent next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Demand {
    /// To be had as soon as possible: urgency 2 or less (RFC 9218 §4.1), or the client did not say.
    Urgent,
    /// The client said that others go first: urgency 3 or more, in so many words.
    Patient,
}

/// What may be done now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allowance {
    /// So many bytes may be handed to the kernel, TLS's included; `usize::MAX` where the kernel may take all it wants. If
    /// none, ask again after `look_again`, or else when `Socket::poll_drained` is ready.
    pub bytes: usize,
    /// The longest TLS record, as it is on the wire.
    pub record: usize,
    /// To be set with `Socket::set_unsent_low_water` before sending or waiting.
    pub low_water: Option<u32>,
    /// No event will tell when there is room; ask again after this time.
    pub look_again: Option<Duration>,
}

/// Decides for one connection. Times are microseconds since any fixed moment.
#[derive(Clone, Debug)]
pub struct Pacer {
    pacing: Pacing,
    path: Path,
    flight: Flight,
    /// When the kernel was asked last.
    sampled: u64,
    /// When bytes were handed over last.
    sent: u64,
    /// Bytes handed over since the kernel was asked.
    since_sample: u32,
    /// Bytes handed over since the connection was idle.
    since_idle: u32,
    /// Bytes that may be handed over before the kernel is asked again, whatever the demand.
    room: u32,
    /// The socket's low-water mark as we set it; 0 while it is the listener's.
    low_water: u32,
    known: bool,
}

impl Pacer {
    /// For a connection that is new.
    pub fn new(pacing: Pacing) -> Self {
        Self {
            pacing,
            path: Path::default(),
            flight: Flight::default(),
            sampled: 0,
            sent: 0,
            since_sample: 0,
            since_idle: 0,
            room: 0,
            low_water: 0,
            known: false,
        }
    }

    /// Whether [`handle_sample`](Self::handle_sample) is due before the next [`allow`](Self::allow).
    pub fn needs_sample(&self, now: u64) -> bool {
        if self.pacing != Pacing::Adaptive {
            return false;
        }
        let age = now.saturating_sub(self.sampled);
        if !self.known {
            true
        } else if self.is_open() {
            self.since_sample >= OPEN_BYTES && age >= OPEN_TIME
        } else {
            // Rooms that the sample found are used up, or so old that windows have changed.
            self.room == 0 || age >= SAMPLE_TIME.max(self.path.round_trip.into()) || self.flight.waits()
        }
    }

    /// Takes note of what the kernel knows.
    pub fn handle_sample(&mut self, info: &TcpInfo, now: u64) {
        self.path.handle_sample(info);
        self.sampled = now;
        self.since_sample = 0;
        self.known = true;
        let most = self.unsent();
        // The same question as the kernel asks before it wakes us: else we would wait where it sees no need to.
        self.room = if info.unsent.saturating_mul(2) < most {
            (most - info.unsent).saturating_add(info.window_room())
        } else {
            0
        };
        self.flight.handle_sample(&self.path, info.in_flight().saturating_add(info.unsent), now);
    }

    /// What may be handed over now, if what comes next is of this demand.
    pub fn allow(&mut self, demand: Demand, now: u64) -> Allowance {
        if now.saturating_sub(self.sent) >= IDLE_TIME {
            self.since_idle = 0;
        }
        let record = self.record();
        let unlimited = Allowance { bytes: usize::MAX, record, low_water: None, look_again: None };
        match self.pacing {
            Pacing::Off => return unlimited,
            Pacing::Fixed(bytes) => return Allowance { low_water: self.change_low_water(bytes.max(1)), ..unlimited },
            Pacing::Adaptive => {}
        }
        if demand == Demand::Patient {
            let room = self.flight.room(&self.path, now);
            if room < self.path.segment {
                return Allowance { bytes: 0, look_again: Some(self.flight.wait(&self.path, now)), ..unlimited };
            }
            if room < self.room || (self.is_open() && room < u32::MAX) {
                return Allowance { bytes: self.path.whole_segments(room), ..unlimited };
            }
        }
        if self.is_open() {
            // Never set, it is the listener's, which is the same.
            let low_water = if self.low_water == 0 { None } else { self.change_low_water(MOST_UNSENT) };
            return Allowance { low_water, ..unlimited };
        }
        if self.room > 0 {
            return Allowance { bytes: self.room as usize, ..unlimited };
        }
        // Only who waits needs the mark: a connection with small responses costs no such call.
        Allowance { bytes: 0, low_water: self.change_low_water(self.unsent()), ..unlimited }
    }

    /// So many bytes were handed to the kernel.
    pub fn note_sent(&mut self, bytes: usize, now: u64) {
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        self.since_sample = self.since_sample.saturating_add(bytes);
        self.since_idle = self.since_idle.saturating_add(bytes);
        // No crumbs: less than a segment waits for the next sample.
        self.room = self.room.saturating_sub(bytes);
        if self.room < self.path.segment {
            self.room = 0;
        }
        self.flight.note_sent(bytes);
        self.sent = now;
    }

    /// The kernel may take what it wants.
    fn is_open(&self) -> bool {
        self.known && self.unsent() >= MOST_UNSENT
    }

    /// The most unsent bytes, and the low-water mark.
    fn unsent(&self) -> u32 {
        let segments = match self.path.time_for(MORE_SEGMENTS * self.path.segment) {
            Some(time) if time <= MORE_SEGMENTS_TIME => MORE_SEGMENTS,
            _ => 1,
        };
        let most = self.path.within(UNSENT_TIME).max(self.path.segment.saturating_mul(segments)).clamp(2, MOST_UNSENT);
        // A rate is never quite the same; a call for each change would be a call for each sample.
        if self.low_water.abs_diff(most) < self.low_water / 4 && most < MOST_UNSENT { self.low_water } else { most }
    }

    fn change_low_water(&mut self, bytes: u32) -> Option<u32> {
        (bytes != self.low_water).then(|| {
            self.low_water = bytes;
            bytes
        })
    }

    /// A record can be deciphered when all of it has arrived, so it is one packet while the client waits for the first of
    /// a response, and on slow links no more than what is unsent at a time.
    fn record(&self) -> usize {
        let segment = if self.path.segment == 0 { USUAL_SEGMENT } else { self.path.segment };
        if self.since_idle < FIRST_BYTES {
            return (segment as usize).min(LONGEST_RECORD);
        }
        match self.pacing {
            Pacing::Adaptive => self.path.whole_segments(self.unsent()).max(segment as usize).min(LONGEST_RECORD),
            Pacing::Fixed(_) | Pacing::Off => LONGEST_RECORD,
        }
    }
}

/// The unsent bytes' time at the rate of the path, in microseconds.
///
/// We are woken at half of it. A turn of the event loop in which ten connections send a megabyte each takes a
/// millisecond or two; so the kernel has enough for the rest of the turn.
pub const UNSENT_TIME: u64 = 4_000;

/// Fewer than three segments are none when the kernel wakes us, since it sends whole ones. Where three take longer than
/// this, in microseconds, it is one: there the link's own queue lasts until we are awake.
const MORE_SEGMENTS: u32 = 3;
const MORE_SEGMENTS_TIME: u64 = 30_000;

/// The most unsent bytes, the same as the listeners': it answers thousands of peers that read nothing.
pub const MOST_UNSENT: u32 = 256 * 1024;

/// How often an open path is looked at: a hundred times a second at most, and not before a packet's worth of bytes of
/// the largest kind has gone; three microseconds in ten thousand.
const OPEN_TIME: u64 = 10_000;
const OPEN_BYTES: u32 = 64 * 1024;

/// What a sample said about windows holds so long, or for a round trip.
const SAMPLE_TIME: u64 = 20_000;

/// After a second of silence the client waits for something new; the kernel too has forgotten its window by then.
const IDLE_TIME: u64 = 1_000_000;

/// So much goes in small records at first, as h2o has it: four or five round trips of an opening window.
const FIRST_BYTES: u32 = 64 * 1024;

/// 2^14 bytes of content and their frame: header, content type, tag (RFC 8446 §5.2, with 16 bytes of tag).
const LONGEST_RECORD: usize = (1 << 14) + 22;

/// Ethernet's, with IPv6 and timestamps.
const USUAL_SEGMENT: u32 = 1428;

#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;
