//! Whoever starts an application's processes, watches and replaces them: a thread of its own for each application.

mod backoff;
mod generation;
mod handle;
mod output;
mod process;
mod template;
mod worker;

use std::{io, sync::Arc, thread, time::Duration};

use serow_net::thread_runtime;
use tokio::{
    sync::{
        mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
        oneshot,
    },
    time::{Instant, sleep_until},
};

use self::handle::Order;
pub(crate) use self::{
    backoff::{Backoff, RESTART},
    generation::BridgedCrew,
    handle::KeeperHandle,
    output::read_lines,
    process::Process,
};

/// The application as it was loaded once, and the processes that run it.
pub(crate) trait Crew: Sized + 'static {
    /// What is known of the application wherever it is asked.
    type Application: Send + Sync + 'static;
    /// What is heard of the processes.
    type Word: 'static;

    /// Starts loading the application.
    fn start(
        number: u64,
        application: &Arc<Self::Application>,
        words: Words<Self::Word>,
        numbers: &mut u64,
    ) -> Result<Self, String>;
    /// Which one this is, of those there have been.
    fn number(&self) -> u64;
    /// Something was heard of a process. An error is why the application cannot be loaded.
    fn hear(&mut self, word: Self::Word, numbers: &mut u64) -> Result<(), String>;
    /// Whether all processes could begin.
    fn is_complete(&self) -> bool;
    /// Whether loading takes too long, and what is said of that.
    fn lateness(&self) -> Option<String>;
    /// Whether there is nothing of it any more.
    fn is_over(&self) -> bool;
    /// Its processes take requests from now on.
    fn serve(&mut self);
    /// Its processes finish what they have, and end.
    fn retire(&mut self);
    /// Ends what has not ended by itself.
    fn kill(&mut self);
    /// What there is to do for all crews from time to time. `numbers` is the number of the last process.
    fn look_after(application: &Arc<Self::Application>, crews: &mut [Self], numbers: &mut u64);
    /// How long no request can become overdue, and there is nothing to look after for that.
    fn time_left(application: &Self::Application) -> Duration;
    /// How the application is called in the log.
    fn name(application: &Self::Application) -> &str;
}

/// The way to a keeper for what is heard of a crew's processes.
#[derive(Debug)]
pub(crate) struct Words<W> {
    crew: u64,
    sender: UnboundedSender<(u64, W)>,
}

impl<W> Words<W> {
    pub(crate) fn say(&self, word: W) {
        // Nobody listens any more when all is over.
        let _ = self.sender.send((self.crew, word));
    }
}

impl<W> Clone for Words<W> {
    fn clone(&self) -> Self {
        Self { crew: self.crew, sender: self.sender.clone() }
    }
}

/// Starts a keeper and waits until the processes are ready.
///
/// # Errors
///
/// Why the application cannot be loaded, in its own words.
pub(crate) fn start<C: Crew>(
    application: Arc<C::Application>,
) -> Result<(KeeperHandle, thread::JoinHandle<()>), String> {
    let (handle, orders) = KeeperHandle::new();
    let loaded = handle.reload();
    let run = move || -> io::Result<()> {
        thread_runtime()?.block_on(Keeper::<C>::new(application).run(orders));
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

struct Keeper<C: Crew> {
    application: Arc<C::Application>,
    sender: UnboundedSender<(u64, C::Word)>,
    heard: UnboundedReceiver<(u64, C::Word)>,
    /// The one that serves is the first, then those that leave, then perhaps one that is being loaded.
    crews: Vec<C>,
    /// Who waits for the crew of this number.
    loading: Option<(u64, oneshot::Sender<Result<(), String>>)>,
    next_crew: u64,
    /// The number of the last process.
    numbers: u64,
    /// When what has not ended is killed.
    end: Option<Instant>,
}

impl<C: Crew> Keeper<C> {
    fn new(application: Arc<C::Application>) -> Self {
        let (sender, heard) = unbounded_channel();
        Self { application, sender, heard, crews: Vec::new(), loading: None, next_crew: 1, numbers: 0, end: None }
    }

    async fn run(mut self, mut orders: UnboundedReceiver<Order>) {
        let mut look = Instant::now();
        loop {
            let end = self.end.unwrap_or_else(|| Instant::now() + TICK);
            tokio::select! {
                order = orders.recv() => match order {
                    Some(order) => self.carry_out(order),
                    None => return,
                },
                // There is a sender in this struct.
                Some((crew, word)) = self.heard.recv() => self.hear(crew, word),
                () = sleep_until(look) => {
                    self.look_after();
                    look = Instant::now() + self.pause();
                }
                () = sleep_until(end), if self.end.is_some() => self.crews.iter_mut().for_each(C::kill),
            }
            self.crews.retain(|crew| !crew.is_over());
            if self.end.is_some() && self.crews.is_empty() {
                return;
            }
        }
    }

    fn hear(&mut self, number: u64, word: C::Word) {
        let Some(crew) = self.crews.iter_mut().find(|crew| crew.number() == number) else { return };
        let heard = crew.hear(word, &mut self.numbers);
        self.judge(number, heard);
    }

    fn carry_out(&mut self, order: Order) {
        match order {
            Order::Reload(answer) => self.load(answer),
            Order::Stop(patience) => {
                self.crews.iter_mut().for_each(C::retire);
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
        let words = Words { crew: self.next_crew, sender: self.sender.clone() };
        match C::start(self.next_crew, &self.application, words, &mut self.numbers) {
            Ok(crew) => {
                self.loading = Some((crew.number(), answer));
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
                tracing::error!("{}: the application cannot be loaded: {why}", C::name(&self.application));
            }
            return;
        }
        let outcome = match heard {
            Err(why) => Err(why),
            Ok(()) if self.crews.iter().any(|crew| crew.number() == number && crew.is_complete()) => Ok(()),
            Ok(()) => return,
        };
        let Some((_, answer)) = self.loading.take() else { return };
        match &outcome {
            Ok(()) => {
                // The new ones first: there is always somebody to answer.
                self.crews.iter_mut().filter(|crew| crew.number() == number).for_each(C::serve);
                self.crews.iter_mut().filter(|crew| crew.number() != number).for_each(C::retire);
            }
            Err(_) => self.drop_crew(number),
        }
        // Whoever asked may have gone.
        let _ = answer.send(outcome);
    }

    /// A crew that never served.
    fn drop_crew(&mut self, number: u64) {
        for crew in self.crews.iter_mut().filter(|crew| crew.number() == number) {
            crew.retire();
            crew.kill();
        }
    }

    fn look_after(&mut self) {
        C::look_after(&self.application, &mut self.crews, &mut self.numbers);
        let mut loading = self.crews.iter().filter(|crew| self.is_loading(crew.number()));
        if let Some((number, why)) = loading.find_map(|crew| Some((crew.number(), crew.lateness()?))) {
            self.judge(number, Err(why));
        }
    }

    /// Until somebody is to be looked after again.
    fn pause(&self) -> Duration {
        let most = if self.loading.is_some() { TICK_WHILE_LOADING } else { TICK };
        C::time_left(&self.application).clamp(SHORTEST_PAUSE, most)
    }

    fn is_loading(&self, number: u64) -> bool {
        self.loading.as_ref().is_some_and(|(crew, _)| *crew == number)
    }
}

/// How often processes are looked after, where no request can be overdue before.
const TICK: Duration = Duration::from_millis(250);

/// The same while an application is loaded, which happens once in a while: how late its time limit may be.
const TICK_WHILE_LOADING: Duration = Duration::from_millis(5);

/// Thousands of requests that become overdue one after the other are seen to together.
const SHORTEST_PAUSE: Duration = Duration::from_millis(2);
