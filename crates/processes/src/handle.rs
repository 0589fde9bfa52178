//! Commands to a worker manager.

use std::time::Duration;

use tokio::sync::{
    mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
    oneshot,
};

/// A command to a worker manager.
#[derive(Debug)]
pub(crate) enum Command {
    /// Reload the application.
    Reload(oneshot::Sender<Result<(), String>>),
    /// That all processes end, within this time.
    Stop(Duration),
}

/// A handle to a worker manager.
#[derive(Clone, Debug)]
pub(crate) struct ManagerHandle {
    commands: UnboundedSender<Command>,
}

impl ManagerHandle {
    /// A handle, and the receiver of its commands.
    pub(crate) fn new() -> (Self, UnboundedReceiver<Command>) {
        let (commands, receiver) = unbounded_channel();
        (Self { commands }, receiver)
    }

    /// Reloads the application; the result arrives when new processes have taken over, or failed to.
    pub(crate) fn reload(&self) -> oneshot::Receiver<Result<(), String>> {
        let (answer, answered) = oneshot::channel();
        // A worker manager that has stopped drops the sender, which is a result, too.
        let _ = self.commands.send(Command::Reload(answer));
        answered
    }

    /// Stops all processes; those that are still running after this time are killed.
    pub(crate) fn stop(&self, grace: Duration) {
        let _ = self.commands.send(Command::Stop(grace));
    }
}
