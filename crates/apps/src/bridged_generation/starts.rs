//! Starts that take too long: of workers and template processes that replace others, while the application serves. The
//! first start of a generation is limited as a whole, by `startup_error`.

use std::time::Duration;

use rustix::process::Signal;
use tokio::time::Instant;

use super::{
    BridgedGeneration, Phase,
    worker::{Worker, WorkerStage},
};

impl BridgedGeneration {
    /// Ends starts that have exceeded the time limit; the next attempt waits longer with each of them in a row.
    pub(super) fn end_late_starts(&mut self, now: Instant) {
        if self.phase != Phase::Serving {
            return;
        }
        let limit = self.shared.settings.run.start_timeout;
        let is_late = |worker: &Worker| worker.stage == WorkerStage::Loading && has_passed(limit, worker.born, now);
        let late: Vec<_> = (0..self.workers.len()).filter(|place| is_late(&self.workers[*place])).collect();
        let is_unforked = |place: &usize| self.workers[*place].pid.is_none();
        // It forks the requested workers one after the other: a hook before a fork hangs.
        let hangs = late.iter().any(is_unforked);
        let is_slow = self.templates.current_if_unready().is_some_and(|born| has_passed(limit, born, now));
        if late.is_empty() && !is_slow {
            return;
        }
        let name = &self.shared.settings.run.name;
        for place in late {
            let worker = &mut self.workers[place];
            tracing::error!("{name} {}: did not start within {limit:?}; killed", worker.link.place);
            worker.stage = WorkerStage::Late;
            worker.signal(Signal::KILL);
        }
        if hangs || is_slow {
            tracing::error!(
                "{name}: the template process did not {} within {limit:?}; killed",
                if hangs { "fork" } else { "start" }
            );
            // Its workers go on, and their exits are noticed without it.
            self.templates.kill_current();
        }
        self.backoff.fail(now);
    }
}

/// Whether this much time has passed since then.
fn has_passed(limit: Duration, since: Instant, now: Instant) -> bool {
    now.saturating_duration_since(since) >= limit
}

#[cfg(test)]
mod tests {
    use std::{num::NonZero, process::Command, sync::Arc};

    use serow_processes::{Backoff, MessageSender, WorkerGeneration};
    use tokio::sync::mpsc::unbounded_channel;

    use super::*;
    use crate::{
        interpreter::Interpreter,
        program::{Interface, Program},
        settings::ApplicationSettings,
        shared_state::ApplicationState,
        worker_link::WorkerLink,
    };

    const LIMIT: Duration = Duration::from_secs(60);

    fn generation(phase: Phase) -> BridgedGeneration {
        let interpreter = Interpreter::from_command(["ruby"]);
        let program = Program { interface: Interface::Rack, application: "config.ru".to_owned(), interpreter };
        let mut settings = ApplicationSettings::new("test", program, "/".into());
        settings.run.processes = NonZero::<usize>::MIN;
        settings.run.start_timeout = LIMIT;
        let (sender, _) = unbounded_channel();
        BridgedGeneration {
            number: 1,
            shared: Arc::new(ApplicationState::new(settings, 1)),
            messages: MessageSender::new(1, sender),
            templates: Default::default(),
            workers: Vec::new(),
            phase,
            backoff: Backoff::default(),
            started: Instant::now(),
        }
    }

    fn add(generation: &mut BridgedGeneration, stage: WorkerStage, pid: Option<i32>) {
        let number = generation.workers.len() as u64;
        let (link, _) = WorkerLink::new(number, 1, 1).unwrap();
        let mut worker = Worker::new(Arc::new(link), 1, None);
        worker.stage = stage;
        pid.into_iter().for_each(|pid| worker.forked(pid));
        generation.workers.push(worker);
    }

    fn stages(generation: &BridgedGeneration) -> Vec<WorkerStage> {
        generation.workers.iter().map(|worker| worker.stage).collect()
    }

    #[test]
    fn a_worker_that_hangs_at_its_start_is_killed_when_its_time_is_over() {
        for forked in [true, false] {
            let mut generation = generation(Phase::Serving);
            let mut child = Command::new("sleep").arg("1000").spawn().unwrap();
            add(&mut generation, WorkerStage::Serving, None);
            add(&mut generation, WorkerStage::Loading, forked.then(|| child.id() as i32));
            let born = generation.workers[1].born;
            generation.end_late_starts(born + LIMIT - Duration::from_millis(1));
            assert_eq!(stages(&generation), [WorkerStage::Serving, WorkerStage::Loading]);
            generation.end_late_starts(born + LIMIT);
            assert_eq!(stages(&generation), [WorkerStage::Serving, WorkerStage::Late], "{forked}");
            if !forked {
                child.kill().unwrap();
            }
            assert!(!child.wait().unwrap().success());
            // Without its template process, it has ended, and another one is due after a pause.
            assert!(generation.backoff.is_on(born + LIMIT) && !generation.backoff.is_on(born + LIMIT + LIMIT));
            generation.replace(&mut 1);
            assert_eq!(
                generation.workers.iter().filter(|worker| worker.stage == WorkerStage::Late).count(),
                0,
                "{forked}"
            );
        }
    }

    #[test]
    fn pauses_grow_while_starts_hang() {
        let mut generation = generation(Phase::Serving);
        let mut now = Instant::now();
        let pauses: Vec<_> = (0..4)
            .map(|_| {
                generation.workers.clear();
                add(&mut generation, WorkerStage::Loading, None);
                generation.workers[0].born = now;
                now += LIMIT;
                generation.end_late_starts(now);
                (0..20).take_while(|second| generation.backoff.is_on(now + Duration::from_secs(*second))).count()
            })
            .collect();
        assert_eq!(pauses, [1, 2, 3, 4]);
    }

    #[test]
    fn other_stages_and_phases_have_no_limit_here() {
        for (phase, stage) in [
            (Phase::Serving, WorkerStage::Ready),
            (Phase::Serving, WorkerStage::Serving),
            (Phase::Serving, WorkerStage::Draining),
            (Phase::Loading, WorkerStage::Loading),
            (Phase::Retired, WorkerStage::Loading),
        ] {
            let mut generation = generation(phase);
            add(&mut generation, stage, None);
            generation.end_late_starts(Instant::now() + LIMIT + LIMIT);
            assert_eq!(stages(&generation), [stage], "{phase:?}");
        }
    }

    #[test]
    fn a_generation_ends_though_its_template_process_hangs() {
        let mut generation = generation(Phase::Loading);
        let mut child = Command::new("sleep").arg("1000").spawn().unwrap();
        add(&mut generation, WorkerStage::Loading, None);
        add(&mut generation, WorkerStage::Loading, Some(child.id() as i32));
        generation.retire();
        generation.kill();
        assert!(!child.wait().unwrap().success());
        generation.replace(&mut 2);
        assert!(generation.has_ended());
    }
}
