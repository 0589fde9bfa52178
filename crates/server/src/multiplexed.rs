//! The common part of the connections of HTTP/2 and HTTP/3: many requests at a time, each an exchange of its own, over
//! one state machine.

mod body_forwarding;
mod demand;
mod events;
mod exchange;
mod exchanges;
mod machine;
mod respond;
mod tunnel;
mod turn;
mod waiting_body;
mod websocket;

use std::rc::Rc;

use serow_message::{Connection, Handler, Request, Response};
use serow_streams::Follows;

pub(crate) use self::{
    exchanges::Exchanges,
    machine::Machine,
    turn::{TurnOutput, give_way},
};
use crate::{access_log::RequestLog, status::StreamCounter, worker::Worker};

/// The requests of a connection. `M` is the state machine of its version of HTTP, `C` calls the handler, `F` is the
/// future that it returns.
pub(crate) struct Multiplexed<M, H, C, F>
where
    M: Machine,
    H: Handler,
    C: Fn(Request) -> F,
    F: Future<Output = Response>,
{
    pub(crate) worker: Rc<Worker<H>>,
    pub(crate) machine: M,
    pub(crate) connection: Connection,
    pub(crate) exchanges: Exchanges<F>,
    request_log: RequestLog,
    call: C,
    stream_counter: StreamCounter,
    /// Whether more or the end follows on the stream that was written last.
    follows: Follows,
}

impl<M, H, C, F> Multiplexed<M, H, C, F>
where
    M: Machine,
    H: Handler,
    C: Fn(Request) -> F,
    F: Future<Output = Response>,
{
    pub(crate) fn new(worker: Rc<Worker<H>>, machine: M, connection: Connection, call: C) -> Self {
        let stream_counter = StreamCounter::new(&worker.counters, M::streams);
        let (exchanges, request_log) = (Exchanges::new(), RequestLog::default());
        Self { worker, machine, connection, exchanges, request_log, call, stream_counter, follows: Follows::More }
    }

    /// Passes the machine's counters on. `is_held_back`: there is more to send than can be sent at present.
    pub(crate) fn tell_counters(&mut self, is_held_back: bool) {
        self.stream_counter.tell(self.machine.counters(), self.machine.active_streams(), is_held_back);
    }
}

impl<M, H, C, F> Drop for Multiplexed<M, H, C, F>
where
    M: Machine,
    H: Handler,
    C: Fn(Request) -> F,
    F: Future<Output = Response>,
{
    /// Counts and logs the requests of a connection that is dropped before its end: the server does not wait any longer.
    fn drop(&mut self) {
        self.give_up_all();
    }
}
