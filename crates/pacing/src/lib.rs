//! How many bytes to hand to the kernel, and when: so few that urgent bytes do not wait behind others, and so many that
//! the link never runs dry.
//!
//! Priorities among responses gain nothing when the kernel has already taken a megabyte of the least urgent one.
//! The bytes that it has taken are in two places: *unsent*, in the socket, and *in flight*, which on a slow link means
//! in a queue before it. [`Pacer`] always bounds the first, and the second for bytes that the client itself gave a
//! lower urgency ([`Demand::LessUrgent`]). It does no I/O and reads no clock: the caller passes the time and the
//! kernel's [`TcpInfo`].
//!
//! ```text
//!  Pacer ── allowance ──▶ │ unsent │ ──congestion window──▶ │ queue │═══link═══▶ client
//!                         └── at most 4 ms of the rate,      └── of less urgent bytes at most 60 ms
//!                             or one to three segments           of the rate, and two segments
//! ```
//!
//! # The unsent bytes
//!
//! The kernel sends when acknowledgements come, two segments for each, without us; between two of our turns it lives on
//! the unsent bytes. So there are [`UNSENT_TIME`] of them at the rate at which the path delivers, at least a segment,
//! so that there is something to wake us for, and at most [`MAX_UNSENT`]. The same number is the socket's low-water
//! mark: the kernel wakes us at half of it. On a slow link a segment leaves when the client acknowledges two, so what
//! becomes urgent waits for two segments' time at most.
//!
//! [`MAX_UNSENT`] is what the listeners set for every connection, against thousands of peers that read nothing. It
//! stays the bound where there is nothing to choose, in HTTP/1 and with [`Pacing::Off`]; pacing only ever goes below
//! it. A path so fast that it would go above (65 MB/s) is *open*: nothing can be gained, the kernel takes what it
//! wants, and TCP_INFO is read a hundred times a second at most. On the loopback device, pacing changes neither time nor
//! throughput.
//!
//! Bytes that the congestion window lets out at once do not count: an allowance is the window's room and the unsent
//! bytes.
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
//!     } else if let Some(time) = allowance.retry_after {
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
mod flight_ceiling;
mod histogram;
mod path;
mod tcp_info;

use core::time::Duration;

pub use self::{delay::QueueDelay, flight_ceiling::FlightCeiling, histogram::DelayHistogram, tcp_info::TcpInfo};
use self::{flight::Flight, path::Path};

/// How the unsent bytes of connections with several concurrent responses are bounded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pacing {
    /// By the measured rate of the path.
    #[default]
    Adaptive,
    /// By so many bytes (TCP_NOTSENT_LOWAT) on every path.
    Fixed(u32),
    /// By the listener's setting.
    Off,
}

/// The urgency of the bytes that would be sent next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Demand {
    /// As soon as possible: urgency 2 or less (RFC 9218 §4.1), or the client sent no priority.
    Urgent,
    /// The client explicitly requested urgency 3 or more.
    LessUrgent,
}

/// How many bytes may be sent now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allowance {
    /// So many bytes may be handed to the kernel, including TLS overhead; `usize::MAX` means no limit. If it is 0, call
    /// [`Pacer::allow`] again after `retry_after`, or else when `Socket::poll_drained` is ready.
    pub bytes: usize,
    /// The longest TLS record, as it is on the wire.
    pub record: usize,
    /// Set it with `Socket::set_unsent_low_water` before sending or waiting.
    pub low_water: Option<u32>,
    /// No event will announce room; try again after this time.
    pub retry_after: Option<Duration>,
}

/// The pacing of one connection. Times are microseconds since any fixed moment.
#[derive(Clone, Debug)]
pub struct Pacer {
    pacing: Pacing,
    path: Path,
    flight: Flight,
    /// Time of the last sample.
    sampled: u64,
    /// When bytes were last handed over.
    sent: u64,
    /// Bytes handed over since the last sample.
    since_sample: u32,
    /// Bytes handed over since the connection was idle.
    since_idle: u32,
    /// Bytes that may be handed over before the next sample, whatever the demand.
    room: u32,
    /// The socket's low-water mark as we set it; 0 while it is the listener's.
    low_water: u32,
    known: bool,
}

impl Pacer {
    /// For a new connection.
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
            // The room that the sample found is used up, or so old that the windows have changed.
            self.room == 0 || age >= SAMPLE_TIME.max(self.path.round_trip.into()) || self.flight.waits()
        }
    }

    /// Takes a sample of the kernel's state.
    pub fn handle_sample(&mut self, info: &TcpInfo, now: u64) {
        self.path.handle_sample(info);
        self.sampled = now;
        self.since_sample = 0;
        self.known = true;
        let most = self.unsent();
        // The kernel's own condition for waking us: otherwise we would wait for an event that never comes.
        self.room = if info.unsent.saturating_mul(2) < most {
            (most - info.unsent).saturating_add(info.window_room())
        } else {
            0
        };
        self.flight.handle_sample(&self.path, info.in_flight().saturating_add(info.unsent), now);
    }

    /// How many bytes of this demand may be handed over now.
    pub fn allow(&mut self, demand: Demand, now: u64) -> Allowance {
        if now.saturating_sub(self.sent) >= IDLE_TIME {
            self.since_idle = 0;
        }
        let record = self.record();
        let unlimited = Allowance { bytes: usize::MAX, record, low_water: None, retry_after: None };
        match self.pacing {
            Pacing::Off => return unlimited,
            Pacing::Fixed(bytes) => return Allowance { low_water: self.change_low_water(bytes.max(1)), ..unlimited },
            Pacing::Adaptive => {}
        }
        if demand == Demand::LessUrgent {
            let room = self.flight.room(&self.path, now);
            if room < self.path.segment {
                return Allowance { bytes: 0, retry_after: Some(self.flight.wait(&self.path, now)), ..unlimited };
            }
            if room < self.room || (self.is_open() && room < u32::MAX) {
                return Allowance { bytes: self.path.whole_segments(room), ..unlimited };
            }
        }
        if self.is_open() {
            // If it was never set, the listener's value holds, which is the same.
            let low_water = if self.low_water == 0 { None } else { self.change_low_water(MAX_UNSENT) };
            return Allowance { low_water, ..unlimited };
        }
        if self.room > 0 {
            return Allowance { bytes: self.room as usize, ..unlimited };
        }
        // Only a connection that waits needs the mark: one with small responses saves the call.
        Allowance { bytes: 0, low_water: self.change_low_water(self.unsent()), ..unlimited }
    }

    /// Notes that so many bytes were handed to the kernel.
    pub fn note_sent(&mut self, bytes: usize, now: u64) {
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        self.since_sample = self.since_sample.saturating_add(bytes);
        self.since_idle = self.since_idle.saturating_add(bytes);
        // Less than a segment waits for the next sample.
        self.room = self.room.saturating_sub(bytes);
        if self.room < self.path.segment {
            self.room = 0;
        }
        self.flight.note_sent(bytes);
        self.sent = now;
    }

    /// Whether the kernel may take any number of bytes.
    fn is_open(&self) -> bool {
        self.known && self.unsent() >= MAX_UNSENT
    }

    /// The most unsent bytes, and the low-water mark.
    fn unsent(&self) -> u32 {
        let segments = match self.path.time_for(MORE_SEGMENTS * self.path.segment) {
            Some(time) if time <= MORE_SEGMENTS_TIME => MORE_SEGMENTS,
            _ => 1,
        };
        let most = self.path.within(UNSENT_TIME).max(self.path.segment.saturating_mul(segments)).clamp(2, MAX_UNSENT);
        // A rate is never quite the same; a call for each change would be a call for each sample.
        if self.low_water.abs_diff(most) < self.low_water / 4 && most < MAX_UNSENT { self.low_water } else { most }
    }

    fn change_low_water(&mut self, bytes: u32) -> Option<u32> {
        (bytes != self.low_water).then(|| {
            self.low_water = bytes;
            bytes
        })
    }

    /// A record can be deciphered when all of it has arrived, so it is one packet while the client waits for the first
    /// of a response, and on slow links no more than what is unsent at a time.
    fn record(&self) -> usize {
        let segment = if self.path.segment == 0 { USUAL_SEGMENT } else { self.path.segment };
        if self.since_idle < FIRST_BYTES {
            return (segment as usize).min(MAX_RECORD_LENGTH);
        }
        match self.pacing {
            Pacing::Adaptive => self.path.whole_segments(self.unsent()).max(segment as usize).min(MAX_RECORD_LENGTH),
            Pacing::Fixed(_) | Pacing::Off => MAX_RECORD_LENGTH,
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
pub const MAX_UNSENT: u32 = 256 * 1024;

/// How often an open path is looked at: a hundred times a second at most, and not before a packet's worth of bytes of
/// the largest kind has gone; three microseconds in ten thousand.
const OPEN_TIME: u64 = 10_000;
const OPEN_BYTES: u32 = 64 * 1024;

/// The windows of a sample hold for so long, or for a round trip if that is longer.
const SAMPLE_TIME: u64 = 20_000;

/// After a second of silence the client waits for something new; the kernel too has forgotten its window by then.
const IDLE_TIME: u64 = 1_000_000;

/// So much goes in small records at first, as h2o has it: four or five round trips of an opening window.
const FIRST_BYTES: u32 = 64 * 1024;

/// 2^14 bytes of content and their frame: header, content type, tag (RFC 8446 §5.2, with 16 bytes of tag).
const MAX_RECORD_LENGTH: usize = (1 << 14) + 22;

/// Ethernet's, with IPv6 and timestamps.
const USUAL_SEGMENT: u32 = 1428;

#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;
