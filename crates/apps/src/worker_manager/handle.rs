//! What may be wanted of a keeper.

use std::time::Duration;

use tokio::sync::{
    mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
    oneshot,
};

/// What may be wanted of a keeper.
#[derive(Debug)]
pub(super) enum Command {
    /// That the application is loaded anew.
    Reload(oneshot::Sender<Result<(), String>>),
    /// That all processes end, within this time.
    Stop(Duration),
}

/// The way to a keeper.
#[derive(Clone, Debug)]
pub(crate) struct WorkerManagerHandle {
    commands: UnboundedSender<Command>,
}

impl WorkerManagerHandle {
    /// The way to a keeper who receives there.
    pub(super) fn new() -> (Self, UnboundedReceiver<Command>) {
        let (commands, receiver) = unbounded_channel();
        (Self { commands }, receiver)
    }

    /// Has the application loaded anew; the answer comes when new processes have taken over, or says why they could not.
    pub(crate) fn reload(&self) -> oneshot::Receiver<Result<(), String>> {
        let (answer, answered) = oneshot::channel();
        // A keeper that has ended drops the sender, which is an answer.
        let _ = self.commands.send(Command::Reload(answer));
        answered
    }

    /// Has all processes end: those that have not after this time are killed.
    pub(crate) fn stop(&self, patience: Duration) {
        let _ = self.commands.send(Command::Stop(patience));
    }
}
