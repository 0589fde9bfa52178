//! One php-fpm: its master, and the pools of its children.

use std::time::Duration;

use tokio::time::Instant;

use crate::fpm::{master::Master, pool::Pool, settings::FpmSettings};

/// A php-fpm and its children.
#[derive(Debug)]
pub(crate) struct Instance {
    pub(crate) number: u64,
    pub(crate) master: Master,
    pub(crate) life: Life,
    pub(crate) pools: Vec<Pool>,
    pub(crate) born: Instant,
    /// Whether its children get requests as soon as they are ready: all of them were ready once.
    pub(crate) has_begun: bool,
}

/// How far a php-fpm is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Life {
    /// It runs.
    Running,
    /// Its children finish their requests, since then; the master may have exited.
    Draining(Instant),
    /// It stops, since then.
    Stopping(Instant),
    /// All is over.
    Over,
}

impl Instance {
    /// Whether all children are idle or serve.
    pub(crate) fn is_ready(&self) -> bool {
        self.pools.iter().all(|pool| pool.is_ready() || pool.serving().is_some())
    }

    /// Its children finish their requests.
    pub(crate) fn drain(&mut self) {
        self.life = Life::Draining(Instant::now());
        self.pools.iter_mut().for_each(Pool::retire);
    }

    /// Returns whether the list of servers has changed.
    pub(crate) fn look(&mut self, settings: &FpmSettings) -> bool {
        let mut has_changed = false;
        for pool in &mut self.pools {
            has_changed |= pool.look(settings, &self.master);
        }
        match self.life {
            Life::Running | Life::Over => {}
            Life::Draining(since) => {
                let is_idle = self.pools.iter().all(Pool::is_idle);
                if is_idle || since.elapsed() >= settings.run.grace {
                    self.stop(is_idle);
                }
            }
            Life::Stopping(since) if since.elapsed() >= LAST_GRACE => {
                self.master.kill();
                self.life = Life::Over;
            }
            Life::Stopping(_) => {}
        }
        if matches!(self.life, Life::Over) {
            self.pools.iter().for_each(Pool::take_back);
        }
        has_changed
    }

    /// Stops php-fpm; what came to an idle child at the last moment goes elsewhere.
    fn stop(&mut self, is_idle: bool) {
        self.pools.iter().for_each(Pool::take_back);
        match is_idle && self.master.is_running() {
            true => {
                self.master.terminate();
                self.life = Life::Stopping(Instant::now());
            }
            false => {
                self.master.kill();
                self.life = Life::Over;
            }
        }
    }
}

/// How long an idle php-fpm may take to exit.
const LAST_GRACE: Duration = Duration::from_secs(2);
