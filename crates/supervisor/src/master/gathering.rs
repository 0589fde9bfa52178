//! A report that is being put together: all generations are asked how they are.

use std::{
    collections::HashSet,
    time::{Duration, Instant},
};

use tokio::sync::oneshot;

use super::control::Report;

/// A report that is being put together.
#[derive(Debug)]
pub(super) struct Gathering {
    askers: Vec<oneshot::Sender<Report>>,
    /// Who has not said yet how it is.
    missing: HashSet<u32>,
    until: Instant,
}

impl Gathering {
    /// These were asked; somebody wants to know.
    pub(super) fn begin(asked: HashSet<u32>, asker: oneshot::Sender<Report>) -> Self {
        Self { askers: vec![asker], missing: asked, until: Instant::now() + LONGEST }
    }

    /// Somebody else wants to know.
    pub(super) fn add(&mut self, asker: oneshot::Sender<Report>) {
        self.askers.push(asker);
    }

    /// This one has said how it is, or will never.
    pub(super) fn note(&mut self, pid: u32) {
        self.missing.remove(&pid);
    }

    /// Whether this one has not said how it is.
    pub(super) fn misses(&self, pid: u32) -> bool {
        self.missing.contains(&pid)
    }

    /// How much longer is waited for those who are missing.
    pub(super) fn remaining(&self) -> Duration {
        self.until.saturating_duration_since(Instant::now())
    }

    /// Whether all have said how they are, or have had the time to.
    pub(super) fn is_complete(&self) -> bool {
        self.missing.is_empty() || self.remaining().is_zero()
    }

    /// Gives the report to who wants it.
    pub(super) fn answer(self, report: &Report) {
        for asker in self.askers {
            // Who asked may have gone.
            let _ = asker.send(report.clone());
        }
    }
}

/// A generation that hangs is not waited for by who asks for the status.
const LONGEST: Duration = Duration::from_millis(500);
