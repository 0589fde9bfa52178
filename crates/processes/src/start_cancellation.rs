//! The end of a start that nobody waits for any more.

use std::sync::Arc;

use tokio::sync::watch;

/// Cancels the start of an application from another thread: a server that is stopped need not wait until its application
/// is loaded. Clones cancel the same start.
#[derive(Clone, Debug)]
pub struct StartCancellation {
    is_cancelled: Arc<watch::Sender<bool>>,
}

impl Default for StartCancellation {
    fn default() -> Self {
        Self { is_cancelled: Arc::new(watch::Sender::new(false)) }
    }
}

impl StartCancellation {
    /// Cancels it: processes that were started are killed. Afterwards, this has no effect.
    pub fn cancel(&self) {
        self.is_cancelled.send_replace(true);
    }

    /// Waits for that.
    pub async fn cancelled(&self) {
        // The sender lives as long as this.
        let _ = self.is_cancelled.subscribe().wait_for(|is_cancelled| *is_cancelled).await;
    }
}
