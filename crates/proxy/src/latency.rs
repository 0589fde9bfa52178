//! How quickly a server answers.

use std::time::Duration;

use serow_net::Moment;

/// How quickly a server answers: a moving average, changed by all threads.
#[derive(Debug, Default)]
pub(crate) struct Latency {}

impl Latency {
    /// A response began so long after its request.
    pub(crate) fn note(&self, _took: Duration, _now: Moment) {}

    /// The average in microseconds, as it is now: it falls while nothing is noted. 0 where nothing is known.
    pub(crate) fn microseconds(&self, _now: Moment) -> u64 {
        0
    }
}
