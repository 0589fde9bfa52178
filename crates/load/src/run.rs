//! A run: the threads, what they report, and what becomes of it.

use std::{
    sync::{
        Arc,
        atomic::AtomicU64,
        mpsc::{self, Receiver, Sender},
    },
    thread,
    time::{Duration, SystemTime},
};

use serow_net::monotonic;

use crate::{
    Failure, Interval, Plan, Results,
    collection::Collection,
    sender::{self, Report},
    thread::Shared,
};

/// Ends a run before its time. Clones end the same.
#[derive(Clone, Debug, Default)]
pub struct Stopper(Arc<Shared>);

impl Stopper {
    /// No more requests are sent; those under way are awaited. Takes up to a tenth of a second to be noticed.
    pub fn stop(&self) {
        self.0.stop();
    }
}

/// A run that has not begun.
#[derive(Debug)]
pub struct Run {
    plan: Plan,
    shared: Arc<Shared>,
}

impl Run {
    /// A run of this plan.
    #[must_use]
    pub fn new(plan: Plan) -> Self {
        let left = plan.count.map(|count| Arc::new(AtomicU64::new(count)));
        let shared = Arc::new(Shared::new(left));
        Self { plan, shared }
    }

    /// What ends it before its time.
    #[must_use]
    pub fn stopper(&self) -> Stopper {
        Stopper(Arc::clone(&self.shared))
    }

    /// Runs it in threads of its own, and waits for its end. `watch` is told of each step as it is over.
    ///
    /// # Errors
    ///
    /// What makes the whole run senseless; what happens to single requests is in the results.
    pub fn run(self, mut watch: impl FnMut(&Interval)) -> Result<Results, Failure> {
        let Self { plan, shared } = self;
        let began = SystemTime::now() + plan.warm_up;
        let start = monotonic();
        let (sender, reports) = mpsc::channel();
        let threads: Vec<_> = (0..plan.threads)
            .map(|number| spawn(&plan, &shared, &sender, number, start))
            .collect::<Result<_, _>>()
            .inspect_err(|_| shared.stop())?;
        drop(sender);
        let mut collection = Collection::new(&plan, start + plan.warm_up);
        let failure = collect(&reports, &mut collection, &mut watch);
        for thread in threads {
            // A thread that panics has said so; what it counted before was received.
            let _ = thread.join();
        }
        match failure {
            Some(failure) => Err(failure),
            None => Ok(collection.into_results(&plan, began)),
        }
    }
}

fn spawn(
    plan: &Plan,
    shared: &Arc<Shared>,
    reports: &Sender<Report>,
    number: usize,
    start: Duration,
) -> Result<thread::JoinHandle<()>, Failure> {
    let (plan, shared, reports) = (plan.clone(), Arc::clone(shared), reports.clone());
    let builder = thread::Builder::new().name(format!("load {number}"));
    Ok(builder.spawn(move || sender::run(&plan, shared, number, start, &reports))?)
}

/// Takes reports until all threads have ended.
fn collect(
    reports: &Receiver<Report>,
    collection: &mut Collection,
    watch: &mut impl FnMut(&Interval),
) -> Option<Failure> {
    let mut failure = None;
    for report in reports {
        match report {
            Report::Step { number, stretch } => collection.add(number, &stretch, watch),
            Report::Rate(rate) => collection.add_rate(rate),
            Report::End(end) => collection.add_end(&end),
            Report::Failed(reason) => {
                failure.get_or_insert(reason);
            }
        }
    }
    failure
}
