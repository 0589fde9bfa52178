//! Clients: what both versions of HTTP have in common.

use std::{net::SocketAddr, rc::Rc};

use serow_net::{Socket, simulated::connect_over};
use tokio::time::sleep;

use crate::{
    http1_client, http2_client,
    observations::{End, Observations},
    plan::{ClientPlan, Version},
};

/// Carries out the plan of a client.
pub(crate) async fn run(server: SocketAddr, plan: ClientPlan, observations: Rc<Observations>) {
    sleep(plan.begins).await;
    if plan.requests.is_empty() {
        return;
    }
    let socket = connect_over(plan.link, server).await;
    match socket {
        Ok(socket) => serve(socket, &plan, &observations).await,
        // The server has stopped.
        Err(error) => observations.trace(|| format!("client: {error}")),
    }
    for request in &plan.requests {
        let is_open = observations.requests.borrow().get(&request.id).is_none_or(|requested| requested.end.is_none());
        if is_open {
            observations.end(request.id, End::Unsent);
        }
    }
}

async fn serve(socket: Socket, plan: &ClientPlan, observations: &Rc<Observations>) {
    match plan.version {
        Version::Http10 | Version::Http1 => http1_client::run(Rc::new(socket), plan, observations).await,
        Version::Http2 => http2_client::run(socket, plan, observations).await,
    }
}
