//! One server of an upstream, as all threads see it.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering},
};

use serow_client::Destination;
use serow_gateway::{LogLimit, WaitingQueue};
use serow_net::{Moment, monotonic};

use crate::{
    counters::Counters,
    health::Health,
    latency::Latency,
    outlier::Outlier,
    settings::{ServerSettings, UpstreamSettings},
};

/// A server. Its changing state is shared by all threads, without a lock.
#[derive(Debug)]
pub struct Server {
    /// Different for every server there has ever been in this process.
    number: u64,
    name: Arc<str>,
    settings: ServerSettings,
    destination: Destination,
    weight: AtomicU16,
    administration: AtomicU8,
    /// Since when that is wanted, in milliseconds.
    wanted_since: AtomicU64,
    /// The queue of requests that wait for this server and others.
    room: Arc<WaitingQueue>,
    /// When it came up again, in milliseconds; 0 if it was never down.
    came_up: AtomicU64,
    /// When it seemed to crash, in milliseconds plus one; 0 if it never did.
    crashed: AtomicU64,
    is_overdue: AtomicBool,
    pub(crate) health: Health,
    pub(crate) outlier: Outlier,
    pub(crate) load: Load,
    /// Warnings about requests here.
    pub(crate) warnings: LogLimit,
}

/// The state that each request changes, whichever thread forwards it: on cache lines of its own, since all threads read the rest of
/// a server for each request, also for those that go to another server.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Load {
    /// Requests in progress.
    active: AtomicU32,
    pub(crate) latency: Latency,
    pub(crate) counters: Counters,
}

// One pair of lines: those that change for a request come together.
const _: () = assert!(align_of::<Load>() == 128 && size_of::<Load>() == 128);

/// The administrative state of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Administration {
    /// It gets requests if it is healthy.
    Up,
    /// It finishes its requests and keeps its sessions; it gets no other requests.
    Draining,
    /// It gets no requests.
    Down,
}

impl Server {
    /// A server of an upstream with these settings, at this destination.
    pub(crate) fn new(
        settings: ServerSettings,
        destination: Destination,
        upstream: &UpstreamSettings,
        room: Arc<WaitingQueue>,
    ) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self {
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            name: destination.to_string().into(),
            destination,
            weight: AtomicU16::new(settings.weight),
            settings,
            administration: AtomicU8::new(Administration::Up as u8),
            wanted_since: AtomicU64::new(0),
            room,
            came_up: AtomicU64::new(0),
            crashed: AtomicU64::new(0),
            is_overdue: AtomicBool::new(false),
            health: Health::new(upstream.check.as_ref()),
            outlier: Outlier::default(),
            load: Load::default(),
            warnings: LogLimit::default(),
        }
    }

    /// It seems to have crashed.
    pub(crate) fn note_crash(&self) {
        self.crashed.store(monotonic().as_millis() as u64 + 1, Ordering::Relaxed);
    }

    /// A response is overdue. Where that is of importance, it gets no more requests.
    pub(crate) fn note_overdue(&self, upstream: &UpstreamSettings) {
        if upstream.holds_overdue {
            self.administration.store(Administration::Draining as u8, Ordering::Relaxed);
            self.is_overdue.store(true, Ordering::Relaxed);
        }
    }

    /// Whether a response was overdue, in upstreams that hold such servers.
    #[must_use]
    pub fn is_overdue(&self) -> bool {
        self.is_overdue.load(Ordering::Relaxed)
    }

    /// Whether it seemed to crash a moment ago, so that other threads may not know yet.
    pub(crate) fn has_just_crashed(&self) -> bool {
        let crashed = self.crashed.load(Ordering::Relaxed);
        crashed > 0 && (monotonic().as_millis() as u64).saturating_sub(crashed - 1) < CRASH_MILLISECONDS
    }

    /// Different for every server there has ever been in this process.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Its address, as the status and the logs have it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The same, shared.
    pub(crate) fn shared_name(&self) -> &Arc<str> {
        &self.name
    }

    /// Its initial settings.
    #[must_use]
    pub fn settings(&self) -> &ServerSettings {
        &self.settings
    }

    /// Its destination.
    pub(crate) fn destination(&self) -> &Destination {
        &self.destination
    }

    /// Its share among the others.
    #[must_use]
    pub fn weight(&self) -> u16 {
        self.weight.load(Ordering::Relaxed)
    }

    /// Changes its share among the others.
    pub(crate) fn set_weight(&self, weight: u16) {
        self.weight.store(weight, Ordering::Relaxed);
    }

    /// The administrative state.
    #[must_use]
    pub fn administration(&self) -> Administration {
        match self.administration.load(Ordering::Relaxed) {
            0 => Administration::Up,
            1 => Administration::Draining,
            _ => Administration::Down,
        }
    }

    /// Sets the administrative state. A server that comes up starts slowly, if that is set.
    pub(crate) fn set_administration(&self, administration: Administration, now: Moment) {
        let before = self.administration.swap(administration as u8, Ordering::Relaxed);
        if before != administration as u8 {
            self.wanted_since.store(now.milliseconds(), Ordering::Relaxed);
        }
        if administration == Administration::Up && before == Administration::Down as u8 {
            self.note_up(now);
        }
    }

    /// When the administrative state was set; the start of the clock if it was never changed.
    pub(crate) fn wanted_since(&self) -> Moment {
        Moment::from_milliseconds(self.wanted_since.load(Ordering::Relaxed))
    }

    /// Records that it came up again.
    pub(crate) fn note_up(&self, now: Moment) {
        self.came_up.store(now.milliseconds().max(1), Ordering::Relaxed);
    }

    /// When it came up again, if it was ever down.
    pub(crate) fn came_up(&self) -> Option<Moment> {
        Some(self.came_up.load(Ordering::Relaxed)).filter(|&at| at != 0).map(Moment::from_milliseconds)
    }

    /// Requests that it has, from all threads.
    #[must_use]
    pub fn active(&self) -> u32 {
        self.load.active.load(Ordering::Relaxed)
    }

    /// Requests that it has had, those that failed included.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.load.counters.requests.value()
    }

    /// Counts a request; returns whether the server may get it. Either way, [`Self::discount`] must follow.
    pub(crate) fn count(&self) -> bool {
        let before = self.load.active.fetch_add(1, Ordering::Relaxed);
        self.settings.max_requests.is_none_or(|most| before < most)
    }

    /// A request that was [counted](Self::count) is over.
    pub(crate) fn discount(&self) {
        self.load.active.fetch_sub(1, Ordering::Relaxed);
        if self.settings.max_requests.is_some() {
            self.room.note_left();
        }
    }

    /// Whether it has as many requests as it may.
    pub(crate) fn is_full(&self) -> bool {
        self.settings.max_requests.is_some_and(|most| self.active() >= most)
    }
}

/// How long a process that crashes is known to some only: its end is noticed within milliseconds.
const CRASH_MILLISECONDS: u64 = 1000;
