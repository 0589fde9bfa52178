//! The state of names that clients request: bounded, without I/O and without a clock.

use std::{
    collections::{HashMap, VecDeque},
    time::{Duration, Instant},
};

use tokio::sync::oneshot;

use super::OrderRate;

/// The state of names that clients request.
pub(crate) struct DemandState {
    places: HashMap<Box<str>, NameState>,
    /// Names in the state [`NameState::Asking`].
    questions: usize,
    /// Until when a name is refused without another question.
    refused: HashMap<Box<str>, Instant>,
    /// The same names, the oldest first.
    refusals: VecDeque<Box<str>>,
    budget: OrderBudget,
    limit: usize,
}

/// The state of a name.
enum NameState {
    /// Its certificate is looked for in the store, and its permission asked for.
    Asking(Vec<oneshot::Sender<()>>),
    /// Its certificate is ordered.
    Ordering(Vec<oneshot::Sender<()>>),
    /// It has a certificate.
    Served {
        /// A client has requested it since it was last renewed.
        is_used: bool,
    },
}

/// The answer to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// There will be no certificate soon.
    Unknown,
    /// Someone looks for it already.
    Wait,
    /// The caller has someone look for it.
    Begin,
}

/// Why an order may not begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exceeded {
    /// Too many in this time.
    Rate,
    /// Too many names.
    Names,
}

/// How many orders may begin: a token bucket.
struct OrderBudget {
    rate: OrderRate,
    tokens: f64,
    updated: Instant,
}

impl DemandState {
    pub(crate) fn new(rate: OrderRate, limit: usize, now: Instant) -> Self {
        Self {
            places: HashMap::new(),
            questions: 0,
            refused: HashMap::new(),
            refusals: VecDeque::new(),
            budget: OrderBudget { rate, tokens: f64::from(rate.count), updated: now },
            limit,
        }
    }

    /// A client requests a name that has no certificate in use; returns what ends when that is settled.
    pub(crate) fn request(&mut self, name: &str, now: Instant) -> (Answer, Option<oneshot::Receiver<()>>) {
        if self.refused.get(name).is_some_and(|end| now < *end) {
            return (Answer::Unknown, None);
        }
        let (sender, receiver) = oneshot::channel();
        match self.places.get_mut(name) {
            Some(NameState::Asking(waiting) | NameState::Ordering(waiting)) => {
                // Handshakes that have ended meanwhile must not fill the memory of a long order.
                waiting.retain(|waiting| !waiting.is_closed());
                waiting.push(sender);
                (Answer::Wait, Some(receiver))
            }
            // It has just been installed or removed.
            Some(NameState::Served { is_used }) => {
                *is_used = true;
                (Answer::Unknown, None)
            }
            None if self.questions >= MAX_QUESTIONS => (Answer::Unknown, None),
            None => {
                self.questions += 1;
                self.places.insert(name.into(), NameState::Asking(vec![sender]));
                (Answer::Begin, Some(receiver))
            }
        }
    }

    /// A client has requested a name that has a certificate.
    pub(crate) fn note_use(&mut self, name: &str) {
        if let Some(NameState::Served { is_used }) = self.places.get_mut(name) {
            *is_used = true;
        }
    }

    /// Whether a client has requested this name since it was last renewed.
    pub(crate) fn is_used(&self, name: &str) -> bool {
        matches!(self.places.get(name), Some(NameState::Served { is_used: true }))
    }

    /// Whether an order could begin now; if not, its permission need not be asked for.
    pub(crate) fn may_order(&mut self, now: Instant) -> Result<(), Exceeded> {
        if self.places.len() - self.questions >= self.limit {
            return Err(Exceeded::Names);
        }
        if self.budget.available(now) < 1.0 { Err(Exceeded::Rate) } else { Ok(()) }
    }

    /// The order for a name begins, after its question.
    pub(crate) fn begin_order(&mut self, name: &str, now: Instant) -> Result<(), Exceeded> {
        self.may_order(now)?;
        self.budget.tokens -= 1.0;
        if let Some(place) = self.places.get_mut(name)
            && let NameState::Asking(waiting) = place
        {
            *place = NameState::Ordering(std::mem::take(waiting));
            self.questions -= 1;
        }
        Ok(())
    }

    /// The name has a certificate from the store, or a new one; fails if too many have one.
    pub(crate) fn serve(&mut self, name: &str, is_used: bool) -> Result<(), Exceeded> {
        let was_counted = self.places.get(name).is_some_and(|place| !matches!(place, NameState::Asking(_)));
        if !was_counted && self.places.len() - self.questions >= self.limit {
            return Err(Exceeded::Names);
        }
        self.end(name);
        self.places.insert(name.into(), NameState::Served { is_used });
        Ok(())
    }

    /// The name has been renewed.
    pub(crate) fn renewed(&mut self, name: &str) {
        if let Some(NameState::Served { is_used }) = self.places.get_mut(name) {
            *is_used = false;
        }
    }

    /// Nothing more is known about the name. Those who wait go on.
    pub(crate) fn end(&mut self, name: &str) {
        if let Some(NameState::Asking(_)) = self.places.remove(name) {
            self.questions -= 1;
        }
    }

    /// The name has no certificate, and there is no question about it for this time.
    pub(crate) fn refuse(&mut self, name: &str, now: Instant, time: Duration) {
        self.end(name);
        if self.refused.insert(name.into(), now + time).is_some() {
            // It keeps its place among the refusals.
            return;
        }
        self.refusals.push_back(name.into());
        while let Some(oldest) = self.refusals.front()
            && (self.refusals.len() > MAX_REFUSED || self.refused.get(oldest).is_none_or(|end| *end <= now))
        {
            self.refused.remove(oldest);
            self.refusals.pop_front();
        }
    }

    /// The numbers of names with a state, and of those that are refused.
    #[cfg(test)]
    pub(crate) fn sizes(&self) -> (usize, usize) {
        assert_eq!(self.refused.len(), self.refusals.len());
        (self.places.len(), self.refused.len())
    }
}

impl OrderBudget {
    fn available(&mut self, now: Instant) -> f64 {
        let passed = now.saturating_duration_since(self.updated).as_secs_f64();
        let count = f64::from(self.rate.count);
        self.updated = now;
        self.tokens = (self.tokens + passed * count / self.rate.period.as_secs_f64()).min(count);
        self.tokens
    }
}

/// Questions at a time. A flood of new names must not become a flood for the program that
/// answers; while as many are under way, other new names are unknown.
pub(crate) const MAX_QUESTIONS: usize = 32;

/// Refused names that are remembered: a flood of different ones then takes 4 MB at most.
pub(crate) const MAX_REFUSED: usize = 10_000;

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    fn state(count: u32, limit: usize) -> (DemandState, Instant) {
        let now = Instant::now();
        (DemandState::new(OrderRate { count, period: MINUTE }, limit, now), now)
    }

    #[test]
    fn one_question_is_asked_for_all_that_wait() {
        let (mut state, now) = state(5, 10);
        let (answer, mut first) = state.request("a.example", now);
        assert_eq!(answer, Answer::Begin);
        let (answer, mut second) = state.request("a.example", now);
        assert_eq!(answer, Answer::Wait);
        state.begin_order("a.example", now).unwrap();
        assert_eq!(state.request("a.example", now).0, Answer::Wait);
        assert!(first.as_mut().unwrap().try_recv().is_err_and(|error| error == oneshot::error::TryRecvError::Empty));
        state.serve("a.example", false).unwrap();
        for waiting in [&mut first, &mut second] {
            let ended = waiting.as_mut().unwrap().try_recv();
            assert_eq!(ended, Err(oneshot::error::TryRecvError::Closed));
        }
    }

    #[test]
    fn a_refused_name_is_asked_about_again_after_its_time() {
        let (mut state, now) = state(5, 10);
        assert_eq!(state.request("a.example", now).0, Answer::Begin);
        state.refuse("a.example", now, MINUTE);
        assert_eq!(state.request("a.example", now + MINUTE / 2).0, Answer::Unknown);
        assert_eq!(state.request("a.example", now + MINUTE).0, Answer::Begin);
        state.refuse("a.example", now + MINUTE, MINUTE);
        assert_eq!(state.request("a.example", now + MINUTE).0, Answer::Unknown);
        assert_eq!(state.sizes(), (0, 1));
        // Those whose time has passed leave with the next one.
        state.refuse("b.example", now + 3 * MINUTE, MINUTE);
        assert_eq!(state.sizes(), (0, 1));
    }

    #[test]
    fn questions_orders_and_names_are_limited() {
        let (mut state, now) = state(2, 3);
        for number in 0..MAX_QUESTIONS {
            assert_eq!(state.request(&number.to_string(), now).0, Answer::Begin);
        }
        assert_eq!(state.request("more", now).0, Answer::Unknown);
        assert_eq!(
            [0, 1, 2].map(|number| state.begin_order(&number.to_string(), now)),
            [Ok(()), Ok(()), Err(Exceeded::Rate)]
        );
        assert_eq!(state.request("more", now).0, Answer::Begin);
        assert_eq!(state.begin_order("2", now + MINUTE / 4), Err(Exceeded::Rate));
        assert_eq!(state.begin_order("2", now + MINUTE / 2), Ok(()));
        assert_eq!(state.begin_order("3", now + 10 * MINUTE), Err(Exceeded::Names));
        assert_eq!(state.serve("3", true), Err(Exceeded::Names));
        assert_eq!(state.serve("2", false), Ok(()));
        state.end("2");
        assert_eq!(state.serve("3", true), Ok(()));
    }

    #[test]
    fn a_name_is_used_until_its_certificate_is_renewed() {
        let (mut state, now) = state(5, 10);
        assert_eq!(state.request("a.example", now).0, Answer::Begin);
        state.serve("a.example", false).unwrap();
        assert!(!state.is_used("a.example"));
        state.note_use("a.example");
        assert!(state.is_used("a.example"));
        state.renewed("a.example");
        assert!(!state.is_used("a.example"));
    }
}
