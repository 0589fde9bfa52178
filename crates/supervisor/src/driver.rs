//! The driver: waits for events, passes them to the machine, and executes its actions.

use std::{
    collections::HashMap,
    io,
    time::{Duration, Instant},
};

use rustix::process::{Pid, WaitOptions, kill_process, wait};
use serow_net::time;
use tokio::{
    sync::mpsc::{self, Receiver, Sender},
    task::{AbortHandle, spawn_local},
    time::sleep,
};

use crate::{
    Settings, SignalName,
    environment::{self, Environment},
    health, log,
    machine::{Action, Event, Machine, MachineSettings, Readiness},
    notifications::{Notifications, tell_parent},
    signals::{Caught, Signals},
    sockets::Sockets,
    status_file::StatusFile,
    worker,
};

/// The driver of a machine.
pub(crate) struct Driver<'a> {
    settings: &'a Settings,
    sockets: &'a Sockets,
    environment: Environment,
    status_file: Option<StatusFile>,
    machine: Machine,
    began: Instant,
    /// The tasks of each worker: its notifications and health checks.
    tasks: HashMap<u32, Tasks>,
    /// The number of workers spawned so far.
    spawned: u64,
    signals: Signals,
    sender: Sender<Event>,
    receiver: Receiver<Event>,
}

/// The tasks of a worker, which end when this is dropped.
#[derive(Default)]
struct Tasks(Vec<AbortHandle>);

impl Drop for Tasks {
    fn drop(&mut self) {
        self.0.iter().for_each(AbortHandle::abort);
    }
}

impl<'a> Driver<'a> {
    /// A driver without workers.
    pub(crate) fn new(
        settings: &'a Settings,
        sockets: &'a Sockets,
        status_file: Option<StatusFile>,
        signals: Signals,
    ) -> Self {
        let environment = Environment::new(settings);
        let rules = environment::rules(&environment.variables());
        let (sender, receiver) = mpsc::channel(EVENTS_AHEAD);
        Self {
            settings,
            sockets,
            environment,
            status_file,
            machine: Machine::new(machine_settings(settings), rules),
            began: time::now(),
            tasks: HashMap::new(),
            spawned: 0,
            signals,
            sender,
            receiver,
        }
    }

    /// Runs until the supervisor is stopped and all workers have ended. Needs a local runtime of tokio.
    pub(crate) async fn run(mut self) {
        let mut next = self.handle(Event::Tick);
        while next == Next::Wait {
            let event = self.poll_event().await;
            self.machine.set_rules(environment::rules(&self.environment.variables()));
            next = match event {
                // Before all else: Ctrl-C ends the workers too, and they need no successors.
                Some(event @ Event::Stop(_)) => {
                    tell_parent("STOPPING=1");
                    self.handle(event).and_then(|| self.reap())
                }
                Some(event) => self.reap().and_then(|| self.handle(event)),
                None => self.reap(),
            }
            .and_then(|| self.handle(Event::Tick));
        }
    }

    /// Passes an event to the machine, and executes its actions.
    fn handle(&mut self, event: Event) -> Next {
        self.machine.handle(time::now().duration_since(self.began), event);
        self.act()
    }

    /// The next event; `None` if time has passed, or children have ended.
    async fn poll_event(&mut self) -> Option<Event> {
        let pause =
            self.machine.deadline().map(|deadline| deadline.saturating_sub(time::now().duration_since(self.began)));
        let pause = match pause {
            // A file may say something else in the meantime.
            Some(pause) if self.environment.may_change() => pause.min(MAX_PAUSE),
            Some(pause) => pause,
            None => Duration::MAX,
        };
        tokio::select! {
            caught = self.signals.poll() => match caught {
                Caught::Stop(signal) => Some(Event::Stop(signal)),
                Caught::Hangup => Some(Event::Hangup),
                // Server::Starter looks around at ALRM too.
                Caught::Alarm | Caught::Child | Caught::Reopen => None,
            },
            event = self.receiver.recv() => event,
            () = sleep(pause) => None,
        }
    }

    /// Reaps all children that have ended. As process 1 of a container this process also reaps orphans.
    fn reap(&mut self) -> Next {
        while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG) {
            let pid = pid.as_raw_nonzero().get().unsigned_abs();
            self.tasks.remove(&pid);
            if self.handle(Event::Exited(pid, status.as_raw())) == Next::End {
                return Next::End;
            }
        }
        Next::Wait
    }

    fn act(&mut self) -> Next {
        while let Some(action) = self.machine.poll_action() {
            match action {
                Action::Spawn(generation) => {
                    let event = self.spawn(generation).unwrap_or_else(|error| Event::NotSpawned(error.to_string()));
                    self.machine.handle(time::now().duration_since(self.began), event);
                }
                Action::Kill(signal, pids) => kill(&signal, &pids),
                Action::Log(line) => log::line(&line),
                Action::WriteStatus(workers) => self.write(|file| file.write(&workers)),
                Action::WriteFailure(generation, status) => self.write(|file| file.write_failure(generation, status)),
                Action::Ready => {
                    self.write(|file| {
                        file.clear_failure();
                        Ok(())
                    });
                    tell_parent("READY=1");
                }
                Action::Exit => return Next::End,
            }
        }
        Next::Wait
    }

    fn spawn(&mut self, generation: u64) -> io::Result<Event> {
        self.spawned += 1;
        let notifications = Notifications::bind(self.spawned)
            .inspect_err(|error| log::line(&format!("cannot receive readiness notifications of workers: {error}")))
            .ok();
        let variables = self.environment.variables();
        let address = notifications.as_ref().map(Notifications::address);
        let pid = worker::spawn(self.settings, self.sockets, variables, generation, address)?;
        let mut tasks = Tasks::default();
        if let Some(notifications) = notifications {
            tasks.0.push(spawn_local(notifications.listen(pid, self.sender.clone())).abort_handle());
        }
        if let Some(Ok(question)) = self.settings.health.as_ref().map(|url| url.question(generation, pid)) {
            tasks.0.push(spawn_local(health::wait(question, pid, self.sender.clone())).abort_handle());
        }
        self.tasks.insert(pid, tasks);
        Ok(Event::Spawned { generation, pid })
    }

    fn write(&mut self, write: impl FnOnce(&mut StatusFile) -> io::Result<()>) {
        if let Some(file) = &mut self.status_file
            && let Err(error) = write(file)
        {
            log::line(&format!("failed to write the status file: {error}"));
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Wait,
    End,
}

impl Next {
    fn and_then(self, more: impl FnOnce() -> Self) -> Self {
        if self == Self::End { self } else { more() }
    }
}

fn machine_settings(settings: &Settings) -> MachineSettings {
    MachineSettings {
        workers: settings.workers,
        interval: settings.interval,
        readiness: match settings.health {
            None => Readiness::Interval,
            Some(_) => Readiness::Health(settings.start_timeout),
        },
        signal_on_hup: settings.signal_on_hup.name().to_owned(),
        signal_on_term: settings.signal_on_term.name().to_owned(),
    }
}

/// A process that has already ended does not need a signal.
fn kill(signal: &str, pids: &[u32]) {
    let Ok(name) = signal.parse::<SignalName>() else { return };
    for pid in pids.iter().filter_map(|pid| Pid::from_raw(i32::try_from(*pid).ok()?)) {
        let _ = kill_process(pid, name.signal());
    }
}

/// The maximum number of queued events: workers that send more have to wait.
const EVENTS_AHEAD: usize = 64;

/// Server::Starter reads the environment files at this interval, if automatic restart is on.
const MAX_PAUSE: Duration = Duration::from_secs(1);
