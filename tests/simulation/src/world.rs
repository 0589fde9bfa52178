//! The world of a run: one thread, whose time passes only when nothing else can happen.

use std::{net::SocketAddr, path::PathBuf, rc::Rc, sync::Arc, thread, time::Duration};

use serow::{Address, HandlerExt, Status, StatusReport};
use serow_assembly::{ApplicationHost, Configuration};
use serow_net::simulated::{enter, open_sockets, set_exhausted, set_link, set_seed};
use serow_proxy::Upstream;
use serow_site::{ClientAdmission, LiveSites, TlsPolicy};
use tokio::{
    runtime::Builder,
    task::{LocalSet, spawn_local},
    time::{sleep, timeout},
};

use crate::{
    client, judgement,
    observations::{KeptLog, Observations},
    origin,
    plan::Plan,
};

/// A run of a plan.
#[derive(Debug)]
pub struct World {
    /// The violations of invariants: none, if all went well.
    pub violations: Vec<String>,
    /// The events, a line for each; only if a trace is wanted.
    pub trace: String,
}

impl World {
    /// Carries out a plan in a thread of its own, since handlers keep connections for the thread that they are in.
    ///
    /// # Panics
    ///
    /// When the server does.
    #[must_use]
    pub fn run(plan: &Plan, is_traced: bool) -> Self {
        let plan = plan.clone();
        let run = thread::Builder::new().name(format!("seed {}", plan.seed)).spawn(move || run(plan, is_traced));
        match run.map(thread::JoinHandle::join) {
            Ok(Ok(world)) => world,
            Ok(Err(_)) => Self { violations: vec!["a panic".to_owned()], trace: String::new() },
            Err(error) => Self { violations: vec![format!("no thread: {error}")], trace: String::new() },
        }
    }
}

fn run(plan: Plan, is_traced: bool) -> World {
    enter();
    set_seed(plan.seed);
    let runtime = Builder::new_current_thread().enable_all().start_paused(true).build();
    let Ok(runtime) = runtime else { return World { violations: vec!["no runtime".to_owned()], trace: String::new() } };
    let observations = Observations::new(is_traced);
    let plan = Rc::new(plan);
    LocalSet::new().block_on(&runtime, async {
        carry_out(&plan, &observations).await;
        judgement::judge(&plan, &observations);
    });
    World { violations: observations.violations.take(), trace: observations.take_trace() }
}

async fn carry_out(plan: &Rc<Plan>, observations: &Rc<Observations>) {
    let configuration = match configuration(plan) {
        Ok(configuration) => configuration,
        Err(error) => return observations.violate(format!("the settings are refused: {error}")),
    };
    let Configuration { server, site, upstreams, .. } = configuration;
    let sites = LiveSites::new(site);
    let handler = serow_site::handler(&sites, TlsPolicy::default(), 443, ClientAdmission::default()).boxed();
    let log = Arc::clone(&observations.log);
    let server = server.server.listen("127.0.0.1:0").workers(1).ignore_signals();
    let bound = match server.bind() {
        Ok(bound) => bound.access_log(move || KeptLog(Arc::clone(&log))),
        Err(error) => return observations.violate(format!("the server does not start: {error}")),
    };
    let (stopper, status) = (bound.stopper(), bound.status());
    let Some(address) = bound.addresses().find_map(tcp) else { return };
    origin::start(plan, observations);
    set_link(plan.settings.link);
    let mut serving = spawn_local(bound.serve_here(handler));
    tokio::task::yield_now().await;
    if let Some(stop) = plan.stop {
        let (stopper, observations) = (stopper.clone(), Rc::clone(observations));
        spawn_local(async move {
            sleep(stop).await;
            observations.trace(|| "the server begins to drain".to_owned());
            stopper.stop();
        });
    }
    if let Some((begin, length)) = plan.exhaustion {
        spawn_local(async move {
            sleep(begin).await;
            set_exhausted(true);
            sleep(length).await;
            set_exhausted(false);
        });
    }
    let clients = plan.clients.iter().cloned();
    let clients = clients.map(|client| spawn_local(client::run(address, client, Rc::clone(observations))));
    let clients: Vec<_> = clients.collect();
    for client in clients {
        match timeout(MOST_TIME, client).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => observations.violate(format!("a client ends badly: {error}")),
            Err(_) => return observations.violate("a client never comes to its end".to_owned()),
        }
    }
    observations.trace(|| "all clients have gone".to_owned());
    // Time for what goes on behind them: timeouts of bodies and servers.
    sleep(plan.settings.longest_timeout()).await;
    check_counters(plan, observations, &status.report(), &upstreams);
    if plan.stop.is_none() {
        stopper.stop();
    }
    match timeout(plan.settings.grace + Duration::from_secs(1), &mut serving).await {
        Ok(Ok(Ok(()))) => {}
        Ok(outcome) => observations.violate(format!("the server ends badly: {outcome:?}")),
        Err(_) => observations.violate("the server does not end".to_owned()),
    }
    let _: Status = status;
}

/// Nothing is left of a connection or a request.
fn check_counters(plan: &Plan, observations: &Observations, report: &StatusReport, upstreams: &[Upstream]) {
    let StatusReport { connections, requests, .. } = report;
    if connections.open != 0 {
        observations.violate(format!("{} connections are open when all clients have gone", connections.open));
    }
    if requests.in_progress != 0 {
        observations.violate(format!("{} requests are in progress when all clients have gone", requests.in_progress));
    }
    let lines = observations.log.lock().map_or(0, |log| log.len() as u64);
    if lines != requests.total {
        observations.violate(format!("the access log has {lines} lines for {} requests", requests.total));
    }
    for upstream in upstreams {
        let report = upstream.report();
        let active: u32 = report.servers.iter().map(|server| server.active).sum();
        if active != 0 || report.waiting != 0 {
            observations
                .violate(format!("servers have {active} requests, and {} wait, when all have gone", report.waiting));
        }
    }
    // The thread of a worker that has stopped ends, with its idle connections to servers.
    if plan.stop.is_none() && open_sockets() != 0 {
        observations.violate(format!("{} sockets are open when all clients have gone", open_sockets()));
    }
}

fn configuration(plan: &Plan) -> Result<Configuration, String> {
    serow_assembly::of_bytes(
        &PathBuf::from("serow.toml"),
        plan.settings.text().into_bytes(),
        &ApplicationHost::default(),
    )
    .map_err(|error| error.to_string())
}

fn tcp(address: &Address) -> Option<SocketAddr> {
    match address {
        Address::Tcp(address) => Some(*address),
        _ => None,
    }
}

/// Longer than any client takes.
const MOST_TIME: Duration = Duration::from_secs(600);
