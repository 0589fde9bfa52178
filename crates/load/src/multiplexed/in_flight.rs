//! The requests in flight on the streams of a connection.

use std::{collections::VecDeque, rc::Rc, time::Duration};

use serow_streams::StreamId;

use crate::{Batch, source::Kept};

/// A request in flight.
pub(super) struct Request {
    /// Whether what comes of it is counted.
    pub(super) counts: bool,
    /// From when its latency counts.
    pub(super) began: Duration,
    /// From when its timeout does.
    pub(super) sent: Duration,
    /// Of its response, once there is a head.
    pub(super) status: u16,
    /// The response, where a script wants to see it.
    pub(super) kept: Option<Kept>,
    pub(super) source: RequestSource,
}

/// A request of a batch, to be sent again if the server refuses it.
#[derive(Clone)]
pub(super) struct RequestSource {
    pub(super) batch: Rc<Batch>,
    /// Which of the batch it is.
    pub(super) number: usize,
    /// How often it was refused.
    pub(super) refusals: u32,
}

/// The requests of a connection. Streams are opened in the order of their numbers (RFC 9113 §5.1.1, RFC 9000 §2.1), so
/// each is found by its distance from the oldest.
pub(super) struct InFlight {
    requests: VecDeque<Option<Request>>,
    /// The stream of the first of them.
    first: StreamId,
    /// Between the numbers of two streams.
    distance: u64,
    count: usize,
}

impl InFlight {
    /// None, on a new connection whose requests have these numbers.
    pub(super) fn new(first: StreamId, distance: u64) -> Self {
        Self { requests: VecDeque::new(), first, distance, count: 0 }
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// How many of them count.
    pub(super) fn counted(&self) -> usize {
        self.requests.iter().flatten().filter(|request| request.counts).count()
    }

    /// One more, on the next stream.
    pub(super) fn push(&mut self, request: Request) {
        self.count += 1;
        self.requests.push_back(Some(request));
    }

    /// The one on this stream.
    pub(super) fn find(&mut self, stream: StreamId) -> Option<&mut Request> {
        let place = self.place(stream)?;
        self.requests.get_mut(place)?.as_mut()
    }

    /// The one on this stream, which is over.
    pub(super) fn take(&mut self, stream: StreamId) -> Option<Request> {
        let place = self.place(stream)?;
        let request = self.requests.get_mut(place)?.take()?;
        self.count -= 1;
        while let Some(None) = self.requests.front() {
            self.requests.pop_front();
            self.first = StreamId::of_quic(self.first.get() + self.distance);
        }
        Some(request)
    }

    /// The stream of the oldest, and when it was sent.
    pub(super) fn oldest(&self) -> Option<(StreamId, Duration)> {
        // `take` has dropped the finished ones at the front.
        let request = self.requests.front()?.as_ref()?;
        Some((self.first, request.sent))
    }

    fn place(&self, stream: StreamId) -> Option<usize> {
        Some((stream.get().checked_sub(self.first.get())? / self.distance) as usize)
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::Parts;

    fn request(sent: u64) -> Request {
        let sent = Duration::from_secs(sent);
        let parts = Parts { method: "GET", path: "/", host: "a", headers: &[], body: Bytes::new(), close: false };
        let source = RequestSource { batch: Rc::new(Batch::new(&parts).unwrap()), number: 0, refusals: 0 };
        Request { counts: true, began: sent, sent, status: 0, kept: None, source }
    }

    #[test]
    fn streams_end_in_any_order() {
        let mut in_flight = InFlight::new(StreamId::new(1), 2);
        (0..5).for_each(|number| in_flight.push(request(number)));
        let sent = |taken: Option<Request>| taken.map(|request| request.sent.as_secs());
        let oldest = |in_flight: &InFlight| in_flight.oldest().map(|(stream, sent)| (stream.get(), sent.as_secs()));
        // Numbers of streams, what was taken, and what is the oldest then.
        let cases = [
            (5, Some(2), Some((1, 0))),
            (1, Some(0), Some((3, 1))),
            (1, None, Some((3, 1))),
            (3, Some(1), Some((7, 3))),
            (11, None, Some((7, 3))),
            (9, Some(4), Some((7, 3))),
            (7, Some(3), None),
        ];
        for (stream, expected, rest) in cases {
            assert_eq!(sent(in_flight.take(StreamId::new(stream))), expected, "{stream}");
            assert_eq!(oldest(&in_flight), rest, "{stream}");
        }
        assert_eq!(in_flight.count(), 0);
        in_flight.push(request(9));
        assert!(in_flight.find(StreamId::new(11)).is_some());
    }
}
