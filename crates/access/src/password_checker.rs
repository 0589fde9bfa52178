//! Passwords are checked on threads of their own: a check takes longer than thousands of requests.

use std::{
    collections::{HashMap, VecDeque},
    fmt, io,
    net::IpAddr,
    num::NonZeroUsize,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
};

use rustix::process::{getpriority_process, setpriority_process};
use serow_message::ClientNetwork;
use tokio::sync::oneshot;
use zeroize::Zeroizing;

use crate::{
    password_counts::{PasswordCounts, PasswordOutcome},
    password_hash::PasswordHash,
};

/// Threads that check passwords, with a queue in front of them. Next to busy threads, each gets a tenth of a processor.
pub struct PasswordChecker {
    shared: Arc<SharedQueue>,
    threads: Vec<JoinHandle<()>>,
}

/// Puts passwords into the queue.
#[derive(Clone)]
pub struct PasswordQueue {
    shared: Arc<SharedQueue>,
}

/// Why a password is not checked now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// So many of this client's wait already.
    Client,
    /// The queue is full.
    Queue,
}

impl fmt::Debug for PasswordQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PasswordQueue").finish_non_exhaustive()
    }
}

#[derive(Default)]
struct SharedQueue {
    queue: Mutex<Queue>,
    filled: Condvar,
    counts: PasswordCounts,
}

#[derive(Default)]
struct Queue {
    checks: VecDeque<Check>,
    /// How many of a client's wait or are being checked.
    by_client: HashMap<Option<ClientNetwork>, usize>,
    has_ended: bool,
}

struct Check {
    client: Option<ClientNetwork>,
    hash: Arc<PasswordHash>,
    password: Zeroizing<Vec<u8>>,
    outcome: oneshot::Sender<bool>,
}

impl PasswordChecker {
    /// Starts its threads: one for each four processors.
    ///
    /// # Errors
    ///
    /// A thread cannot be started.
    pub fn start(queue: &PasswordQueue) -> io::Result<Self> {
        let count = thread::available_parallelism().map_or(1, NonZeroUsize::get).div_ceil(4);
        let mut this = Self { shared: Arc::clone(&queue.shared), threads: Vec::new() };
        for _ in 0..count {
            let shared = Arc::clone(&this.shared);
            let thread = thread::Builder::new().name("serow-password".to_owned()).spawn(move || shared.run())?;
            this.threads.push(thread);
        }
        Ok(this)
    }
}

impl Drop for PasswordChecker {
    fn drop(&mut self) {
        let mut queue = self.shared.queue();
        queue.has_ended = true;
        queue.checks.clear();
        drop(queue);
        self.shared.filled.notify_all();
        for thread in self.threads.drain(..) {
            // A panic of the thread is in the log.
            let _ = thread.join();
        }
    }
}

impl PasswordQueue {
    /// An empty queue.
    #[must_use]
    pub fn new() -> Self {
        Self { shared: Arc::default() }
    }

    /// How many passwords were checked.
    #[must_use]
    pub fn counts(&self) -> &PasswordCounts {
        &self.shared.counts
    }

    /// Has a password checked against a hash; the outcome is lost if the threads end meanwhile.
    pub(crate) fn check(
        &self,
        client: Option<IpAddr>,
        hash: Arc<PasswordHash>,
        password: Zeroizing<Vec<u8>>,
    ) -> Result<oneshot::Receiver<bool>, Refused> {
        let mut queue = self.shared.queue();
        if queue.checks.len() >= MAX_WAITING {
            drop(queue);
            self.counts().note(PasswordOutcome::Busy, client);
            return Err(Refused::Queue);
        }
        let network = client.map(ClientNetwork::of);
        let waiting = queue.by_client.entry(network).or_default();
        if *waiting >= MAX_OF_CLIENT {
            drop(queue);
            self.counts().note(PasswordOutcome::TooMany, client);
            return Err(Refused::Client);
        }
        *waiting += 1;
        let (outcome, receiver) = oneshot::channel();
        queue.checks.push_back(Check { client: network, hash, password, outcome });
        drop(queue);
        self.shared.filled.notify_one();
        Ok(receiver)
    }
}

impl Default for PasswordQueue {
    fn default() -> Self {
        Self::new()
    }
}

impl SharedQueue {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self) {
        // Of this thread only, as Linux has it. Without it, checks compete with requests.
        let priority = getpriority_process(None).map(|own| (own + LOWER_BY).min(MIN_PRIORITY));
        if let Err(error) = priority.and_then(|priority| setpriority_process(None, priority)) {
            tracing::debug!(%error, "the thread that checks passwords keeps its priority");
        }
        while let Some(check) = self.next() {
            // A client that has left does not need the outcome.
            if !check.outcome.is_closed() {
                let _ = check.outcome.send(check.hash.verify(&check.password));
            }
            let mut queue = self.queue();
            if let Some(waiting) = queue.by_client.get_mut(&check.client) {
                *waiting -= 1;
                if *waiting == 0 {
                    queue.by_client.remove(&check.client);
                }
            }
        }
    }

    /// Waits for the next check; nothing at the end.
    fn next(&self) -> Option<Check> {
        let mut queue = self.queue();
        loop {
            if queue.has_ended {
                return None;
            }
            if let Some(check) = queue.checks.pop_front() {
                return Some(check);
            }
            queue = self.filled.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// A client has one password, and a browser asks for some resources at once. A client that tries many passwords delays itself
/// and not others.
const MAX_OF_CLIENT: usize = 8;

/// At four checks in a second, the last one waits for a minute.
const MAX_WAITING: usize = 256;

/// nice(2): a tenth of the share of the threads that handle requests (sched(7)), so that checks do not slow these down.
/// Lower by 19 it would be a seventieth, and a login on a busy machine would take a minute.
const LOWER_BY: i32 = 10;

/// The lowest priority that Linux has.
const MIN_PRIORITY: i32 = 19;

#[cfg(test)]
mod tests {
    use super::*;

    fn hash() -> Arc<PasswordHash> {
        Arc::new(PasswordHash::parse("{SHA}W8r/fyL/UzygmbNAjq2HbA67qac=").unwrap())
    }

    fn client(number: u16) -> Option<IpAddr> {
        let [high, low] = number.to_be_bytes();
        Some([192, 0, high, low].into())
    }

    #[test]
    fn passwords_are_checked() {
        let queue = PasswordQueue::new();
        let checker = PasswordChecker::start(&queue).unwrap();
        for (password, expected) in [("open sesame", true), ("open", false)] {
            let password = Zeroizing::new(password.as_bytes().to_vec());
            let outcome = queue.check(client(1), hash(), password).unwrap();
            assert_eq!(outcome.blocking_recv(), Ok(expected));
        }
        drop(checker);
        assert!(queue.shared.queue().by_client.is_empty());
    }

    #[test]
    fn all_addresses_of_an_ipv6_client_count_together() {
        let queue = PasswordQueue::new();
        let check = |address: &str| queue.check(address.parse().ok(), hash(), Zeroizing::default());
        let waiting: Vec<_> = (1..=8).map(|number| check(&format!("2001:db8::{number}")).unwrap()).collect();
        assert_eq!(check("2001:db8::ffff:9").unwrap_err(), Refused::Client);
        assert!(check("2001:db8:0:1::9").is_ok());
        let _v4: Vec<_> = (0..8).map(|_| check("192.0.2.1").unwrap()).collect();
        assert_eq!(check("::ffff:192.0.2.1").unwrap_err(), Refused::Client);
        assert_eq!(waiting.len(), 8);
    }

    #[test]
    fn the_queue_is_bounded_for_each_client_and_for_all() {
        let queue = PasswordQueue::new();
        let check = |number: u16| queue.check(client(number), hash(), Zeroizing::default());
        let mut waiting: Vec<_> = (0..8).map(|_| check(0).unwrap()).collect();
        assert_eq!(check(0).unwrap_err(), Refused::Client);
        waiting.extend((8..256).map(|number| check(number).unwrap()));
        assert_eq!(check(1000).unwrap_err(), Refused::Queue);
        // Those who wait when the threads end are told.
        drop(PasswordChecker { shared: Arc::clone(&queue.shared), threads: Vec::new() });
        assert!(waiting.remove(0).blocking_recv().is_err());
    }
}
