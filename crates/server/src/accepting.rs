//! The life of a worker thread: it accepts until the server stops, and then finishes what runs.

use std::rc::Rc;

use serow_message::Handler;
use serow_net::{AcceptError, Accepted, Acceptor, Listener, PAUSE_AFTER_EXHAUSTION};
use tokio::{
    runtime::{Builder, LocalOptions},
    sync::watch,
    task::{JoinSet, spawn_local},
};

use crate::{Error, connection, stop::Phase, worker::Worker};

/// Serves until `stop` says otherwise.
pub(crate) fn run<H: Handler>(
    worker: Worker<H>,
    listeners: Vec<Listener>,
    stop: watch::Receiver<Phase>,
) -> Result<(), Error> {
    let runtime = Builder::new_current_thread()
        .enable_all()
        .event_interval(EVENT_INTERVAL)
        .build_local(LocalOptions::default())?;
    let worker = Rc::new(worker);
    runtime.block_on(async {
        let ticking = Rc::clone(&worker);
        spawn_local(async move { ticking.deadlines.run(&ticking.clock).await });
        serve(worker, listeners, stop).await
    })
}

async fn serve<H: Handler>(
    worker: Rc<Worker<H>>,
    listeners: Vec<Listener>,
    mut stop: watch::Receiver<Phase>,
) -> Result<(), Error> {
    let mut accepting = JoinSet::new();
    for listener in listeners {
        let acceptor = Acceptor::new(listener)?;
        accepting.spawn_local(accept(Rc::clone(&worker), acceptor, stop.clone()));
    }
    // An error means that nobody can stop the server any more, so that it is over.
    let _ = stop.wait_for(|phase| *phase >= Phase::Draining).await;
    worker.begin_draining();
    // What waits in the queues was accepted by the kernel in our name.
    while accepting.join_next().await.is_some() {}
    worker.deadlines.wake_all();
    tokio::select! {
        () = worker.population.wait_until(|count| count == 0) => {}
        () = tokio::time::sleep(worker.settings.timeouts.grace) => {
            let connections = worker.population.count();
            tracing::warn!(connections, "the grace time is over: cutting what still runs");
        }
        _ = stop.wait_for(|phase| *phase == Phase::Ended) => {}
    }
    Ok(())
}

/// Accepts until the server stops; then what is left in the queue.
async fn accept<H: Handler>(worker: Rc<Worker<H>>, mut acceptor: Acceptor, mut stop: watch::Receiver<Phase>) {
    loop {
        let most = worker.most_connections();
        if worker.population.count() >= most && !worker.is_draining() {
            tokio::select! {
                () = worker.population.wait_until(|count| count < most) => {}
                _ = stop.wait_for(|phase| *phase >= Phase::Draining) => {}
            }
        }
        let accepted = tokio::select! {
            biased;
            accepted = acceptor.accept() => accepted,
            _ = stop.wait_for(|phase| *phase >= Phase::Draining) => return,
        };
        match accepted {
            Ok(accepted) => start(&worker, accepted),
            Err(error @ AcceptError::Exhausted(_)) => {
                tracing::warn!("{error}");
                tokio::time::sleep(PAUSE_AFTER_EXHAUSTION).await;
            }
            Err(error @ AcceptError::Fatal(_)) => {
                tracing::error!("{error}");
                return;
            }
        }
    }
}

fn start<H: Handler>(worker: &Rc<Worker<H>>, accepted: Accepted) {
    let inhabitant = worker.population.enter();
    spawn_local(connection::serve(Rc::clone(worker), accepted, inhabitant));
}

/// Turns of tasks before the runtime looks for events of the system in between. tokio's 61 would ask the kernel once more
/// in each round of a server with more busy connections than that; when all tasks have had their turn it is asked anyway.
const EVENT_INTERVAL: u32 = 1024;
