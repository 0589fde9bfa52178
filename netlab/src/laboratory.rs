//! The whole: two sides, the link between them, and what ends it.
//!
//! ```text
//!   server ── lab0 ══ TUN ══> relay ═> (rate, queue, delay, loss) ═> TUN ══ lab0 ── client
//!          10.99.0.1       <══════════════════════════════════════         10.99.0.2
//! ```

use std::{
    fs,
    fs::File,
    io,
    net::Ipv4Addr,
    os::fd::{AsFd, OwnedFd},
    process::ExitStatus,
    sync::{
        atomic::{AtomicBool, Ordering},
        mpsc::{self, Receiver, RecvTimeoutError, Sender},
    },
    thread,
    time::Duration,
};

use nix::sys::{
    signal::{SigSet, Signal},
    signalfd::SignalFd,
};
use rustix::process::pidfd_send_signal;

use crate::{
    arguments::{Experiment, Readiness},
    init,
    listening::is_listening,
    namespace,
    relay::{Relay, now},
    report::{self, DirectionReport},
    trace::Trace,
};

/// Which side of the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Server,
    Client,
}

/// An event that the main thread waits for.
#[derive(Debug)]
enum Event {
    /// A side's command runs: its init's process.
    Started(Side, u32, OwnedFd),
    /// It has ended; with the packets its device had no room for.
    Ended(Side, ExitStatus, u64),
    /// A side could not be made.
    Failed(io::Error),
    /// We are to end.
    Signal(u32),
}

/// Whether namespaces and devices may be made here.
pub(crate) fn check(experiment: &Experiment) -> io::Result<()> {
    namespace::become_root()?;
    thread::scope(|scope| {
        let tried = scope.spawn(|| namespace::enter(SERVER, &experiment.network).map(drop));
        tried.join().map_err(|_| io::Error::other("the attempt panicked"))?
    })
}

/// Runs the experiment; the client's exit code.
pub(crate) fn run(experiment: &Experiment) -> io::Result<u8> {
    namespace::become_root()?;
    let signals = ending_signals()?;
    let (events, happened) = mpsc::channel();
    watch(signals, events.clone());
    let (server, go_server) = side(Side::Server, experiment, &events)?;
    let (client, go_client) = side(Side::Client, experiment, &events)?;
    let trace = |path: &Option<_>| path.as_deref().map(Trace::create).transpose();
    let to_client = Relay::new(experiment.to_client.clone(), &server, &client, trace(&experiment.trace)?);
    let to_server = Relay::new(experiment.to_server.clone(), &client, &server, trace(&experiment.trace_back)?);
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let relays = [scope.spawn(|| to_client.run(&stop)), scope.spawn(|| to_server.run(&stop))];
        let outcome = conduct(experiment, &happened, &go_server, &go_client);
        stop.store(true, Ordering::Relaxed);
        let [to_client, to_server] = relays.map(|relay| relay.join().unwrap_or_else(|_| Err(panicked())));
        let (code, overruns) = outcome?;
        write_report(experiment, [to_client?, to_server?], overruns)?;
        Ok(code)
    })
}

/// Starts the server, then the client; waits for the client's end and ends the server.
fn conduct(
    experiment: &Experiment,
    happened: &Receiver<Event>,
    go_server: &Sender<()>,
    go_client: &Sender<()>,
) -> io::Result<(u8, [u64; 2])> {
    let _ = go_server.send(());
    let (server, server_handle) = started(happened, Side::Server)?;
    wait_until_ready(&experiment.readiness, server, happened)?;
    let _ = go_client.send(());
    let (_, client_handle) = started(happened, Side::Client)?;
    let mut code = None;
    let mut overruns = [0, 0];
    loop {
        match happened.recv().map_err(io::Error::other)? {
            Event::Ended(Side::Client, status, overrun) => {
                overruns[1] = overrun;
                let code = *code.get_or_insert(init::code(status));
                ask_to_end(&server_handle);
                overruns[0] = ended(happened, Side::Server)?.unwrap_or(0);
                return Ok((code, overruns));
            }
            // The client will notice, and may still have something to say.
            Event::Ended(Side::Server, status, overrun) => {
                overruns[0] = overrun;
                eprintln!("netlab: the server ended with exit code {}", init::code(status));
                let code = match ended(happened, Side::Client)? {
                    Some(overrun) => {
                        overruns[1] = overrun;
                        SERVER_ENDED
                    }
                    None => SERVER_ENDED,
                };
                return Ok((code, overruns));
            }
            Event::Signal(signal) => {
                code = Some(128 + signal as u8);
                ask_to_end(&client_handle);
            }
            Event::Failed(error) => return Err(error),
            Event::Started(..) => {}
        }
    }
}

fn started(happened: &Receiver<Event>, side: Side) -> io::Result<(u32, OwnedFd)> {
    loop {
        match happened.recv().map_err(io::Error::other)? {
            Event::Started(of, process, handle) if of == side => return Ok((process, handle)),
            Event::Ended(Side::Server, ..) => return Err(io::Error::other("the server ended before the client began")),
            Event::Failed(error) => return Err(error),
            Event::Signal(_) => return Err(io::ErrorKind::Interrupted.into()),
            Event::Started(..) | Event::Ended(..) => {}
        }
    }
}

/// Waits for a side's end. Another signal ends the wait: the kernel ends both sides with us.
fn ended(happened: &Receiver<Event>, side: Side) -> io::Result<Option<u64>> {
    loop {
        match happened.recv().map_err(io::Error::other)? {
            Event::Ended(of, _, overrun) if of == side => return Ok(Some(overrun)),
            Event::Signal(_) => return Ok(None),
            Event::Failed(error) => return Err(error),
            Event::Started(..) | Event::Ended(..) => {}
        }
    }
}

fn wait_until_ready(readiness: &Readiness, server: u32, happened: &Receiver<Event>) -> io::Result<()> {
    let (port, until) = match readiness {
        Readiness::After(wait) => return pause(happened, *wait),
        Readiness::Listening { port, limit } => (*port, now() + *limit),
    };
    while !is_listening(server, port)? {
        if now() > until {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "the server does not listen"));
        }
        pause(happened, LOOK_EVERY)?;
    }
    Ok(())
}

fn pause(happened: &Receiver<Event>, wait: Duration) -> io::Result<()> {
    match happened.recv_timeout(wait) {
        Err(RecvTimeoutError::Timeout) => Ok(()),
        Err(error @ RecvTimeoutError::Disconnected) => Err(io::Error::other(error)),
        Ok(Event::Ended(_, status, _)) => Err(io::Error::other(format!(
            "the server ended with exit code {} before the client began",
            init::code(status)
        ))),
        Ok(Event::Failed(error)) => Err(error),
        Ok(Event::Signal(_) | Event::Started(..)) => Err(io::ErrorKind::Interrupted.into()),
    }
}

/// Makes a side on a thread of its own, which waits for the go before it starts the command.
fn side(side: Side, experiment: &Experiment, events: &Sender<Event>) -> io::Result<(File, Sender<()>)> {
    let (made, device) = mpsc::channel();
    let (go, may_go) = mpsc::channel();
    let (address, command) = match side {
        Side::Server => (SERVER, experiment.server.clone()),
        Side::Client => (CLIENT, experiment.client.clone()),
    };
    let (network, events) = (experiment.network.clone(), events.clone());
    thread::spawn(move || {
        let device = namespace::enter(address, &network);
        if device.is_err() | made.send(device).is_err() || may_go.recv().is_err() {
            return;
        }
        let event = match namespace::start(&command, side == Side::Client) {
            Err(error) => Event::Failed(error),
            Ok(namespace::Running { mut init, handle }) => {
                let _ = events.send(Event::Started(side, init.id(), handle));
                init.wait().map_or_else(Event::Failed, |status| Event::Ended(side, status, namespace::overrun()))
            }
        };
        let _ = events.send(event);
        // A process is told of its parent's end when the thread that started it ends: this one stays as long as the process.
    });
    let device = device.recv().map_err(io::Error::other)??;
    Ok((device, go))
}

fn ask_to_end(init: &OwnedFd) {
    // Gone already: so much the better.
    let _ = pidfd_send_signal(init.as_fd(), rustix::process::Signal::TERM);
}

/// Blocks the signals that would end netlab, and returns a descriptor to read them from: both sides have to end first.
fn ending_signals() -> io::Result<SignalFd> {
    let mut signals = SigSet::empty();
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
        signals.add(signal);
    }
    signals.thread_block()?;
    Ok(SignalFd::new(&signals)?)
}

fn watch(signals: SignalFd, events: Sender<Event>) {
    thread::spawn(move || {
        while let Ok(signal) = signals.read_signal() {
            if signal.is_some_and(|signal| events.send(Event::Signal(signal.ssi_signo)).is_err()) {
                return;
            }
        }
    });
}

fn write_report(experiment: &Experiment, mut reports: [DirectionReport; 2], overruns: [u64; 2]) -> io::Result<()> {
    for (report, overrun) in reports.iter_mut().zip(overruns) {
        report.overrun = overrun;
        if overrun > 0 {
            eprintln!("netlab: {overrun} packets were lost because the relay was too slow: do not trust this run");
        }
    }
    let [to_client, to_server] = &reports;
    match &experiment.report {
        Some(path) => fs::write(path, report::json(to_client, to_server)),
        None => Ok(()),
    }
}

fn panicked() -> io::Error {
    io::Error::other("the relay panicked")
}

/// RFC 1918's, and hardly anybody's.
const SERVER: Ipv4Addr = Ipv4Addr::new(10, 99, 0, 1);
const CLIENT: Ipv4Addr = Ipv4Addr::new(10, 99, 0, 2);
/// A hundredth of what any program needs to start listening.
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// The exit code where the server ended before the client: EX_UNAVAILABLE in sysexits.h.
const SERVER_ENDED: u8 = 69;
