//! The cores that worker threads are pinned to.

use std::{fmt, io};

use serow_message::WorkerCores;
use serow_net::cores::{allowed_cores, pin_thread};

use crate::Error;

/// The core of each worker.
pub(crate) fn for_workers(cores: &WorkerCores, workers: usize) -> Result<Vec<usize>, WorkerCoresError> {
    let allowed = allowed_cores().map_err(WorkerCoresError::Unknown)?;
    among(cores, &allowed, workers)
}

fn among(cores: &WorkerCores, allowed: &[usize], workers: usize) -> Result<Vec<usize>, WorkerCoresError> {
    let cores = cores.cores().unwrap_or(allowed);
    match cores.iter().find(|core| !allowed.contains(core)) {
        Some(core) => Err(WorkerCoresError::refused(*core, allowed)),
        None => Ok(cores.iter().copied().cycle().take(workers).collect()),
    }
}

/// Pins the calling thread, a worker, to this core.
pub(crate) fn pin(core: usize) -> Result<(), Error> {
    let failed = |_| match allowed_cores() {
        // They were others when the server was bound.
        Ok(allowed) => WorkerCoresError::refused(core, &allowed),
        Err(error) => WorkerCoresError::Unknown(error),
    };
    Ok(pin_thread(core).map_err(failed)?)
}

/// Why workers cannot be pinned to some cores. The message is one line that says what to do.
pub enum WorkerCoresError {
    /// The core does not exist, or this process may not use it.
    Refused {
        /// The core.
        core: usize,
        /// Those that it may use.
        allowed: WorkerCores,
    },
    /// The system does not say which cores the process may use.
    Unknown(io::Error),
}

impl WorkerCoresError {
    fn refused(core: usize, allowed: &[usize]) -> Self {
        Self::Refused { core, allowed: WorkerCores::list(allowed.to_vec()) }
    }
}

// As its message: `fn main() -> Result<…>` prints an error so.
impl fmt::Debug for WorkerCoresError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl fmt::Display for WorkerCoresError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused { core, allowed } => write!(
                f,
                "workers cannot be pinned to core {core}: it does not exist, or this process may not use it; choose among \
                 the cores that it may use, {allowed}, or write auto"
            ),
            Self::Unknown(error) => write!(
                f,
                "workers cannot be pinned to cores, since the system does not say which this process may use: {error}"
            ),
        }
    }
}

impl std::error::Error for WorkerCoresError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Unknown(error) => Some(error),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_get_cores_in_turn_among_those_that_are_allowed() {
        let cases: [(&str, &[usize], usize, &[usize]); 7] = [
            ("auto", &[0, 1, 2, 3], 4, &[0, 1, 2, 3]),
            ("auto", &[2, 5], 5, &[2, 5, 2, 5, 2]),
            ("auto", &[2, 5], 1, &[2]),
            ("auto", &[0], 2, &[0, 0]),
            ("3,1", &[0, 1, 2, 3], 2, &[3, 1]),
            ("3,1", &[0, 1, 2, 3], 3, &[3, 1, 3]),
            ("0-3", &[0, 1, 2, 3], 2, &[0, 1]),
        ];
        for (text, allowed, workers, expected) in cases {
            let cores = among(&text.parse().unwrap(), allowed, workers).unwrap();
            assert_eq!(cores, expected, "{text} {allowed:?} {workers}");
        }
    }

    #[test]
    fn a_core_that_is_not_allowed_is_an_error_that_names_the_others() {
        let error = among(&"0,3".parse().unwrap(), &[0, 1, 2, 5], 2).unwrap_err();
        let expected = "workers cannot be pinned to core 3: it does not exist, or this process may not use it; choose among \
                        the cores that it may use, 0-2,5, or write auto";
        assert_eq!(error.to_string(), expected);
        // Also where there are too few workers for it, so that an error is not found later.
        assert!(among(&"0,3".parse().unwrap(), &[0, 1], 1).is_err());
    }
}
