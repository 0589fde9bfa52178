//! The thread that talks to Redis: connects, exchanges, and connects again.

mod bounded_stream;
mod command_connection;
mod connection;
mod error;
mod journal_exchange;
mod limited_replies;
mod round;
mod scripts;
mod server_reports;
mod stream;
#[cfg(test)]
mod tests;
mod warnings;

use std::{sync::Arc, time::Duration};

use redis::Cmd;
use tokio::{sync::oneshot, time::sleep};

use self::{
    connection::{Bound, Connection, Connector},
    error::{FleetError, Reason},
    round::Session,
    warnings::Warnings,
};
use crate::{Consumption, Fleet, FleetSettings, SharedKey, SharedTable, clock};

/// Talks to Redis until it is to stop.
pub(crate) async fn run(fleet: &Fleet, stopped: oneshot::Receiver<()>) {
    tokio::select! {
        () = exchange(fleet, stopped) => {}
        () = command_connection::run(fleet) => {}
    }
}

/// Exchanges what the fleet shares until it is to stop.
async fn exchange(fleet: &Fleet, mut stopped: oneshot::Receiver<()>) {
    let mut link = Link {
        fleet,
        connector: Connector::new(Arc::clone(&fleet.settings), Bound::Exchange),
        session: Session::new(server_id()),
        warnings: Warnings::default(),
        failures: 0,
    };
    loop {
        let connection = tokio::select! {
            connection = link.connect() => connection,
            _ = &mut stopped => return,
        };
        if let Some(mut connection) = connection {
            fleet.state.note_connected(true);
            let is_stopped = link.exchange(&mut connection, &mut stopped).await;
            fleet.state.note_connected(false);
            if is_stopped {
                return;
            }
        }
        tokio::select! {
            () = sleep(link.pause()) => {}
            _ = &mut stopped => return,
        }
    }
}

struct Link<'a> {
    fleet: &'a Fleet,
    connector: Connector,
    session: Session,
    warnings: Warnings,
    /// Connections in a row that were of no use.
    failures: u32,
}

impl Link<'_> {
    async fn connect(&mut self) -> Option<Connection> {
        let opened = async {
            let mut connection = self.connector.connect().await?;
            self.session.begin(self.fleet, &mut connection).await?;
            Ok(connection)
        };
        match opened.await {
            Ok(connection) => {
                self.connector.keep(&connection.node);
                Some(connection)
            }
            Err(error) => {
                self.note(&error);
                self.failures += 1;
                None
            }
        }
    }

    /// Exchanges until there is an error; returns whether it is to stop.
    async fn exchange(&mut self, connection: &mut Connection, stopped: &mut oneshot::Receiver<()>) -> bool {
        let mut exchanged = 0;
        loop {
            let now = clock::now();
            let is_due = exchanged == 0 || now - exchanged >= IDLE_INTERVAL.as_nanos() as u64;
            let mut pause = INTERVAL;
            if is_due || self.fleet.is_waiting() {
                exchanged = now;
                match self.session.exchange(self.fleet, connection).await {
                    Ok(outcome) => {
                        outcome.problem.iter().for_each(|problem| self.note(problem));
                        self.failures = 0;
                        // A Redis that takes long is not asked more often for it.
                        let took = Duration::from_nanos(clock::now() - now);
                        pause =
                            if outcome.has_more && outcome.problem.is_none() { MIN_PAUSE } else { INTERVAL.max(took) };
                    }
                    Err(error) => {
                        self.note(&error);
                        return false;
                    }
                }
            }
            tokio::select! {
                () = sleep(pause) => {}
                _ = &mut *stopped => {
                    self.session.finish(self.fleet, connection).await;
                    return true;
                }
            }
        }
    }

    fn note(&mut self, error: &FleetError) {
        let moved = match &error.moved {
            // Not an error: the first node may be any of the cluster.
            Some(node) if self.connector.follow(node) => return,
            Some(_) => Some(FleetError::new(Reason::NotReady, CLUSTER)),
            None => None,
        };
        let error = moved.as_ref().unwrap_or(error);
        self.fleet.state.note_error(error.to_string());
        if self.warnings.admit(error, clock::now()) {
            let place = self.fleet.settings.place();
            match error.reason {
                Reason::ForeignValue | Reason::Refused => tracing::warn!("Redis at {place}: {error}"),
                _ => tracing::warn!(
                    "Redis at {place} cannot be used ({error}); shared limits continue with this server's share, and \
                     commands of other servers arrive when it can be"
                ),
            }
        }
    }

    /// How long to wait before another connection.
    fn pause(&self) -> Duration {
        (MIN_PAUSE * 2_u32.saturating_pow(self.failures.min(10))).min(MAX_PAUSE)
    }
}

/// The call of a script that exchanges these keys.
pub(crate) fn exchange_command(
    settings: &FleetSettings,
    table: &SharedTable,
    keys: &[(SharedKey, Consumption)],
) -> Cmd {
    let mut command = redis::cmd("EVAL");
    command.arg(scripts::EXCHANGE).arg(keys.len());
    for (_, consumption) in keys {
        let mut name = settings.key("limit:");
        name.push_str(table.name());
        name.push(':');
        consumption.name.iter().for_each(|byte| name.push_str(&format!("{byte:02x}")));
        command.arg(name);
    }
    let interval = table.limit().rate().interval() as f64 / 1000.0;
    for (_, Consumption { admitted, demand, span, ahead, .. }) in keys {
        command.arg(interval).arg(table.most_ahead() / 1000).arg(admitted).arg(demand).arg(span).arg(ahead);
    }
    command
}

/// A name that no other server has.
fn server_id() -> String {
    let mut bytes = [0; 16];
    // Without random numbers, the system cannot do TLS either.
    let _ = aws_lc_rs::rand::fill(&mut bytes);
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

const CLUSTER: &str = "it is a node of a cluster: write a list with two and more of its URLs";

/// How often what has changed is exchanged: what all servers may serve too much in that time is a fortieth of a second's
/// requests each.
const INTERVAL: Duration = Duration::from_millis(25);

/// How often events are looked for while nothing changes: bans arrive within that time.
const IDLE_INTERVAL: Duration = Duration::from_millis(100);

/// Before another exchange, or another connection.
const MIN_PAUSE: Duration = Duration::from_millis(2);

/// Redis is used again within this time after it has come back, and the timeout of a connection that was under way.
const MAX_PAUSE: Duration = Duration::from_millis(500);
