//! Clients over HTTP/1.1.

mod reading;
mod request;

use std::{
    cell::{Cell, RefCell},
    collections::VecDeque,
    future::pending,
    rc::Rc,
};

use serow_net::Socket;
use tokio::{sync::Notify, time::sleep};

use self::{reading::Reading, request::write_request};
use crate::{
    observations::{End, Observations, now},
    plan::{ClientPlan, Conduct, Moment, RequestPlan},
    wire::Wire,
};

/// Carries out the plan of a client on this connection.
pub(crate) async fn run(socket: Rc<Socket>, plan: &ClientPlan, observations: &Observations) {
    let turns = Turns::default();
    let leaving = Leaving::default();
    let writing = write(&socket, plan, observations, &turns, &leaving);
    let mut reading = Reading { wire: Wire::new(Rc::clone(&socket)), observations, turns: &turns, leaving: &leaving };
    let write_on = async {
        writing.await;
        pending::<()>().await;
    };
    tokio::select! {
        biased;
        () = leaving.happens() => {
            if leaving.is_reset.get() {
                socket.reset_on_close();
            }
            observations.trace(|| format!("client {} leaves", plan.requests[0].id.client));
            for request in turns.open.borrow_mut().drain(..) {
                observations.end(request.id, End::Left);
            }
        }
        () = reading.run(plan) => {}
        () = write_on => {}
    }
}

/// The requests whose responses have not come.
#[derive(Default)]
struct Turns {
    open: RefCell<VecDeque<RequestPlan>>,
    /// How many have ended.
    ended: Cell<usize>,
    /// Whether nothing is to be sent any more.
    is_over: Cell<bool>,
    changed: Notify,
    /// Whether the server asks for a body.
    continues: Notify,
    opened: Notify,
}

/// Whether the client leaves.
#[derive(Default)]
struct Leaving {
    is_reset: Cell<bool>,
    notify: Notify,
}

impl Leaving {
    fn begin(&self, is_reset: bool) {
        self.is_reset.set(is_reset);
        self.notify.notify_one();
    }

    async fn happens(&self) {
        self.notify.notified().await;
    }
}

async fn write(socket: &Rc<Socket>, plan: &ClientPlan, observations: &Observations, turns: &Turns, leaving: &Leaving) {
    for (number, request) in plan.requests.iter().enumerate() {
        // Behind a request without a body only: its response may be a refusal.
        let may_pipeline = number > 0 && plan.requests[number - 1].body.is_none();
        while !(request.is_pipelined && may_pipeline) && turns.ended.get() < number && !turns.is_over.get() {
            turns.changed.notified().await;
        }
        sleep(request.pause).await;
        if turns.is_over.get() {
            break;
        }
        turns.open.borrow_mut().push_back(request.clone());
        turns.opened.notify_one();
        observations.note(request.id, |requested| requested.began = Some(now()));
        observations
            .trace(|| format!("client {}: {} {} {:?}", request.id, request.method, request.target(), request.conduct));
        if write_request(socket, plan, request, turns, leaving).await.is_err() {
            break;
        }
        observations.note(request.id, |requested| requested.sent = Some(now()));
        if let Conduct::Leaves(departure) = request.conduct
            && let Moment::Waiting(time) = departure.moment
        {
            sleep(time).await;
            leaving.begin(departure.is_reset);
        }
    }
    turns.is_over.set(true);
    turns.opened.notify_one();
}
