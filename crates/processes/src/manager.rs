//! The worker manager starts, watches and replaces an application's processes, in a thread of its own for each
//! application.

use std::{io, sync::Arc, thread, time::Duration};

use serow_net::thread_runtime;
use tokio::{
    sync::{
        mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
        oneshot,
    },
    time::{Instant, sleep_until},
};

use crate::{
    handle::{Command, ManagerHandle},
    start_cancellation::StartCancellation,
    start_error::StartError,
    workers::Workers,
};

/// The application as it was loaded once, and the processes that run it.
pub trait WorkerGeneration: Sized + 'static {
    /// The state that all threads of the application share.
    type Application: Send + Sync + 'static;
    /// Messages about the processes.
    type Message: 'static;

    /// Starts loading the application.
    fn start(
        number: u64,
        application: &Arc<Self::Application>,
        messages: MessageSender<Self::Message>,
        numbers: &mut u64,
    ) -> Result<Self, String>;
    /// Its number.
    fn number(&self) -> u64;
    /// Handles a message about a process. An error explains why the application cannot be loaded.
    fn handle_message(&mut self, message: Self::Message, numbers: &mut u64) -> Result<(), String>;
    /// Whether all processes are ready.
    fn is_ready(&self) -> bool;
    /// The error if loading takes too long.
    fn startup_error(&self) -> Option<String>;
    /// Whether all of its processes have exited.
    fn has_ended(&self) -> bool;
    /// Its processes serve requests from now on, and those of other generations get no more.
    fn serve(&mut self);
    /// Its processes finish their requests and exit.
    fn retire(&mut self);
    /// Kills the processes that have not exited by themselves.
    fn kill(&mut self);
    /// Periodic work for all generations. `numbers` is the number of the last process.
    fn maintain(application: &Arc<Self::Application>, generations: &mut [Self], numbers: &mut u64);
    /// How long no request can exceed a time limit, so that maintenance can wait.
    fn time_left(application: &Self::Application) -> Duration;
    /// How the application is called in the log.
    fn name(application: &Self::Application) -> &str;
}

/// Sends messages about a generation's processes to the worker manager.
#[derive(Debug)]
pub struct MessageSender<M> {
    generation: u64,
    sender: UnboundedSender<(u64, M)>,
}

impl<M> MessageSender<M> {
    /// For the messages of the generation with this number.
    #[must_use]
    pub fn new(generation: u64, sender: UnboundedSender<(u64, M)>) -> Self {
        Self { generation, sender }
    }

    /// Sends a message; it is lost if the manager has ended.
    pub fn send(&self, message: M) {
        // Sending fails if the manager has ended.
        let _ = self.sender.send((self.generation, message));
    }
}

impl<M> Clone for MessageSender<M> {
    fn clone(&self) -> Self {
        Self { generation: self.generation, sender: self.sender.clone() }
    }
}

/// Starts a worker manager and waits until the processes are ready, or the start is cancelled.
///
/// # Errors
///
/// Why the application cannot be loaded, with its own error.
pub fn start<G: WorkerGeneration>(
    application: Arc<G::Application>,
    cancellation: &StartCancellation,
) -> Result<Workers, StartError> {
    let (handle, commands) = ManagerHandle::new();
    let loaded = handle.reload();
    let run = move || -> io::Result<()> {
        thread_runtime()?.block_on(Manager::<G>::new(application).run(commands));
        Ok(())
    };
    let run_thread = move || {
        if let Err(error) = run() {
            tracing::error!("cannot start workers: {error}");
        }
    };
    let thread = thread::Builder::new()
        .name("serow-workers".to_owned())
        .spawn(run_thread)
        .map_err(|error| StartError::from(error.to_string()))?;
    let outcome = wait(loaded, cancellation);
    if let Some(Ok(())) = outcome {
        return Ok(Workers::new(handle, thread));
    }
    // Also where only the thread that waits could not start: the manager would start processes that nobody knows.
    handle.stop(Duration::ZERO);
    // It has nothing left to do but exit.
    let _ = thread.join();
    let no_thread = "cannot start workers: allow more threads and open files";
    Err(outcome.and_then(Result::err).unwrap_or_else(|| no_thread.to_owned()).into())
}

/// Waits for the outcome on a thread of its own: the caller may be in an async function, where tokio's channels refuse to
/// block.
fn wait(loaded: oneshot::Receiver<Result<(), String>>, cancellation: &StartCancellation) -> Option<Result<(), String>> {
    let outcome = async {
        tokio::select! {
            outcome = loaded => outcome.ok(),
            () = cancellation.cancelled() => Some(Err("the start was cancelled".to_owned())),
        }
    };
    thread::scope(|scope| {
        let waiting = thread::Builder::new()
            .name("serow-start".to_owned())
            .spawn_scoped(scope, || thread_runtime().ok()?.block_on(outcome))
            .ok()?;
        waiting.join().ok()?
    })
}

struct Manager<G: WorkerGeneration> {
    application: Arc<G::Application>,
    sender: UnboundedSender<(u64, G::Message)>,
    messages: UnboundedReceiver<(u64, G::Message)>,
    /// The serving generation, then the retired ones, then perhaps one that is being loaded.
    generations: Vec<G>,
    /// The number of the generation that is being loaded, and the caller that waits for it.
    loading: Option<(u64, oneshot::Sender<Result<(), String>>)>,
    next_generation: u64,
    /// The number of the last process.
    numbers: u64,
    /// When the remaining processes are killed.
    end: Option<Instant>,
}

impl<G: WorkerGeneration> Manager<G> {
    fn new(application: Arc<G::Application>) -> Self {
        let (sender, messages) = unbounded_channel();
        Self {
            application,
            sender,
            messages,
            generations: Vec::new(),
            loading: None,
            next_generation: 1,
            numbers: 0,
            end: None,
        }
    }

    async fn run(mut self, mut commands: UnboundedReceiver<Command>) {
        let mut look = Instant::now();
        let mut kills = 0;
        loop {
            let end = self.end.unwrap_or_else(|| Instant::now() + TICK);
            tokio::select! {
                command = commands.recv() => match command {
                    Some(command) => self.handle_command(command),
                    None => return,
                },
                // The sender in this struct keeps the channel open.
                Some((generation, message)) = self.messages.recv() => self.handle_message(generation, message),
                () = sleep_until(look) => {
                    self.maintain();
                    look = Instant::now() + self.pause();
                }
                () = sleep_until(end), if self.end.is_some() => {
                    self.generations.iter_mut().for_each(G::kill);
                    // Again, for a process that was forked meanwhile.
                    self.end = Some(Instant::now() + TICK);
                    kills += 1;
                    if kills > MAX_KILLS {
                        tracing::error!("{}: a killed process does not report its exit", G::name(&self.application));
                        return;
                    }
                }
            }
            self.generations.retain(|generation| !generation.has_ended());
            if self.end.is_some() && self.generations.is_empty() {
                return;
            }
        }
    }

    fn handle_message(&mut self, number: u64, message: G::Message) {
        let Some(generation) = self.generations.iter_mut().find(|generation| generation.number() == number) else {
            return;
        };
        let messages = generation.handle_message(message, &mut self.numbers);
        self.finish_loading(number, messages);
    }

    fn handle_command(&mut self, command: Command) {
        match command {
            Command::Reload(answer) => self.load(answer),
            Command::Stop(grace) => {
                self.generations.iter_mut().for_each(G::retire);
                self.loading = None;
                self.end = Some(Instant::now() + grace);
            }
        }
    }

    fn load(&mut self, answer: oneshot::Sender<Result<(), String>>) {
        // A reload replaces an earlier one that has not finished, so that no caller gets older code than at the time of
        // its call.
        if let Some((number, before)) = self.loading.take() {
            let _ = before.send(Err("superseded by a later reload".to_owned()));
            self.drop_generation(number);
        }
        let messages = MessageSender::new(self.next_generation, self.sender.clone());
        match G::start(self.next_generation, &self.application, messages, &mut self.numbers) {
            Ok(generation) => {
                self.loading = Some((generation.number(), answer));
                self.next_generation += 1;
                self.generations.push(generation);
            }
            Err(why) => drop(answer.send(Err(why))),
        }
    }

    /// Completes loading when a generation is ready or has failed.
    fn finish_loading(&mut self, number: u64, messages: Result<(), String>) {
        if !self.is_loading(number) {
            if let Err(why) = messages {
                tracing::error!("{}: cannot load the application: {why}", G::name(&self.application));
            }
            return;
        }
        let outcome = match messages {
            Err(why) => Err(why),
            Ok(())
                if self.generations.iter().any(|generation| generation.number() == number && generation.is_ready()) =>
            {
                Ok(())
            }
            Ok(()) => return,
        };
        let Some((_, answer)) = self.loading.take() else { return };
        match &outcome {
            Ok(()) => {
                // The new ones first, so that some worker always serves; they take over from all others in one step.
                self.generations.iter_mut().filter(|generation| generation.number() == number).for_each(G::serve);
                self.generations.iter_mut().filter(|generation| generation.number() != number).for_each(G::retire);
            }
            Err(_) => self.drop_generation(number),
        }
        // The caller may have gone.
        let _ = answer.send(outcome);
    }

    /// A generation that never served.
    fn drop_generation(&mut self, number: u64) {
        for generation in self.generations.iter_mut().filter(|generation| generation.number() == number) {
            generation.retire();
            generation.kill();
        }
    }

    fn maintain(&mut self) {
        G::maintain(&self.application, &mut self.generations, &mut self.numbers);
        let mut loading = self.generations.iter().filter(|generation| self.is_loading(generation.number()));
        if let Some((number, why)) =
            loading.find_map(|generation| Some((generation.number(), generation.startup_error()?)))
        {
            self.finish_loading(number, Err(why));
        }
    }

    /// The time until the next periodic work.
    fn pause(&self) -> Duration {
        let most = if self.loading.is_some() { TICK_WHILE_LOADING } else { TICK };
        G::time_left(&self.application).clamp(MIN_PAUSE, most)
    }

    fn is_loading(&self, number: u64) -> bool {
        self.loading.as_ref().is_some_and(|(generation, _)| *generation == number)
    }
}

/// How often the remaining processes are killed, once per [`TICK`], before the end waits for them no longer: a report that is
/// lost must not keep the server from ending.
const MAX_KILLS: u32 = 20;

/// How often processes are looked after, where no request can be overdue before.
const TICK: Duration = Duration::from_millis(250);

/// The same while an application is loaded, which happens once in a while: how late its time limit may be.
const TICK_WHILE_LOADING: Duration = Duration::from_millis(5);

/// Thousands of requests that become overdue one after the other are seen to together.
const MIN_PAUSE: Duration = Duration::from_millis(2);
