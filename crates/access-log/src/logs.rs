//! All access logs of a server, which are open.

use super::{
    AccessLogError, ClientRules, LogRules,
    lines::WorkerLogs,
    name::LogName,
    routed::RoutedLogs,
    watch::Watch,
    writer::{LineCounter, Writer},
};

/// All access logs of a server, which are open: a thread for each destination writes the lines of all workers.
pub struct AccessLogs {
    makers: LogMakers,
    writers: Vec<Writer>,
}

/// Makers of the workers' logs.
#[derive(Clone)]
pub enum LogMakers {
    /// One log has a line of each request.
    Single(WorkerLogs),
    /// Which logs have a line depends on the request.
    Routed(RoutedLogs),
}

impl AccessLogs {
    /// Opens the logs of these rules, each destination once, and starts their threads; nothing if there are no logs.
    /// SIGUSR1 no longer ends the process then, either: programs that rotate logs send it to every server.
    ///
    /// # Errors
    ///
    /// As [`AccessLog::open`](crate::AccessLog::open).
    pub fn open(rules: LogRules, clients: ClientRules) -> Result<Option<Self>, AccessLogError> {
        let watch = Watch::new()?;
        if rules.is_empty() {
            return Ok(None);
        }
        let destinations = rules.destinations();
        let is_only = destinations.len() == 1;
        let (mut makers, mut writers) = (Vec::new(), Vec::new());
        for destination in destinations {
            let name = if is_only { LogName::default() } else { LogName::of(destination) };
            let (maker, writer) = Writer::start(destination.clone(), name)?;
            makers.push(maker);
            writers.push(writer);
        }
        watch.begin(writers.iter().map(Writer::watched).collect())?;
        let single = rules.only().map(|rule| rule.format.clone()).zip(makers.first().cloned());
        let makers = match single {
            Some((format, maker)) => {
                let mut logs = WorkerLogs::new(maker, format);
                logs.set_clients(clients);
                LogMakers::Single(logs)
            }
            None => LogMakers::Routed(RoutedLogs::new(rules, clients, makers)),
        };
        Ok(Some(Self { makers, writers }))
    }

    /// Returns the makers of the workers' logs.
    pub fn makers(&self) -> LogMakers {
        self.makers.clone()
    }

    /// Returns a counter of the lines of all logs together.
    pub fn counter(&self) -> LineCounter {
        LineCounter(self.writers.iter().map(|writer| writer.watched().1).collect())
    }

    /// Waits until everything is written, once all workers have ended; 2 s at most, since readers may be stuck.
    pub fn finish(self) {
        Writer::finish(self.writers);
    }
}
