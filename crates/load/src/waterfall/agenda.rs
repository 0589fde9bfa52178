//! The timetable of requests and priority changes.

use std::{collections::VecDeque, time::Duration};

use serow_message::Priority;

use super::ResourceSpec;

/// The steps, the next one first.
#[derive(Clone, Debug)]
pub(super) struct Agenda {
    steps: VecDeque<(Duration, AgendaStep)>,
}

/// A step for the resource with this number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AgendaStep {
    Ask(usize),
    Change(usize, Priority),
}

impl Agenda {
    pub(super) fn new(specs: &[ResourceSpec]) -> Self {
        let steps = specs.iter().enumerate().flat_map(|(resource, spec)| {
            let changes =
                spec.changes.iter().map(move |change| (change.at, AgendaStep::Change(resource, change.priority)));
            [(spec.after, AgendaStep::Ask(resource))].into_iter().chain(changes)
        });
        let mut steps: Vec<_> = steps.collect();
        // Stable: what has no delay of its own stays in the order that was written.
        steps.sort_by_key(|(moment, _)| *moment);
        Self { steps: steps.into() }
    }

    /// When the next thing is due, from the beginning.
    pub(super) fn next_moment(&self) -> Option<Duration> {
        self.steps.front().map(|(moment, _)| *moment)
    }

    /// The next thing, if it is due.
    pub(super) fn take_due(&mut self, elapsed: Duration) -> Option<AgendaStep> {
        self.next_moment().filter(|moment| *moment <= elapsed)?;
        self.steps.pop_front().map(|(_, step)| step)
    }

    /// Whether something is still to be asked for.
    pub(super) fn has_requests(&self) -> bool {
        self.steps.iter().any(|(_, step)| matches!(step, AgendaStep::Ask(_)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::waterfall::read_resource_specs;

    #[test]
    fn everything_in_its_time() {
        let (_, specs) = read_resource_specs(["a/1,after=2s,at=3s,u=1", "/2,at=1s,i", "/3"]).unwrap();
        let mut agenda = Agenda::new(&specs);
        let mut steps = Vec::new();
        while let Some(moment) = agenda.next_moment() {
            if let Some(before) = moment.checked_sub(Duration::from_nanos(1)) {
                assert_eq!(agenda.take_due(before), None);
            }
            steps.extend(agenda.take_due(moment).map(|step| (moment.as_secs(), step)));
            assert_eq!(agenda.has_requests(), steps.len() < 4);
        }
        let (one, sharing) = (Priority { urgency: 1, incremental: false }, Priority { urgency: 3, incremental: true });
        let expected = [
            (0, AgendaStep::Ask(1)),
            (0, AgendaStep::Ask(2)),
            (1, AgendaStep::Change(1, sharing)),
            (2, AgendaStep::Ask(0)),
            (3, AgendaStep::Change(0, one)),
        ];
        assert_eq!(steps, expected);
    }
}
