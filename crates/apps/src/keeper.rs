//! Whoever starts workers, watches and replaces them: a thread of its own for each application.

mod crew;
mod mold;
mod output;
mod worker;

use std::{io, sync::Arc, thread, time::Duration};

use serow_net::thread_runtime;
use tokio::{
    sync::{
        mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
        oneshot,
    },
    time::{Instant, MissedTickBehavior, interval, sleep_until},
};

use self::{crew::Crew, mold::MoldWord, worker::WorkerWord};
use crate::application::Shared;

/// What a keeper hears.
#[derive(Debug)]
enum Happening {
    /// The mold of a crew said something.
    Mold { crew: u64, word: MoldWord },
    /// A worker did.
    Worker { number: u64, word: WorkerWord },
    /// Somebody wants something.
    Command(Command),
}

/// What may be wanted of a keeper.
#[derive(Debug)]
enum Command {
    /// That the application is loaded anew.
    Reload(oneshot::Sender<Result<(), String>>),
    /// That all workers end, within this time.
    Stop(Duration),
}

/// The way to a keeper.
#[derive(Clone, Debug)]
pub(crate) struct KeeperHandle {
    happenings: UnboundedSender<Happening>,
}

impl KeeperHandle {
    /// Has the application loaded anew; the answer comes when new workers have taken over, or says why they could not.
    pub(crate) fn reload(&self) -> oneshot::Receiver<Result<(), String>> {
        let (answer, answered) = oneshot::channel();
        // A keeper that has ended drops the sender, which is an answer.
        let _ = self.happenings.send(Happening::Command(Command::Reload(answer)));
        answered
    }

    /// Has all workers end: those that have not after this time are killed.
    pub(crate) fn stop(&self, patience: Duration) {
        let _ = self.happenings.send(Happening::Command(Command::Stop(patience)));
    }
}

/// Starts a keeper and waits until the workers are ready.
///
/// # Errors
///
/// Why the application cannot be loaded, in its own words.
pub(crate) fn start(shared: Arc<Shared>) -> Result<(KeeperHandle, thread::JoinHandle<()>), String> {
    let (happenings, receiver) = unbounded_channel();
    let handle = KeeperHandle { happenings: happenings.clone() };
    let loaded = handle.reload();
    let run = move || -> io::Result<()> {
        thread_runtime()?.block_on(Keeper::new(shared, happenings).run(receiver));
        Ok(())
    };
    let keep = move || {
        if let Err(error) = run() {
            tracing::error!("workers cannot be started: {error}");
        }
    };
    let thread =
        thread::Builder::new().name("serow-keeper".to_owned()).spawn(keep).map_err(|error| error.to_string())?;
    match loaded.blocking_recv() {
        Ok(Ok(())) => Ok((handle, thread)),
        Ok(Err(why)) => {
            handle.stop(Duration::ZERO);
            // It has nothing to do any more but to end.
            let _ = thread.join();
            Err(why)
        }
        Err(_) => Err("workers cannot be started: allow more open files".to_owned()),
    }
}

struct Keeper {
    shared: Arc<Shared>,
    happenings: UnboundedSender<Happening>,
    /// The one that serves is the first, then those that leave, then perhaps one that is being loaded.
    crews: Vec<Crew>,
    /// Who waits for the crew of this number.
    loading: Option<(u64, oneshot::Sender<Result<(), String>>)>,
    next_crew: u64,
    /// The number of the last worker.
    numbers: u64,
    /// When what has not ended is killed.
    end: Option<Instant>,
}

impl Keeper {
    fn new(shared: Arc<Shared>, happenings: UnboundedSender<Happening>) -> Self {
        Self { shared, happenings, crews: Vec::new(), loading: None, next_crew: 1, numbers: 0, end: None }
    }

    async fn run(mut self, mut receiver: UnboundedReceiver<Happening>) {
        let mut ticks = interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let end = self.end.unwrap_or_else(|| Instant::now() + TICK);
            tokio::select! {
                happening = receiver.recv() => match happening {
                    Some(happening) => self.hear(happening),
                    None => return,
                },
                _ = ticks.tick() => self.look_after(),
                () = sleep_until(end), if self.end.is_some() => self.crews.iter_mut().for_each(Crew::kill),
            }
            self.crews.retain(|crew| !crew.is_over());
            if self.end.is_some() && self.crews.is_empty() {
                return;
            }
        }
    }

    fn hear(&mut self, happening: Happening) {
        match happening {
            Happening::Mold { crew, word } => {
                let Some(place) = self.crews.iter().position(|one| one.number == crew) else { return };
                let heard = self.crews[place].hear_mold(word, &mut self.numbers);
                self.judge(crew, heard);
            }
            Happening::Worker { number, word } => {
                let has = |crew: &&mut Crew| crew.workers.iter().any(|worker| worker.link.number == number);
                let Some(crew) = self.crews.iter_mut().find(has) else { return };
                let (number, heard) = (crew.number, crew.hear_worker(number, word));
                self.judge(number, heard);
            }
            Happening::Command(Command::Reload(answer)) => self.load(answer),
            Happening::Command(Command::Stop(patience)) => {
                self.crews.iter_mut().for_each(Crew::retire);
                self.loading = None;
                self.end = Some(Instant::now() + patience);
            }
        }
    }

    fn load(&mut self, answer: oneshot::Sender<Result<(), String>>) {
        // Whoever asked before sees that it came to nothing; nobody who asks gets code that is older than the asking.
        if let Some((number, before)) = self.loading.take() {
            let _ = before.send(Err("it is loaded anew already".to_owned()));
            self.drop_crew(number);
        }
        match Crew::start(self.next_crew, &self.shared, &self.happenings) {
            Ok(crew) => {
                self.loading = Some((crew.number, answer));
                self.next_crew += 1;
                self.crews.push(crew);
            }
            Err(why) => drop(answer.send(Err(why))),
        }
    }

    /// What follows from what a crew did or failed to do.
    fn judge(&mut self, number: u64, heard: Result<(), String>) {
        if !self.is_loading(number) {
            if let Err(why) = heard {
                tracing::error!("{}: the application cannot be loaded: {why}", self.shared.settings.name);
            }
            return;
        }
        let outcome = match heard {
            Err(why) => Err(why),
            Ok(()) if self.crews.iter().any(|crew| crew.number == number && crew.is_complete()) => Ok(()),
            Ok(()) => return,
        };
        let Some((_, answer)) = self.loading.take() else { return };
        match &outcome {
            Ok(()) => {
                // The new ones first: there is always somebody to answer.
                self.crews.iter_mut().filter(|crew| crew.number == number).for_each(Crew::serve);
                self.crews.iter_mut().filter(|crew| crew.number != number).for_each(Crew::retire);
            }
            Err(_) => self.drop_crew(number),
        }
        // Whoever asked may have gone.
        let _ = answer.send(outcome);
    }

    /// A crew that never served.
    fn drop_crew(&mut self, number: u64) {
        for crew in self.crews.iter_mut().filter(|crew| crew.number == number) {
            crew.retire();
            crew.kill();
        }
    }

    fn look_after(&mut self) {
        let overdue = self.shared.look_at_clock();
        for crew in &mut self.crews {
            crew.end_overdue(&overdue);
            crew.look_after(&mut self.numbers);
        }
        let late = self.crews.iter().find(|crew| self.is_loading(crew.number) && crew.is_late());
        if let Some(number) = late.map(|crew| crew.number) {
            let limit = self.shared.settings.start_timeout;
            self.judge(number, Err(format!("loading the application took longer than {limit:?}")));
        }
    }

    fn is_loading(&self, number: u64) -> bool {
        self.loading.as_ref().is_some_and(|(crew, _)| *crew == number)
    }
}

/// How often those are looked for who wait or take too long: limits are seconds.
const TICK: Duration = Duration::from_millis(250);
