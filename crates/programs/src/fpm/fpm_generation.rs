//! The php-fpm that was started for one generation of the application, and its replacements.

use std::{io, sync::Arc, time::Duration};

use serow_processes::{Backoff, MessageSender, RESTART, WorkerGeneration};
use serow_proxy::ServerLocation;
use tokio::{task::spawn_local, time::Instant};

use crate::fpm::{
    application::FpmState,
    instance::{Instance, Life},
    master::{FpmMessage, Master},
    pool::Pool,
    warm_up::warm_up,
};

/// The php-fpm of one generation, and those that it replaces.
#[derive(Debug)]
pub(crate) struct FpmGeneration {
    number: u64,
    shared: Arc<FpmState>,
    messages: MessageSender<FpmMessage>,
    /// The last one serves, unless it has retired; earlier ones finish their requests.
    instances: Vec<Instance>,
    phase: Phase,
    warmth: Warmth,
    backoff: Backoff,
}

/// The opcache of a generation that is loading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Warmth {
    Cold,
    /// It is being filled.
    Warming,
    /// It is filled, as far as it can be.
    Warm,
}

/// How far it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Not all children are ready yet, and none gets requests.
    Loading,
    /// Children get requests.
    Serving,
    /// Children finish their requests.
    Retired,
}

impl WorkerGeneration for FpmGeneration {
    type Application = FpmState;
    type Message = FpmMessage;

    fn start(
        number: u64,
        shared: &Arc<FpmState>,
        messages: MessageSender<FpmMessage>,
        numbers: &mut u64,
    ) -> Result<Self, String> {
        if shared.settings.launcher.is_empty() {
            return Err("php-fpm inherits its sockets only through a launcher: set one".to_owned());
        }
        let mut generation = Self {
            number,
            shared: Arc::clone(shared),
            messages,
            instances: Vec::new(),
            phase: Phase::Loading,
            warmth: Warmth::Cold,
            backoff: Backoff::default(),
        };
        generation.start_instance(numbers).map_err(|error| format!("php-fpm cannot be started: {error}"))?;
        Ok(generation)
    }

    fn number(&self) -> u64 {
        self.number
    }

    fn handle_message(&mut self, message: FpmMessage, numbers: &mut u64) -> Result<(), String> {
        let FpmMessage::MasterEnded(number) = message else {
            self.warmth = Warmth::Warm;
            return Ok(());
        };
        let Some(instance) = self.instances.iter_mut().find(|instance| instance.number == number) else {
            return Ok(());
        };
        let how = instance.master.ending();
        let name = &self.shared.settings.run.name;
        match instance.life {
            Life::Stopping(_) | Life::Over => {
                instance.life = Life::Over;
                return Ok(());
            }
            Life::Draining(_) => return Ok(()),
            Life::Running if self.phase == Phase::Loading => {
                return Err(format!("php-fpm exited before it was ready ({how}){}", instance.master.last_lines()));
            }
            Life::Running => {
                tracing::error!("{name}: php-fpm exited ({how}) and is started again");
                match instance.born.elapsed() >= RESTART {
                    true => self.backoff.succeed(),
                    false => self.backoff.fail(Instant::now()),
                }
                // Its children live on, and finish their requests.
                instance.drain();
            }
        }
        self.publish();
        self.replace_missing(numbers);
        Ok(())
    }

    fn is_ready(&self) -> bool {
        self.warmth == Warmth::Warm && self.all_are_ready()
    }

    fn startup_error(&self) -> Option<String> {
        let limit = self.shared.settings.run.start_timeout;
        let late = self.instances.last().filter(|instance| instance.pools.iter().any(|pool| pool.is_late(limit)))?;
        Some(format!("php-fpm accepts no connections after {limit:?}{}", late.master.last_lines()))
    }

    fn has_ended(&self) -> bool {
        self.phase == Phase::Retired && self.instances.is_empty()
    }

    fn serve(&mut self) {
        self.phase = Phase::Serving;
        self.activate_ready();
    }

    fn retire(&mut self) {
        self.phase = Phase::Retired;
        self.instances.iter_mut().filter(|instance| instance.life == Life::Running).for_each(Instance::drain);
    }

    fn kill(&mut self) {
        for instance in &mut self.instances {
            instance.master.kill();
            instance.life = Life::Over;
        }
        self.instances.clear();
    }

    fn maintain(shared: &Arc<FpmState>, generations: &mut [Self], numbers: &mut u64) {
        for generation in generations.iter_mut() {
            generation.look();
            if generation.phase == Phase::Serving {
                generation.activate_ready();
                generation.replace_missing(numbers);
            }
        }
        shared.note_activity(generations.iter().all(Self::is_quiet));
    }

    fn time_left(shared: &FpmState) -> Duration {
        shared.pause()
    }

    fn name(shared: &FpmState) -> &str {
        &shared.settings.run.name
    }
}

impl FpmGeneration {
    fn start_instance(&mut self, numbers: &mut u64) -> io::Result<()> {
        *numbers += 1;
        let settings = &self.shared.settings;
        let (master, sockets) = Master::start(settings, *numbers, &self.messages)?;
        let pools = sockets.into_iter().enumerate().map(|(index, socket)| Pool::new(index, socket, settings));
        let pools = pools.collect::<io::Result<Vec<_>>>()?;
        let instance =
            Instance { number: *numbers, master, life: Life::Running, pools, born: Instant::now(), has_begun: false };
        self.instances.push(instance);
        Ok(())
    }

    fn all_are_ready(&self) -> bool {
        self.instances.last().is_some_and(Instance::is_ready)
    }

    /// Fills the opcache from that of the generation before, if there is one.
    fn warm_up(&mut self) {
        self.warmth = Warmth::Warming;
        let servers = self.shared.upstream.servers();
        let old = servers.iter().find_map(|server| match &server.settings().address.location {
            ServerLocation::Unix(path) => Some(path.clone()),
            _ => None,
        });
        let new = self.instances.last().and_then(|instance| {
            Some((instance.pools.first()?.path().to_owned(), instance.master.folder().to_owned()))
        });
        let messages = self.messages.clone();
        drop(spawn_local(async move {
            if let (Some(old), Some((new, folder))) = (old, new) {
                warm_up(old, new, folder).await;
            }
            messages.send(FpmMessage::Ready);
        }));
    }

    /// Looks at all children.
    fn look(&mut self) {
        let settings = &self.shared.settings;
        let mut has_changed = false;
        for instance in &mut self.instances {
            has_changed |= instance.look(settings);
        }
        self.instances.retain(|instance| instance.life != Life::Over);
        match self.phase {
            Phase::Loading if self.warmth == Warmth::Cold && self.all_are_ready() => self.warm_up(),
            Phase::Serving if has_changed => self.publish(),
            _ => {}
        }
    }

    /// Ready children get requests. A replacement of a php-fpm serves when all of its children are ready.
    fn activate_ready(&mut self) {
        let Some(instance) = self.instances.last_mut().filter(|instance| instance.life == Life::Running) else {
            return;
        };
        instance.has_begun |= instance.is_ready();
        if !instance.has_begun || !instance.pools.iter().any(Pool::is_ready) {
            return;
        }
        instance.pools.iter_mut().for_each(Pool::serve);
        self.publish();
    }

    /// Gives the proxy the list of children that get requests.
    fn publish(&mut self) {
        let serving = self.instances.iter().flat_map(|instance| &instance.pools).filter_map(Pool::serving);
        self.shared.upstream.replace_servers(serving.cloned().collect());
        let servers = self.shared.upstream.servers();
        let pools = self.instances.iter_mut().flat_map(|instance| &mut instance.pools);
        pools.for_each(|pool| pool.note_server(&servers));
    }

    /// Starts another php-fpm in place of one that has exited.
    fn replace_missing(&mut self, numbers: &mut u64) {
        let is_there = self.instances.last().is_some_and(|instance| instance.life == Life::Running);
        if is_there || self.phase != Phase::Serving || self.backoff.is_on(Instant::now()) {
            return;
        }
        if let Err(error) = self.start_instance(numbers) {
            tracing::error!("{}: cannot start php-fpm: {error}", self.shared.settings.run.name);
            self.backoff.fail(Instant::now());
        }
    }

    fn is_quiet(&self) -> bool {
        self.phase == Phase::Serving
            && self.instances.iter().all(|instance| instance.life == Life::Running)
            && self.instances.iter().flat_map(|instance| &instance.pools).all(Pool::is_quiet)
    }
}
