//! The limit of open descriptors: raised for this process, kept for the programs that it starts.

use std::sync::OnceLock;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The soft limit that this process was given.
static GIVEN: OnceLock<Option<u64>> = OnceLock::new();

/// Raises the soft limit of this process to the hard one, as Go's programs do: the soft one, 1,024 on most systems, is
/// kept low for programs that call select(2).
pub(crate) fn raise_limit() {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let _ = GIVEN.set(current);
    // Where that is refused, the shares are made of what there is.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
}

/// The soft limit before it was raised: what other programs are to have that this one starts.
pub(crate) fn limit_of_others() -> Option<u64> {
    GIVEN.get().copied().flatten()
}
