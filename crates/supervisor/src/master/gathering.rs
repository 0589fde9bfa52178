//! Collecting a status report: the master requests a report of every generation.

use std::{
    collections::HashSet,
    time::{Duration, Instant},
};

use serow_net::time;
use tokio::sync::oneshot;

use super::control::Report;

/// A status report that is being collected.
#[derive(Debug)]
pub(super) struct Gathering {
    askers: Vec<oneshot::Sender<Report>>,
    /// The generations whose reports are missing.
    missing: HashSet<u32>,
    until: Instant,
}

impl Gathering {
    /// Starts collecting, for the first asker.
    pub(super) fn begin(asked: HashSet<u32>, asker: oneshot::Sender<Report>) -> Self {
        Self { askers: vec![asker], missing: asked, until: time::now() + LONGEST }
    }

    /// Adds an asker.
    pub(super) fn add(&mut self, asker: oneshot::Sender<Report>) {
        self.askers.push(asker);
    }

    /// This generation has reported, or has ended.
    pub(super) fn note(&mut self, pid: u32) {
        self.missing.remove(&pid);
    }

    /// Whether the report of this generation is missing.
    pub(super) fn misses(&self, pid: u32) -> bool {
        self.missing.contains(&pid)
    }

    /// The time left for the missing reports.
    pub(super) fn remaining(&self) -> Duration {
        self.until.saturating_duration_since(time::now())
    }

    /// Whether all have reported, or the time is over.
    pub(super) fn is_complete(&self) -> bool {
        self.missing.is_empty() || self.remaining().is_zero()
    }

    /// Sends the report to all askers.
    pub(super) fn answer(self, report: &Report) {
        for asker in self.askers {
            // The asker may have gone.
            let _ = asker.send(report.clone());
        }
    }
}

/// The maximum wait for a generation that hangs.
const LONGEST: Duration = Duration::from_millis(500);
