//! The order in which streams are served.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use crate::scheduler_model::Model;
use proptest::prelude::*;
use serow_message::Priority;
use serow_streams::{
    StreamId,
    scheduler::{Claim, Scheduler, TUNNEL_SHARE, TURN},
};

const FRAME: usize = TURN as usize;

/// As a field `priority` says it; with a `t` in front, a tunnel.
fn claim(said: &str) -> Claim {
    match said.strip_prefix('t') {
        Some(said) => Claim::tunnel(Priority::parse(said.as_bytes())),
        None => Priority::parse(said.as_bytes()).into(),
    }
}

/// Streams with something left to send, served as a connection would.
#[derive(Default)]
struct Connection {
    scheduler: Scheduler,
    left: BTreeMap<u32, (Claim, usize)>,
    served: BTreeMap<u32, usize>,
}

impl Connection {
    fn of(streams: &[(u32, &str, usize)]) -> Self {
        let mut connection = Self::default();
        for &(stream, said, bytes) in streams {
            connection.add(stream, claim(said), bytes);
        }
        connection
    }

    fn add(&mut self, stream: u32, claim: Claim, bytes: usize) {
        self.scheduler.insert(StreamId::new(stream), claim);
        self.left.insert(stream, (claim, bytes));
    }

    /// Sends one frame of at most so many bytes; says of which stream.
    fn serve(&mut self, most: usize) -> Option<u32> {
        let stream = self.scheduler.next()?;
        assert_eq!(self.scheduler.next(), Some(stream), "to ask changes nothing");
        let (claim, left) = self.left.get_mut(&stream.bits()).expect("a stream that is inside");
        let claim = *claim;
        let bytes = most.min(*left);
        *left -= bytes;
        let finished = *left == 0;
        self.scheduler.note_served(stream, claim, bytes);
        *self.served.entry(stream.bits()).or_default() += bytes;
        if finished {
            self.left.remove(&stream.bits());
            assert!(self.scheduler.remove(stream, claim));
        }
        Some(stream.bits())
    }

    fn order(&mut self) -> Vec<u32> {
        std::iter::from_fn(|| self.serve(FRAME)).collect()
    }

    fn share(&self, stream: u32) -> f64 {
        self.served.get(&stream).copied().unwrap_or(0) as f64 / self.served.values().sum::<usize>() as f64
    }
}

const ENDLESS: usize = usize::MAX;

/// A name, streams with what they say and their frames, and whose frame comes when.
type Order = (&'static str, &'static [(u32, &'static str, usize)], &'static [u32]);

#[test]
fn orders() {
    let table: &[Order] = &[
        ("nobody", &[], &[]),
        ("alone", &[(1, "", 2)], &[1, 1]),
        ("in a row, as they were asked for", &[(5, "", 2), (1, "", 1), (3, "", 2)], &[1, 3, 3, 5, 5]),
        ("in turns", &[(5, "i", 2), (1, "i", 1), (3, "i", 3)], &[1, 3, 5, 3, 5, 3]),
        ("by urgency", &[(1, "u=7", 1), (3, "u=0", 2), (5, "u=3", 1), (7, "u=0", 1)], &[3, 3, 7, 5, 1]),
        ("urgency before kind", &[(1, "u=2, i", 2), (3, "u=1", 2), (5, "u=2, i", 1)], &[3, 3, 1, 5, 1]),
        (
            "both kinds, half of the bytes each",
            &[(1, "i", 3), (3, "", 2), (5, "", 2), (7, "i", 2)],
            &[3, 1, 3, 7, 5, 1, 5, 7, 1],
        ),
        ("a tunnel takes turns", &[(1, "t", 2), (3, "i", 2)], &[1, 3, 1, 3]),
        ("a tunnel beside those in a row", &[(1, "", 3), (3, "t", 3)], &[1, 3, 1, 3, 1, 3]),
        (
            "a tunnel below others",
            &[(1, "u=0", 16), (3, "tu=7", 3)],
            &[1, 1, 1, 1, 1, 1, 1, 3, 1, 1, 1, 1, 1, 1, 1, 3, 1, 1, 3],
        ),
        (
            "tunnels take turns in their share",
            &[(1, "u=0", 16), (5, "tu=7", 1), (3, "tu=6", 1)],
            &[1, 1, 1, 1, 1, 1, 1, 3, 1, 1, 1, 1, 1, 1, 1, 5, 1, 1],
        ),
    ];
    for (name, streams, expected) in table {
        let streams: Vec<_> = streams.iter().map(|&(stream, said, frames)| (stream, said, frames * FRAME)).collect();
        assert_eq!(Connection::of(&streams).order(), *expected, "{name}");
    }
}

#[test]
fn streams_added_later_take_their_place_by_urgency_and_number() {
    let mut connection = Connection::of(&[(3, "", 3 * FRAME), (5, "u=5, i", 3 * FRAME), (7, "u=5, i", 2 * FRAME)]);
    assert_eq!(connection.serve(FRAME), Some(3));
    connection.add(1, claim(""), FRAME);
    assert_eq!(connection.serve(FRAME), Some(1), "it was asked for earlier");
    connection.add(9, claim("u=0"), FRAME);
    assert_eq!(connection.serve(FRAME), Some(9), "it is more urgent");
    assert_eq!([connection.serve(FRAME), connection.serve(FRAME)], [Some(3); 2]);
    assert_eq!(connection.serve(FRAME), Some(5));
    connection.add(11, claim("u=5, i"), FRAME);
    assert_eq!(connection.serve(FRAME), Some(7));
    assert_eq!(connection.serve(FRAME), Some(5), "the newcomer waits for the next round");
    assert_eq!(connection.order(), [7, 11, 5]);
}

#[test]
fn a_turn_is_of_bytes_not_of_calls() {
    let mut connection = Connection::of(&[(1, "i", ENDLESS), (3, "i", ENDLESS), (5, "i", ENDLESS)]);
    let size = |stream| if stream == Some(StreamId::new(3)) { 1000 } else { FRAME };
    while connection.served.values().sum::<usize>() < 300 * FRAME {
        connection.serve(size(connection.scheduler.next()));
    }
    for stream in [1, 3, 5] {
        assert!((0.32..0.35).contains(&connection.share(stream)), "{stream}: {}", connection.share(stream));
    }
}

#[test]
fn frames_without_content_end_a_turn_too() {
    let mut connection = Connection::of(&[(1, "i", ENDLESS), (3, "i", ENDLESS)]);
    let calls = (0..10_000).take_while(|_| connection.serve(0) == Some(1)).count();
    assert!(calls <= FRAME / 9 + 1, "{calls}");
}

#[test]
fn both_kinds_have_half_whatever_their_frames_are() {
    for (in_a_row, in_turns) in [(FRAME, FRAME), (FRAME, 100), (100, FRAME), (1 << 20, FRAME), (5000, 7000)] {
        let mut connection = Connection::of(&[(1, "", ENDLESS), (3, "i", ENDLESS), (5, "i", ENDLESS)]);
        while connection.served.values().sum::<usize>() < 64 << 20 {
            let first = connection.scheduler.next() == Some(StreamId::new(1));
            connection.serve(if first { in_a_row } else { in_turns });
        }
        // A short frame is mostly header, which counts too.
        assert!((0.45..0.55).contains(&connection.share(1)), "{in_a_row} {in_turns}: {}", connection.share(1));
    }
}

#[test]
fn a_tunnel_has_its_share_and_no_more() {
    let mut connection = Connection::of(&[(1, "u=0", ENDLESS), (3, "u=2, i", ENDLESS), (5, "tu=7", ENDLESS)]);
    for _ in 0..8000 {
        connection.serve(FRAME);
    }
    let expected = 1.0 / f64::from(TUNNEL_SHARE);
    assert!((connection.share(5) - expected).abs() < 0.001, "{}", connection.share(5));
    assert_eq!(connection.share(3), 0.0, "a response has no such share");
}

#[test]
fn a_message_through_a_tunnel_waits_for_no_more_than_a_turn_of_the_others() {
    let mut connection = Connection::of(&[(1, "u=0", ENDLESS)]);
    for _ in 0..100 {
        connection.serve(FRAME);
    }
    connection.add(3, claim("tu=7"), 100);
    assert_eq!(connection.serve(FRAME), Some(3), "nothing went to tunnels for long");
    connection.add(3, claim("tu=7"), 100);
    assert_eq!([connection.serve(FRAME), connection.serve(FRAME)], [Some(1), Some(3)]);
}

/// Each new stream is higher than all before it and over at once: were a round to go on to the highest, it would never
/// come back to the first.
#[test]
fn short_streams_do_not_keep_a_long_one_waiting() {
    for said in ["i", "t"] {
        let mut connection = Connection::of(&[(1, said, ENDLESS), (3, said, FRAME)]);
        let mut turns = 0;
        for stream in (5..4000).step_by(2) {
            connection.add(stream, claim(said), FRAME);
            turns += u32::from(connection.serve(FRAME) == Some(1));
            connection.add(stream + 4001, claim(said), FRAME);
            turns += u32::from(connection.serve(FRAME) == Some(1));
        }
        // As many wait as were added since the round before: 2, 4, 8, and so on; all have their turn in between.
        assert!(turns >= 8, "{turns}");
    }
}

#[test]
fn a_new_priority_counts_at_once() {
    let mut connection = Connection::of(&[(1, "", ENDLESS), (3, "u=7", ENDLESS)]);
    assert_eq!(connection.serve(FRAME), Some(1));
    assert!(connection.scheduler.reprioritise(StreamId::new(3), claim("u=7"), claim("u=1")));
    connection.left.get_mut(&3).unwrap().0 = claim("u=1");
    assert_eq!(connection.serve(FRAME), Some(3));
    let other = StreamId::new(5);
    assert!(!connection.scheduler.reprioritise(other, claim(""), claim("u=0")), "it is not inside");
    assert!(!connection.scheduler.remove(other, claim("u=0")));
    assert_eq!(connection.scheduler.len(), 2);
}

#[test]
fn urgencies_beyond_the_last_are_the_last() {
    let mut scheduler = Scheduler::new();
    let far = Priority { urgency: 255, incremental: false };
    scheduler.insert(StreamId::new(1), far);
    scheduler.insert(StreamId::new(3), Priority { urgency: 7, incremental: false });
    assert_eq!(scheduler.next(), Some(StreamId::new(1)));
    scheduler.note_served(StreamId::new(1), far, usize::MAX);
    assert!(scheduler.remove(StreamId::new(1), far));
    assert_eq!((scheduler.next(), scheduler.len()), (Some(StreamId::new(3)), 1));
}

#[derive(Clone, Copy, Debug)]
enum Operation {
    Insert(u32, Claim),
    Remove(usize),
    Reprioritise(usize, Claim),
    Serve(usize),
}

fn any_claim() -> impl Strategy<Value = Claim> {
    (0..8u8, any::<bool>(), 0..10).prop_map(|(urgency, incremental, kind)| Claim {
        // Most at few urgencies, so that they meet.
        priority: Priority { urgency: if kind < 5 { urgency % 2 } else { urgency }, incremental },
        tunnel: kind == 9,
    })
}

fn any_operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        4 => (0..400u32, any_claim()).prop_map(|(stream, claim)| Operation::Insert(stream, claim)),
        1 => any::<usize>().prop_map(Operation::Remove),
        1 => (any::<usize>(), any_claim()).prop_map(|(which, claim)| Operation::Reprioritise(which, claim)),
        6 => (0..40_000usize).prop_map(Operation::Serve),
    ]
}

proptest! {
    #[test]
    fn as_the_model_says(operations in prop::collection::vec(any_operation(), 0..800)) {
        let (mut scheduler, mut model) = (Scheduler::new(), Model::default());
        for operation in operations {
            let nth = |which: usize| (!model.inside().is_empty()).then(|| model.inside()[which % model.len()]);
            match operation {
                Operation::Insert(stream, claim) => {
                    let stream = StreamId::new(stream);
                    if !model.inside().iter().any(|&(other, _)| other == stream) {
                        scheduler.insert(stream, claim);
                        model.insert(stream, claim);
                    }
                }
                Operation::Remove(which) => if let Some((stream, claim)) = nth(which) {
                    prop_assert!(scheduler.remove(stream, claim));
                    prop_assert!(model.remove(stream, claim));
                },
                Operation::Reprioritise(which, to) => if let Some((stream, from)) = nth(which) {
                    prop_assert!(scheduler.reprioritise(stream, from, to));
                    prop_assert!(model.reprioritise(stream, from, to));
                },
                Operation::Serve(bytes) => if let Some(stream) = model.next() {
                    let claim = model.inside().iter().find(|&&(other, _)| other == stream).unwrap().1;
                    scheduler.note_served(stream, claim, bytes);
                    model.note_served(stream, claim, bytes);
                },
            }
            prop_assert_eq!(scheduler.next(), model.next());
            prop_assert_eq!(scheduler.len(), model.len());
            prop_assert_eq!(scheduler.is_empty(), model.len() == 0);
        }
    }

    /// A stream that stays at the highest urgency is served before the others have had two rounds.
    #[test]
    fn no_stream_in_turns_starves(
        sizes in prop::collection::vec(1..40_000usize, 400),
        streams in 2..40u32,
        row in any::<bool>(),
    ) {
        let mut connection = Connection::default();
        for stream in 0..streams {
            connection.add(2 * stream + 1, claim("i"), ENDLESS);
        }
        if row {
            connection.add(1001, claim(""), ENDLESS);
        }
        let mut waited: BTreeMap<u32, usize> = (0..streams).map(|stream| (2 * stream + 1, 0)).collect();
        for size in sizes {
            let served = connection.serve(size).unwrap();
            waited.values_mut().for_each(|bytes| *bytes += size);
            waited.insert(served, 0);
            // A turn and what the last frame of it was too long; as much again for those in a row.
            let bound = (streams as usize + 1) * (FRAME + 40_000) * (1 + usize::from(row));
            prop_assert!(waited.values().all(|&bytes| bytes <= bound));
        }
    }
}
