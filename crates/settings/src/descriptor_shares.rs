//! How the descriptors that the system allows are divided between connections and files.

use rustix::process::{Resource, getrlimit};

/// What each may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    /// sent and no longer, or not yet, kept.
    fn of_limit(limit: usize, workers: usize, wanted_files: usize) -> Self {
        let own = workers.saturating_mul(DESCRIPTORS_OF_WORKER);
        let wanted = workers.saturating_mul(wanted_files).saturating_add(own);
        if wanted <= limit / 2 {
            return Self { connections: limit - wanted, cached_files: wanted_files };
        }
        let cached_files = (limit / 2).saturating_sub(own) / 2 / workers.max(1);
        Self { connections: limit - limit / 2, cached_files: cached_files.min(wanted_files) }
    }
}

/// What a worker has open beside connections and files: its listeners, its poll, its root; and its part of what the
/// process has.
const DESCRIPTORS_OF_WORKER: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn low_limits_are_divided_between_connections_and_files() {
        let cases = [
            ((20_000, 2, 128), (19_712, 128)),
            ((1024, 2, 128), (736, 128)),
            ((1024, 64, 128), (512, 0)),
            ((100, 2, 128), (50, 4)),
            ((100, 1, 0), (84, 0)),
            ((0, 1, 1), (0, 0)),
        ];
        for ((limit, workers, wanted), (connections, cached_files)) in cases {
            let shares = Shares::of_limit(limit, workers, wanted);
            assert_eq!(shares, Shares { connections, cached_files }, "{limit} {workers} {wanted}");
        }
    }
}
