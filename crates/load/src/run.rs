//! A run: the threads, what they report, and what becomes of it.

use std::{
    sync::{
        Arc,
        atomic::AtomicU64,
        mpsc::{self, Receiver},
    },
    thread,
};

use serow_net::{monotonic, time};

use crate::{
    Interval, LoadError, Plan, Requests, Results,
    collection::Collection,
    script::Conductor,
    sender::{Report, Sending},
    thread::RunState,
};

/// Ends a run before its time. Clones end the same.
#[derive(Clone, Debug, Default)]
pub struct Stopper(Arc<RunState>);

impl Stopper {
    /// No more requests are sent; those in flight are awaited. Takes up to a tenth of a second to be noticed.
    pub fn stop(&self) {
        self.0.stop();
    }
}

/// A run that has not begun.
#[derive(Debug)]
pub struct Run {
    plan: Plan,
    shared: Arc<RunState>,
}

impl Run {
    /// A run of this plan.
    #[must_use]
    pub fn new(plan: Plan) -> Self {
        let left = plan.count.map(|count| Arc::new(AtomicU64::new(count)));
        let shared = Arc::new(RunState::new(left));
        Self { plan, shared }
    }

    /// Returns a handle that ends it before its time.
    #[must_use]
    pub fn stopper(&self) -> Stopper {
        Stopper(Arc::clone(&self.shared))
    }

    /// Runs the load in threads of its own, and waits for its end. Calls `watch` after each step, and a script's `done`
    /// before it returns; `describe` completes the results before that.
    ///
    /// # Errors
    ///
    /// A failure that leaves no sense in the whole run; errors of single requests are in the results.
    pub fn run(
        self,
        mut watch: impl FnMut(&Interval),
        describe: impl FnOnce(Results) -> Results,
    ) -> Result<Results, LoadError> {
        let Self { plan, shared } = self;
        let mut conductor = match &plan.requests {
            Requests::Script(script, target) => Some(Conductor::load(script, (**target).clone())?),
            Requests::Fixed(_) => None,
        };
        let (sender, reports) = mpsc::channel();
        for number in 0..plan.threads {
            let seat = conductor.as_ref().map(Conductor::thread);
            let (handle, seat) = seat.map_or((None, None), |(handle, seat)| (Some(handle), Some(seat)));
            let sending =
                Sending { plan: plan.clone(), number, shared: Arc::clone(&shared), reports: sender.clone(), seat };
            // Threads that run already end when the conductor is dropped, or by this.
            thread::Builder::new()
                .name(format!("load {number}"))
                .spawn(move || sending.run())
                .inspect_err(|_| shared.stop())?;
            if let (Some(conductor), Some(handle)) = (&mut conductor, handle) {
                conductor.set_up(handle)?;
            }
        }
        drop(sender);
        let start = shared.start();
        if let Some(conductor) = &mut conductor {
            conductor.begin()?;
        }
        let mut collection = Collection::new(&plan, start + plan.warm_up);
        if let Some(failure) = collect(&reports, &mut collection, &mut watch) {
            return Err(failure);
        }
        // A run that was stopped in its warm-up never came to its beginning.
        let began = time::wall() - monotonic().saturating_sub(start + plan.warm_up);
        let results = describe(collection.into_results(&plan, began));
        if let Some(conductor) = conductor {
            conductor.done(&results)?;
        }
        Ok(results)
    }
}

/// Takes reports until all threads have ended.
fn collect(
    reports: &Receiver<Report>,
    collection: &mut Collection,
    watch: &mut impl FnMut(&Interval),
) -> Option<LoadError> {
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
