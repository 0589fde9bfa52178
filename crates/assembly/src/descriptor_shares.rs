//! How the descriptors that the system allows are divided between connections and files.

use rustix::process::{Resource, getrlimit};
use serow_files::max_open_folders;

/// The numbers of connections and of files that may be open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shares {
    /// Connections of all workers; 0 where nothing limits them.
    pub connections: usize,
    /// Files that a worker keeps open.
    pub cached_files: usize,
}

impl Shares {
    /// By the limit of this process (`ulimit -n`), where each worker wants to keep so many files open.
    pub fn new(workers: usize, wanted_files: usize) -> Self {
        match getrlimit(Resource::Nofile).current.and_then(|limit| usize::try_from(limit).ok()) {
            Some(limit) => Self::of_limit(limit, workers, wanted_files),
            None => Self { connections: 0, cached_files: wanted_files },
        }
    }

    /// The same where requests are handed to other servers: each connection may need another one to a server.
    pub fn with_upstreams(self) -> Self {
        Self { connections: self.connections.div_ceil(2), ..self }
    }

    /// A low limit goes half to connections; and of what is left beside the workers' own, half to files that are being
    /// sent and no longer, or not yet, kept. Of a very low one, each connection leaves one for the file that it sends.
    fn of_limit(limit: usize, workers: usize, wanted_files: usize) -> Self {
        let folders = if wanted_files == 0 { 0 } else { max_open_folders(limit) };
        let own = workers.saturating_mul(DESCRIPTORS_OF_WORKER).saturating_add(folders);
        let wanted = workers.saturating_mul(wanted_files).saturating_add(own);
        if wanted <= limit / 2 {
            return Self { connections: limit - wanted, cached_files: wanted_files };
        }
        let cached_files = (limit / 2).saturating_sub(own) / 2 / workers.max(1);
        let left = limit.saturating_sub(needed(workers, 1));
        let connections = (limit - limit / 2).min(left / 2).max(1);
        Self { connections, cached_files: cached_files.min(wanted_files) }
    }
}

/// How many descriptors a server with these workers needs at its start, where each has so many sockets. Sockets that
/// another process passes on are duplicated for a moment.
pub(crate) fn needed(workers: usize, sockets: usize) -> usize {
    let sockets = workers.saturating_mul(sockets).saturating_mul(2);
    of_workers(workers).saturating_add(sockets).saturating_add(DESCRIPTORS_OF_PROCESS)
}

/// How many of them the workers need beside their sockets, with the first connections.
pub(crate) fn of_workers(workers: usize) -> usize {
    workers.saturating_mul(DESCRIPTORS_OF_EVENT_LOOP).saturating_add(FIRST_CONNECTIONS)
}

/// Descriptors that a process has open for itself: its signals, and the event loop of its main thread.
const DESCRIPTORS_OF_PROCESS: usize = 8;

/// tokio's: two event queues, what wakes them, and the signals.
const DESCRIPTORS_OF_EVENT_LOOP: usize = 4;

/// A server that can accept fewer connections, or send fewer files, is refused.
const FIRST_CONNECTIONS: usize = 8;

/// Descriptors that a worker has open beside connections and files: its listeners, its poll; and its part of those
/// of the process.
const DESCRIPTORS_OF_WORKER: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_worker_needs_an_event_loop_and_its_sockets() {
        for ((workers, sockets), expected) in [((1, 1), 22), ((2, 1), 28), ((2, 4), 40), ((4, 2), 48)] {
            assert_eq!(needed(workers, sockets), expected, "{workers} {sockets}");
        }
    }

    #[test]
    fn low_limits_are_divided_between_connections_and_files() {
        let cases = [
            ((20_000, 2, 128), (19_456, 128)),
            ((1024, 2, 128), (704, 128)),
            ((1024, 2, 1_280_000), (498, 112)),
            ((1024, 64, 128), (312, 0)),
            ((100, 2, 128), (36, 3)),
            ((100, 1, 0), (84, 0)),
            ((34, 2, 128), (3, 0)),
            // 0 would be without a limit.
            ((0, 1, 1), (1, 0)),
        ];
        for ((limit, workers, wanted), (connections, cached_files)) in cases {
            let shares = Shares::of_limit(limit, workers, wanted);
            assert_eq!(shares, Shares { connections, cached_files }, "{limit} {workers} {wanted}");
        }
    }
}
