//! Reloads, and adoptions: the serving generation takes over the settings in its process.
//!
//! ```text
//!               reload                     adopted: the reload is done
//!  one serves ──────────▶ an adoption is ──────────────────────────────▶ one serves
//!                          pending      │  refused: only reported
//!                                       │
//!                                       └──▶ another generation starts, for the same requests
//!                                         it needs a process, does not answer, or crashes
//! ```

use std::{mem, time::Duration};

use super::{Reason, Running, ServerGenerations};
use crate::master::{
    action::Action,
    control::{ProcessOfReload, Reloaded, WantedProcess},
    event::NotAdopted,
};

/// Settings that the serving generation was asked to adopt.
#[derive(Debug)]
pub(super) struct Adoption {
    number: u64,
    pid: u32,
    since: Duration,
    /// Whether the generation has said that it began.
    has_begun: bool,
    asking: ReloadRequests,
}

/// Requests for one reload.
#[derive(Debug, Default)]
pub(super) struct ReloadRequests {
    /// The number of each to answer; `None` for a signal.
    asking: Vec<Option<u64>>,
    process: NextProcess,
}

/// The process that is to serve after a reload.
#[derive(Debug, Default)]
enum NextProcess {
    /// The serving one, if it can.
    #[default]
    IfNeeded,
    /// A new one, as requested.
    New,
    /// A new one, since the serving one did not adopt the settings, for this reason.
    Needed(String),
}

impl ServerGenerations {
    /// Whether the process was asked for the adoption with this number, and has not answered.
    pub(crate) fn awaits_adoption(&self, pid: u32, number: u64) -> bool {
        self.adoption.as_ref().is_some_and(|adoption| (adoption.pid, adoption.number) == (pid, number))
    }

    /// Whether the pending adoption is for this request only.
    pub(crate) fn is_adoption_for(&self, id: u64) -> bool {
        self.adoption.as_ref().is_some_and(|adoption| adoption.asking.asking == [Some(id)])
    }

    /// When the pending adoption is given up.
    pub(super) fn adoption_deadline(&self) -> Option<Duration> {
        self.adoption.as_ref().map(|adoption| {
            let timeout = if adoption.has_begun { ADOPTION_TIMEOUT } else { BEGIN_TIMEOUT };
            adoption.since.saturating_add(timeout)
        })
    }

    /// The process reads the settings of the adoption with this number.
    pub(super) fn note_begin_of_adoption(&mut self, pid: u32, number: u64) {
        let adoption = self.adoption.as_mut().filter(|adoption| (adoption.pid, adoption.number) == (pid, number));
        adoption.into_iter().for_each(|adoption| adoption.has_begun = true);
    }

    /// Begins the reload that is due.
    pub(super) fn begin_reload(&mut self, now: Duration) {
        let adopting = self.serving.as_ref().filter(|running| running.adopts && self.asking.leaves_the_choice());
        match adopting.map(|running| running.pid) {
            // It waits for the end of the reload before: then no other generation has to be waited for.
            Some(_) if self.handover.is_some() => {}
            Some(pid) => {
                self.adoptions += 1;
                let (number, asking) = (self.adoptions, mem::take(&mut self.asking));
                self.adoption = Some(Adoption { number, pid, since: now, has_begun: false, asking });
                self.actions.push_back(Action::Adopt(number, pid));
            }
            None => {
                let asking = mem::take(&mut self.asking);
                self.start(now, Reason::Reload(asking));
            }
        }
    }

    pub(super) fn handle_adopted(&mut self, pid: u32, number: u64) {
        let Some(asking) = self.end_adoption(pid, number) else { return };
        let Some(Running { number, .. }) = self.serving else { return };
        self.actions.push_back(Action::Adopted(number, pid));
        let reloaded = Reloaded { number, process: ProcessOfReload::Same, still_accepts: None };
        self.actions.extend(asking.ids().map(|id| Action::Answer(id, Ok(reloaded.clone()))));
    }

    pub(super) fn handle_not_adopted(&mut self, pid: u32, number: u64, obstacle: NotAdopted) {
        let Some(asking) = self.end_adoption(pid, number) else { return };
        match obstacle {
            NotAdopted::NeedsProcess(reason) => self.asking.put_first(asking, reason),
            NotAdopted::Refused(reason) => {
                self.actions.push_back(Action::NotAdopted(reason.clone()));
                self.refuse(asking.ids(), &reason);
            }
        }
    }

    /// Has another generation start in place of the pending adoption, if there is one.
    pub(super) fn give_up_adoption(&mut self, reason: &str) {
        if let Some(adoption) = self.adoption.take() {
            self.asking.put_first(adoption.asking, reason.to_owned());
        }
    }

    /// The requests of the pending adoption, if this process was asked for it.
    fn end_adoption(&mut self, pid: u32, number: u64) -> Option<ReloadRequests> {
        let adoption = self.adoption.take_if(|adoption| (adoption.pid, adoption.number) == (pid, number));
        adoption.map(Adoption::end)
    }
}

impl Adoption {
    /// Its requests.
    pub(super) fn end(self) -> ReloadRequests {
        self.asking
    }
}

impl ReloadRequests {
    pub(super) fn is_empty(&self) -> bool {
        self.asking.is_empty()
    }

    /// The numbers of those that are answered.
    pub(super) fn ids(&self) -> impl Iterator<Item = u64> {
        self.asking.iter().copied().flatten()
    }

    /// Why the serving generation did not adopt the settings, if it was asked to.
    pub(super) fn obstacle(&self) -> Option<String> {
        match &self.process {
            NextProcess::Needed(reason) => Some(reason.clone()),
            NextProcess::IfNeeded | NextProcess::New => None,
        }
    }

    pub(super) fn add(&mut self, asking: Option<u64>, process: WantedProcess) {
        self.asking.push(asking);
        if process == WantedProcess::New && self.leaves_the_choice() {
            self.process = NextProcess::New;
        }
    }

    fn leaves_the_choice(&self) -> bool {
        matches!(self.process, NextProcess::IfNeeded)
    }

    /// Adds earlier requests, which need a new process for this reason.
    fn put_first(&mut self, earlier: Self, reason: String) {
        self.asking.splice(0..0, earlier.asking);
        self.process = NextProcess::Needed(reason);
    }
}

/// How long the serving process may take to begin, which takes as long as a command does: one that hangs does not delay a
/// reload for longer.
const BEGIN_TIMEOUT: Duration = Duration::from_secs(2);

/// How long an adoption may take. Reading settings and certificates takes milliseconds; a new process takes the place of
/// one that hangs.
const ADOPTION_TIMEOUT: Duration = Duration::from_secs(30);
