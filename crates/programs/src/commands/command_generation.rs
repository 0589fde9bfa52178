//! The copies of a program that were started together.

use std::{io, sync::Arc, time::Duration};

use serow_processes::{Backoff, MessageSender, RESTART, WorkerGeneration};
use tokio::time::Instant;

use crate::commands::{
    application::CommandState,
    program_copy::{Copy, CopyMessage, CopyStage},
    program_socket::ProgramSockets,
    settings::Binding,
};

/// The copies of a program that were started together, and their replacements.
#[derive(Debug)]
pub(crate) struct CommandGeneration {
    number: u64,
    shared: Arc<CommandState>,
    messages: MessageSender<CopyMessage>,
    program_sockets: ProgramSockets,
    copies: Vec<Copy>,
    phase: Phase,
    backoff: Backoff,
}

/// How far it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Not all copies are ready yet, and none gets requests.
    Loading,
    /// Copies get requests; copies that exit are replaced.
    Serving,
    /// Copies finish their requests.
    Retired,
}

impl WorkerGeneration for CommandGeneration {
    type Application = CommandState;
    type Message = CopyMessage;

    fn start(
        number: u64,
        shared: &Arc<CommandState>,
        messages: MessageSender<CopyMessage>,
        numbers: &mut u64,
    ) -> Result<Self, String> {
        let settings = &shared.settings;
        if settings.binding == Binding::Inherit && settings.launcher.is_empty() {
            return Err("programs inherit a socket only through a launcher: set one".to_owned());
        }
        let program_sockets = ProgramSockets::new(settings.binding)
            .map_err(|error| format!("cannot create the socket for the program: {error}"))?;
        let mut generation = Self {
            number,
            shared: Arc::clone(shared),
            messages,
            program_sockets,
            copies: Vec::new(),
            phase: Phase::Loading,
            backoff: Backoff::default(),
        };
        generation.fill(numbers).map_err(|error| {
            let program = settings.command.first().map(|word| word.to_string_lossy()).unwrap_or_default();
            format!("{program} cannot be started: {error}; is it installed?")
        })?;
        Ok(generation)
    }

    fn number(&self) -> u64 {
        self.number
    }

    fn handle_message(&mut self, message: CopyMessage, numbers: &mut u64) -> Result<(), String> {
        match message {
            CopyMessage::Ready(number) => {
                if let Some(copy) = self.copies.iter_mut().find(|copy| copy.number == number) {
                    copy.is_ready();
                }
                if self.phase == Phase::Serving {
                    self.activate_ready();
                }
                Ok(())
            }
            CopyMessage::Ended(number) => match self.copies.iter().position(|copy| copy.number == number) {
                Some(place) => self.remove_ended(place, numbers),
                None => Ok(()),
            },
        }
    }

    fn is_ready(&self) -> bool {
        let ready = self.copies.iter().filter(|copy| copy.stage == CopyStage::Ready).count();
        ready >= self.shared.settings.run.processes.get()
    }

    fn startup_error(&self) -> Option<String> {
        let settings = &self.shared.settings;
        let limit = settings.run.start_timeout;
        let late = self.copies.iter().find(|copy| is_late(copy, limit))?;
        let expected = match &settings.check_path {
            None => format!("accepts no connections on {}", late.expected_socket()),
            Some(path) => format!("does not answer {path} successfully on {}", late.expected_socket()),
        };
        Some(format!("the program {expected}, after {limit:?}{}", late.last_lines()))
    }

    fn has_ended(&self) -> bool {
        self.phase == Phase::Retired && self.copies.is_empty()
    }

    fn serve(&mut self) {
        self.phase = Phase::Serving;
        self.activate_ready();
    }

    fn retire(&mut self) {
        self.phase = Phase::Retired;
        for copy in &mut self.copies {
            match copy.stage {
                CopyStage::Serving => copy.stage = CopyStage::Draining(Instant::now()),
                // It has no requests to finish.
                CopyStage::Starting | CopyStage::Ready => copy.terminate(),
                CopyStage::Draining(_) | CopyStage::Ending(_) => {}
            }
        }
    }

    fn kill(&mut self) {
        self.copies.iter().for_each(Copy::kill);
    }

    fn maintain(_: &Arc<CommandState>, generations: &mut [Self], numbers: &mut u64) {
        for generation in generations {
            generation.dismiss();
            if generation.phase == Phase::Serving {
                generation.mark_for_replacement();
            }
            if generation.phase != Phase::Retired
                && let Err(error) = generation.fill(numbers)
            {
                tracing::error!("{}: cannot start a copy: {error}", generation.shared.settings.run.name);
                generation.backoff.fail(Instant::now());
            }
        }
    }

    fn time_left(_: &CommandState) -> Duration {
        // The proxy sees to that.
        Duration::MAX
    }

    fn name(shared: &CommandState) -> &str {
        &shared.settings.run.name
    }
}

impl CommandGeneration {
    /// Ready copies get requests from now on, instead of those that they replace.
    fn activate_ready(&mut self) {
        let ready = self.copies.iter_mut().filter(|copy| copy.stage == CopyStage::Ready);
        ready.for_each(|copy| copy.stage = CopyStage::Serving);
        let serving = self.copies.iter().filter(|copy| copy.stage == CopyStage::Serving).count();
        let spare = serving.saturating_sub(self.shared.settings.run.processes.get());
        let replaced = self.copies.iter_mut().filter(|copy| copy.is_replaced && copy.stage == CopyStage::Serving);
        replaced.take(spare).for_each(|copy| copy.stage = CopyStage::Draining(Instant::now()));
        self.publish();
    }

    /// Gives the proxy the list of copies that get requests.
    fn publish(&mut self) {
        let serving = self.copies.iter().filter(|copy| copy.stage == CopyStage::Serving);
        let mut servers: Vec<_> = serving.map(|copy| copy.settings.clone()).collect();
        // Copies on one socket are one server, and connections wait on it even while no copy runs.
        servers.dedup();
        if servers.is_empty() && self.shared.settings.binding == Binding::Inherit {
            return;
        }
        self.shared.upstream.replace_servers(servers);
        let servers = self.shared.upstream.servers();
        for copy in self.copies.iter_mut().filter(|copy| copy.stage == CopyStage::Serving && copy.server.is_none()) {
            copy.server = servers.iter().find(|server| *server.settings() == copy.settings).cloned();
        }
    }

    /// Stops copies that have finished their requests, and kills those that do not exit.
    fn dismiss(&mut self) {
        let settings = &self.shared.settings;
        let (name, limit, grace) = (&settings.run.name, settings.run.start_timeout, settings.run.grace);
        for copy in &mut self.copies {
            match copy.stage {
                CopyStage::Draining(since) => {
                    // A request that was just assigned may not be counted yet.
                    let is_idle = copy.server.as_ref().is_none_or(|server| server.active() == 0);
                    if (is_idle && since.elapsed() >= MOMENT) || since.elapsed() >= grace {
                        copy.terminate();
                    }
                }
                CopyStage::Ending(since) if since.elapsed() >= grace => copy.kill(),
                CopyStage::Starting if self.phase == Phase::Serving && is_late(copy, limit) => {
                    tracing::error!("{name} {}: is not ready after {limit:?}; killed", copy.place);
                    copy.kill();
                }
                _ => {}
            }
        }
    }

    /// Copies that are to be replaced: by their requests, or their memory.
    fn mark_for_replacement(&mut self) {
        let run = &self.shared.settings.run;
        for copy in self.copies.iter_mut().filter(|copy| copy.stage == CopyStage::Serving && !copy.is_replaced) {
            let memory = run.memory_limit.and_then(|limit| copy.memory().filter(|bytes| *bytes > limit));
            if let Some(bytes) = memory {
                tracing::info!("{} {}: replaced, it uses {} MB", run.name, copy.place, bytes >> 20);
            }
            let requests = copy.server.as_ref().map_or(0, |server| server.requests());
            copy.is_replaced = memory.is_some() || copy.lifetime.is_some_and(|most| requests >= most);
        }
    }

    /// Starts the copies that are missing.
    fn fill(&mut self, numbers: &mut u64) -> io::Result<()> {
        let interval = self.shared.settings.run.spawn_interval;
        while !self.backoff.is_on(Instant::now()) && self.is_incomplete() {
            *numbers += 1;
            let (number, place) = (*numbers, self.free_place());
            let copy = Copy::start(&self.shared, &self.program_sockets, number, place, self.number, &self.messages)?;
            self.copies.push(copy);
            if !interval.is_zero() {
                self.backoff.wait(interval, Instant::now());
            }
        }
        Ok(())
    }

    /// Whether a copy is missing. One that is to be replaced counts until the other is there, and only one is replaced
    /// at a time.
    fn is_incomplete(&self) -> bool {
        let stays = |copy: &&Copy| matches!(copy.stage, CopyStage::Starting | CopyStage::Ready | CopyStage::Serving);
        let there = self.copies.iter().filter(stays).count();
        let replaced = self.copies.iter().filter(stays).filter(|copy| copy.is_replaced).count();
        there < self.shared.settings.run.processes.get() + replaced.min(1)
    }

    /// The lowest number that no copy has.
    fn free_place(&self) -> usize {
        let taken = |place: &usize| self.copies.iter().any(|copy| copy.place == *place);
        (1..).find(|place| !taken(place)).unwrap_or(1)
    }

    /// Removes a copy that has exited. An error explains why the program cannot be started.
    fn remove_ended(&mut self, place: usize, numbers: &mut u64) -> Result<(), String> {
        let mut copy = self.copies.remove(place);
        let (name, how) = (&self.shared.settings.run.name, copy.ending());
        match copy.stage {
            CopyStage::Draining(_) | CopyStage::Ending(_) => {
                tracing::debug!("{name} {}: exited ({how})", copy.place);
                return Ok(());
            }
            CopyStage::Starting if self.phase == Phase::Loading => {
                return Err(format!("the program exited before it was ready ({how}){}", copy.last_lines()));
            }
            CopyStage::Starting | CopyStage::Ready | CopyStage::Serving => {
                tracing::error!("{name} {}: exited ({how}) and is restarted", copy.place);
            }
        }
        if self.phase == Phase::Serving {
            self.publish();
        }
        match copy.stage {
            CopyStage::Ready | CopyStage::Serving if copy.born.elapsed() >= RESTART => self.backoff.succeed(),
            CopyStage::Ready | CopyStage::Serving => {
                self.backoff.note_early_death(self.shared.settings.run.processes.get(), Instant::now());
            }
            CopyStage::Starting | CopyStage::Draining(_) | CopyStage::Ending(_) => self.backoff.fail(Instant::now()),
        }
        drop(copy);
        if self.phase == Phase::Retired {
            return Ok(());
        }
        self.fill(numbers).map_err(|error| format!("cannot start a copy: {error}"))
    }
}

fn is_late(copy: &Copy, limit: Duration) -> bool {
    copy.stage == CopyStage::Starting && copy.born.elapsed() >= limit
}

/// A thread that has chosen a copy counts the request there within microseconds, but may be preempted for this long.
const MOMENT: Duration = Duration::from_millis(200);
