//! Signatures that take long are verified on a thread of their own.

use std::{
    fmt, io,
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{SyncSender, sync_channel},
    },
};

use serow_net::cores::spawn_unpinned;
use tokio::sync::oneshot;

use crate::jwt::{
    error::TokenError,
    verifier::{Token, VerificationTask, Verifier},
};

/// A thread for signatures that take long, with a queue in front of it. It is started when the first one comes, and ends
/// when this is dropped.
#[derive(Default)]
pub struct VerificationThread {
    queue: Mutex<Option<SyncSender<Work>>>,
}

struct Work {
    task: VerificationTask,
    verifier: Arc<Verifier>,
    now: u64,
    outcome: oneshot::Sender<Result<Arc<Token>, TokenError>>,
}

/// Why a token is not verified now: so many others wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VerificationBusy;

impl VerificationThread {
    /// Verifies a token on the thread. The future ends with nothing if the thread has ended.
    ///
    /// # Errors
    ///
    /// The queue is full, or the system refuses a thread.
    pub fn verify(
        &self,
        task: VerificationTask,
        verifier: &Arc<Verifier>,
        now: u64,
    ) -> Result<oneshot::Receiver<Result<Arc<Token>, TokenError>>, VerificationBusy> {
        let (outcome, receiver) = oneshot::channel();
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let sender = match queue.as_ref() {
            Some(sender) => sender,
            None => queue.insert(start().map_err(|error| {
                tracing::error!("tokens with large keys are refused: the system refuses a thread: {error}");
                VerificationBusy
            })?),
        };
        let work = Work { task, verifier: Arc::clone(verifier), now, outcome };
        sender.try_send(work).map_err(|_| VerificationBusy)?;
        Ok(receiver)
    }
}

fn start() -> io::Result<SyncSender<Work>> {
    let (sender, receiver) = sync_channel::<Work>(MAX_WAITING);
    // It is started by the worker that needs it first.
    spawn_unpinned("serow-tokens", move || {
        for Work { task, verifier, now, outcome } in receiver {
            // A client that has gone has closed the outcome, and needs no verification.
            if !outcome.is_closed() {
                let _ = outcome.send(task.run(&verifier, now));
            }
        }
    })?;
    Ok(sender)
}

impl fmt::Debug for VerificationThread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VerificationThread").finish_non_exhaustive()
    }
}

/// A tenth of a second with the largest keys. More would be an attack on our memory, and on other clients' time.
const MAX_WAITING: usize = 256;
