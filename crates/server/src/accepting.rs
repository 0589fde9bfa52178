//! The accept loop of a worker thread, and what happens to its connections when the server stops.

use std::{convert::Infallible, future::poll_fn, ops::ControlFlow, rc::Rc, sync::mpsc::Sender, task::Poll};

use serow_message::Handler;
use serow_net::{
    AcceptError, Accepted, Acceptor, LastingWork, Listener, PAUSE_AFTER_EXHAUSTION, PortDrained, thread_runtime,
};
use tokio::{
    sync::watch,
    task::{JoinSet, coop::has_budget_remaining, spawn_local, yield_now},
};

use crate::{
    Error, connection,
    listener_terms::ListenerTerms,
    quic::{self, QuicSocket},
    stop::Phase,
    worker::Worker,
};

/// A listening socket, and what its connections are to have.
pub(crate) struct Endpoint {
    pub(crate) listener: Listener,
    pub(crate) terms: ListenerTerms,
}

/// The channels by which a worker shows how far it is.
pub(crate) struct Progress {
    /// Gets a message when connections are accepted.
    pub(crate) started: Sender<()>,
    /// Dropped when none are accepted any more.
    pub(crate) accepting: Sender<Infallible>,
}

/// Serves until `stop` changes its phase.
pub(crate) fn run<H: Handler>(
    worker: Worker<H>,
    listeners: Vec<Endpoint>,
    quic: Vec<QuicSocket>,
    stop: watch::Receiver<Phase>,
    progress: Progress,
) -> Result<(), Error> {
    thread_runtime()?.block_on(run_here(worker, listeners, quic, stop, progress))
}

/// The same in the runtime of this thread.
pub(crate) async fn run_here<H: Handler>(
    worker: Worker<H>,
    listeners: Vec<Endpoint>,
    quic: Vec<QuicSocket>,
    stop: watch::Receiver<Phase>,
    progress: Progress,
) -> Result<(), Error> {
    let worker = Rc::new(worker);
    let ticking = Rc::clone(&worker);
    spawn_local(async move { ticking.deadlines.run(&ticking.clock).await });
    let asked = Rc::clone(&worker);
    spawn_local(async move { asked.make_room_for_others().await });
    for socket in quic {
        // Connections receive by it to their end, also while the server stops.
        spawn_local(quic::accept(Rc::clone(&worker), socket));
    }
    serve(worker, listeners, stop, progress).await
}

async fn serve<H: Handler>(
    worker: Rc<Worker<H>>,
    listeners: Vec<Endpoint>,
    mut stop: watch::Receiver<Phase>,
    progress: Progress,
) -> Result<(), Error> {
    let Progress { started, accepting: is_accepting } = progress;
    let mut accepting = JoinSet::new();
    // The listeners look at it for each connection, which takes a lock: one of this worker, not of all workers.
    let (stopping, is_stopping) = watch::channel(false);
    for Endpoint { listener, terms } in listeners {
        let acceptor = Acceptor::new(listener)?;
        accepting.spawn_local(accept(
            is_accepting.clone(),
            Rc::clone(&worker),
            acceptor,
            Rc::new(terms.of_worker()),
            is_stopping.clone(),
        ));
    }
    drop(is_accepting);
    let _ = started.send(());
    drop(started);
    // An error means that nobody can stop the server any more, so that it is over.
    let _ = stop.wait_for(|phase| phase.is_stopping()).await;
    worker.begin_draining();
    stopping.send_replace(true);
    let all_left = async {
        while accepting.join_next().await.is_some() {}
        worker.counters.connections.wait_until(|count| count == 0).await;
        LastingWork::all_ended().await;
    };
    let mut all_left = std::pin::pin!(all_left);
    loop {
        let grace = match *stop.borrow_and_update() {
            Phase::Draining(Some(grace)) | Phase::HandingOver(grace) => grace,
            Phase::Draining(None) | Phase::Running => worker.settings.timeouts.grace,
            Phase::Ended => return Ok(()),
        };
        worker.limit_drain(grace);
        tokio::select! {
            biased;
            () = &mut all_left => return Ok(()),
            () = tokio::time::sleep(grace) => {
                let connections = worker.counters.connections.count();
                tracing::warn!(connections, "the grace period is over: closing the connections still in use");
                return Ok(());
            }
            // Less time than before, or none.
            Ok(()) = stop.changed() => {}
        }
    }
}

/// Accepts until the server stops, then accepts the connections left in the queue.
async fn accept<H: Handler>(
    // The first, so that it is dropped after the socket.
    _is_accepting: Sender<Infallible>,
    worker: Rc<Worker<H>>,
    mut acceptor: Acceptor,
    terms: Rc<ListenerTerms>,
    mut stopping: watch::Receiver<bool>,
) {
    let mut left = acceptor.listener().port_drained();
    loop {
        let accepted = tokio::select! {
            biased;
            accepted = accept_within_limit(&worker, &mut acceptor) => accepted,
            () = end_of_accepting(&mut stopping, &mut left) => break,
        };
        if take_in(&worker, accepted, &terms).await.is_break() {
            return;
        }
    }
    accept_rest(&worker, &mut acceptor, &terms).await;
}

/// Ready when the server stops and, where a port is shared, no new connections arrive any more.
async fn end_of_accepting(stopping: &mut watch::Receiver<bool>, left: &mut PortDrained) {
    let _ = stopping.wait_for(|is_stopping| *is_stopping).await;
    left.wait().await;
}

/// The next connection, once there is room for it. It waits in the kernel's queue until then.
async fn accept_within_limit<H: Handler>(worker: &Worker<H>, acceptor: &mut Acceptor) -> Result<Accepted, AcceptError> {
    loop {
        let accepted = poll_fn(|context| match worker.is_full() {
            // Another listener of this worker, or another worker, may have filled it since the last look.
            true => acceptor.poll_waiting(context).map_ok(|()| None),
            false => acceptor.poll_accept(context).map_ok(Some),
        });
        match accepted.await? {
            Some(accepted) => return Ok(accepted),
            None => worker.make_room().await,
        }
    }
}

/// The kernel has accepted the connections in the queue already: they are served, beyond the limit too.
async fn accept_rest<H: Handler>(worker: &Rc<Worker<H>>, acceptor: &mut Acceptor, terms: &Rc<ListenerTerms>) {
    loop {
        // The runtime looks for events before this goes on, so that the queue is not thought to be empty for lack of a
        // look at it.
        yield_now().await;
        loop {
            match poll_fn(|context| Poll::Ready(acceptor.poll_accept(context))).await {
                Poll::Ready(accepted) => {
                    if take_in(worker, accepted, terms).await.is_break() {
                        return;
                    }
                }
                // This task has had its turn; the queue may hold more.
                Poll::Pending if !has_budget_remaining() => break,
                Poll::Pending => return,
            }
        }
    }
}

/// Starts an accepted connection, or waits after an accept error; returns whether accepting is over.
async fn take_in<H: Handler>(
    worker: &Rc<Worker<H>>,
    accepted: Result<Accepted, AcceptError>,
    terms: &Rc<ListenerTerms>,
) -> ControlFlow<()> {
    match accepted {
        Ok(accepted) => start(worker, accepted, terms),
        Err(error @ AcceptError::Exhausted(_)) => {
            tracing::warn!("{error}");
            worker.close_longest_idle();
            tokio::time::sleep(PAUSE_AFTER_EXHAUSTION).await;
        }
        Err(error @ AcceptError::Fatal(_)) => {
            tracing::error!("{error}");
            return ControlFlow::Break(());
        }
    }
    ControlFlow::Continue(())
}

fn start<H: Handler>(worker: &Rc<Worker<H>>, accepted: Accepted, terms: &Rc<ListenerTerms>) {
    worker.counters.accepted.add(1);
    worker.counters.accepted_tls.add(terms.tls.is_some().into());
    let mut guard = worker.enter();
    if let serow_net::Peer::Tcp(address) = accepted.peer
        && !worker.settings.proxy_protocol.is_required()
    {
        match worker.clients.admit(address.ip()) {
            Ok(client) => guard.count_for(client),
            // The client learns nothing but the end of the connection, which costs the least.
            Err(refusal) => return worker.counters.note_refused_client(refusal),
        }
    }
    // Boxed, so that tokio does not copy its three kilobytes into the task, and twice more when it has ended.
    spawn_local(Box::pin(connection::serve(Rc::clone(worker), accepted, Rc::clone(terms), guard)));
}
