use alloc::{format, vec::Vec};

use super::*;
use crate::simulation::{Link, Simulation};

const RATES: [u64; 5] = [128_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000];
const ROUND_TRIPS: [u64; 3] = [10_000, 50_000, 300_000];

/// A queue as large as what fits on the path, but at least 32 packets.
fn links() -> impl Iterator<Item = Link> {
    RATES.into_iter().flat_map(|rate| {
        ROUND_TRIPS.into_iter().map(move |round_trip| {
            let queue = (rate / 8 * round_trip / 1_000_000 / 1500).max(32);
            Link { rate, round_trip, queue, latency: 300 }
        })
    })
}

/// Long enough for every window to have opened: 3000 segments, but no more than twenty seconds of the fastest.
fn duration(link: Link) -> u64 {
    (link.segment_time().as_micros() as u64 * 3000).clamp(40 * link.round_trip, 200_000_000)
}

fn bulk(link: Link, pacing: Pacing, demand: Demand) -> Simulation {
    let mut simulation = Simulation::new(link, pacing);
    simulation.send_until(demand, 1_000_000 + duration(link));
    simulation
}

#[test]
#[cfg_attr(miri, ignore = "a long loop: minutes under Miri")]
fn unsent_bytes_wait_for_no_more_than_50_ms_or_two_segments() {
    for link in links() {
        let paced = bulk(link, Pacing::Adaptive, Demand::Urgent);
        let most = Duration::from_millis(50).max(2 * link.segment_time());
        let said = paced.delay.quantile(990).unwrap();
        // A quantile is up to a sixteenth too high.
        assert!(said * 16 / 17 <= most, "{link:?}: {said:?}");
        let unpaced = bulk(link, Pacing::Off, Demand::Urgent).delay.quantile(990).unwrap();
        assert!(link.rate > 100_000_000 || unpaced > said, "{link:?}: no test if it were so anyway: {unpaced:?}");
    }
}

#[test]
#[cfg_attr(miri, ignore = "a long loop: minutes under Miri")]
fn links_do_not_run_dry() {
    for link in links() {
        let unpaced = bulk(link, Pacing::Off, Demand::Urgent).delivered();
        let urgent = bulk(link, Pacing::Adaptive, Demand::Urgent).delivered();
        assert!(urgent * 1000 >= unpaced * 985, "{link:?}: {urgent} of {unpaced}");
        let patient = bulk(link, Pacing::Adaptive, Demand::LessUrgent).delivered();
        let lost_in_the_beginning = link.rate / 8 * link.round_trip / 1_000_000 * 2 + 20_000;
        assert!((patient + lost_in_the_beginning) * 1000 >= unpaced * 980, "{link:?}: {patient} of {unpaced}");
    }
}

#[test]
#[cfg_attr(miri, ignore = "a long loop: minutes under Miri")]
fn urgent_bytes_overtake_less_urgent_ones() {
    let link = Link { rate: 128_000, round_trip: 300_000, queue: 170, latency: 300 };
    let bound = Duration::from_millis(450);
    for milliseconds in (200..10_000).step_by(20) {
        let mut simulation = Simulation::new(link, Pacing::Adaptive);
        simulation.send_until(Demand::LessUrgent, 1_000_000 + milliseconds * 1000);
        let time = simulation.time_to_arrive();
        assert!(time <= bound, "{milliseconds} ms: {time:?}");
    }
    let mut unpaced = Simulation::new(link, Pacing::Off);
    unpaced.send_until(Demand::LessUrgent, 1_200_000);
    assert!(unpaced.time_to_arrive() > 2 * bound);
}

#[test]
#[cfg_attr(miri, ignore = "a long loop: minutes under Miri")]
fn fast_paths_are_sampled_rarely() {
    for round_trip in [50, 10_000] {
        let link = Link { rate: 2_000_000_000, round_trip, queue: 100, latency: 20 };
        let mut simulation = Simulation::new(link, Pacing::Adaptive);
        simulation.send_until(Demand::LessUrgent, 1_500_000);
        let before = simulation.samples;
        simulation.send_until(Demand::LessUrgent, 2_500_000);
        let samples = simulation.samples - before;
        assert!((50..=101).contains(&samples), "{samples} in a second");
    }
}

/// A reading of TCP_INFO on a path that is not congested.
fn info(round_trip: u32, rate: u64) -> TcpInfo {
    TcpInfo {
        segment: 1000,
        round_trip,
        shortest_round_trip: round_trip,
        window: 10,
        sent: 100_000,
        acknowledged: 100_000,
        rate,
        ..TcpInfo::default()
    }
}

fn sampled(info: &TcpInfo) -> Pacer {
    let mut pacer = Pacer::new(Pacing::Adaptive);
    assert!(pacer.needs_sample(1));
    pacer.handle_sample(info, 1);
    pacer
}

#[test]
fn the_unsent_limit_follows_the_rate() {
    // The rate in bytes per second; the low-water mark.
    let cases = [
        (0, 1000),
        (16_000, 1000),
        (99_000, 1000),
        (100_000, 3000),
        (750_000, 3000),
        (1_000_000, 4000),
        (10_000_000, 40_000),
        (65_000_000, 260_000),
    ];
    for (rate, mark) in cases {
        let mut pacer = sampled(&info(50_000, rate));
        let allowance = pacer.allow(Demand::Urgent, 1);
        // The window's ten segments leave at once and are no unsent bytes.
        assert_eq!((allowance.bytes, allowance.low_water), (10_000 + mark as usize, None), "{rate}");
        pacer.note_sent(allowance.bytes, 2);
        assert!(pacer.needs_sample(3));
        let full = TcpInfo { unacknowledged: 10, sent: 110_000, unsent: mark, ..info(50_000, rate) };
        pacer.handle_sample(&full, 3);
        let wait = Allowance { bytes: 0, record: pacer.record(), low_water: Some(mark), retry_after: None };
        assert_eq!(pacer.allow(Demand::Urgent, 3), wait, "{rate}");
        assert_eq!(pacer.allow(Demand::Urgent, 4).low_water, None, "once is enough");
        // Where the kernel would not wake us, there is no room either; and where it would, there is.
        pacer.handle_sample(&TcpInfo { unsent: mark / 2, ..full }, 5);
        assert_eq!(pacer.allow(Demand::Urgent, 5).bytes, 0, "{rate}");
        pacer.handle_sample(&TcpInfo { unsent: mark / 2 - 1, ..full }, 6);
        assert_eq!(pacer.allow(Demand::Urgent, 6).bytes, (mark / 2 + 1) as usize, "{rate}");
    }
}

#[test]
fn an_open_path_is_not_limited() {
    let mut pacer = sampled(&info(100, 1_000_000_000));
    let open = Allowance { bytes: usize::MAX, record: 1000, low_water: None, retry_after: None };
    assert_eq!(pacer.allow(Demand::LessUrgent, 1), open);
    pacer.note_sent(1 << 30, 5);
    assert!(!pacer.needs_sample(9_000), "not so soon");
    assert!(pacer.needs_sample(10_001));
    pacer.handle_sample(&info(100, 1_000_000_000), 10_001);
    assert!(!pacer.needs_sample(1_000_000), "nothing was sent");
    // The rate falls, slowly believed, with few calls for it; and then the path is open again.
    let mut marks = Vec::new();
    for rate in [10_000_000; 60].into_iter().chain([1_000_000_000]) {
        pacer.handle_sample(&TcpInfo { unacknowledged: 10, unsent: 300_000, ..info(100, rate) }, 20_000);
        marks.extend(pacer.allow(Demand::Urgent, 20_000).low_water);
    }
    assert_eq!(marks.last(), Some(&MAX_UNSENT));
    assert!(marks.len() < 10 && marks[marks.len() - 2] < 55_000, "{marks:?}");
}

#[test]
fn fixed_and_off_need_no_samples() {
    for (pacing, mark) in [(Pacing::Off, None), (Pacing::Fixed(16_384), Some(16_384)), (Pacing::Fixed(0), Some(1))] {
        let mut pacer = Pacer::new(pacing);
        assert!(!pacer.needs_sample(0));
        for (moment, low_water) in [(0, mark), (1, None)] {
            let allowance = pacer.allow(Demand::LessUrgent, moment);
            assert_eq!((allowance.bytes, allowance.low_water, allowance.retry_after), (usize::MAX, low_water, None));
        }
    }
}

#[test]
fn records_are_small_at_the_beginning_of_a_response() {
    let mut pacer = sampled(&info(100, 1_000_000_000));
    assert_eq!(pacer.allow(Demand::Urgent, 1).record, 1000);
    pacer.note_sent(FIRST_BYTES as usize, 1);
    assert_eq!(pacer.allow(Demand::Urgent, 2).record, MAX_RECORD_LENGTH);
    assert_eq!(pacer.allow(Demand::Urgent, 1 + IDLE_TIME).record, 1000, "idle");
    let mut slow = sampled(&info(50_000, 1_700_000));
    slow.note_sent(FIRST_BYTES as usize, 1);
    assert_eq!(slow.allow(Demand::Urgent, 2).record, 6000, "whole segments of 6800 bytes");
    let mut off = Pacer::new(Pacing::Off);
    assert_eq!(off.allow(Demand::Urgent, 1).record, USUAL_SEGMENT as usize);
    off.note_sent(FIRST_BYTES as usize, 1);
    assert_eq!(off.allow(Demand::Urgent, 1).record, MAX_RECORD_LENGTH);
}

#[test]
fn less_urgent_bytes_in_flight_are_bounded() {
    // Round trip and the shortest, in ms; rate; delivered; the ceiling in bytes.
    let cases = [
        (300, 300, 0, 0, Some(4000)),
        (300, 300, 1_000_000, 3999, Some(4000)),
        (300, 300, 10_000, 4000, Some(8000)),
        (300, 300, 40_000, 4000, Some(26_000)),
        (390, 300, 40_000, 4000, Some(26_000)),
        (401, 300, 40_000, 4000, Some(16_000)),
        (401, 300, 1_000, 4000, Some(3000)),
        (401, 300, 170_000, 4000, Some(63_000)),
        (401, 300, 180_000, 4000, None),
        (300, 300, 170_000, 4000, Some(65_000)),
        (10, 10, 100_000, 4000, Some(9000)),
        (10, 10, 0, 0, Some(4000)),
        (7, 7, 0, 0, None),
        (300, 0, 16_000, 0, None),
    ];
    for (round_trip, shortest, rate, acknowledged, ceiling) in cases {
        let path = TcpInfo {
            shortest_round_trip: shortest * 1000,
            window: 1000,
            sent: acknowledged,
            acknowledged,
            ..info(round_trip * 1000, rate)
        };
        let mut pacer = sampled(&path);
        let patient = pacer.allow(Demand::LessUrgent, 1).bytes;
        let case = format!("{round_trip} {shortest} {rate} {acknowledged}");
        match ceiling {
            Some(ceiling) => assert_eq!(patient, ceiling, "{case}"),
            None => assert!(patient > 900_000, "{case}: {patient}"),
        }
        assert!(pacer.allow(Demand::Urgent, 1).bytes > 900_000, "{case}");
    }
}

#[test]
fn a_sender_at_the_ceiling_retries_later() {
    // 16 kB/s: a segment takes 62.5 ms. The ceiling is 360 ms and two segments: 7760 bytes.
    let path = TcpInfo { window: 100, shortest_round_trip: 300_000, ..info(450_000, 16_000) };
    for (flight, bytes, time) in
        [(0, 7000, 0), (6000, 1000, 0), (6800, 0, 15_625), (7760, 0, 50_000), (7060, 0, 18_750)]
    {
        let mut pacer = sampled(&TcpInfo { sent: 100_000 + flight, ..path });
        let allowance = pacer.allow(Demand::LessUrgent, 1);
        let retry_after = (time > 0).then(|| Duration::from_micros(time));
        assert_eq!((allowance.bytes, allowance.retry_after), (bytes, retry_after), "{flight}");
        assert_eq!(pacer.needs_sample(2), time > 0);
    }
}

#[test]
fn a_useless_ceiling_is_lifted_temporarily() {
    // Somebody else's queue: 2 s, where our ceiling would make 500 ms of it.
    let path = TcpInfo { window: 100, shortest_round_trip: 300_000, sent: 107_000, ..info(2_000_000, 16_000) };
    let mut pacer = sampled(&path);
    let mut lifted = Vec::new();
    for second in 1..70 {
        let now = second * 1_000_000;
        pacer.handle_sample(&path, now);
        if pacer.allow(Demand::LessUrgent, now).bytes > 0 {
            lifted.push(second);
        }
    }
    // Eight round trips of proof, twenty seconds without, and again.
    assert_eq!(lifted, (17..37).chain(53..70).collect::<Vec<_>>());
    // Our own queue is no such proof: there is more on the way than the ceiling lets.
    let ours = TcpInfo { sent: 132_000, ..path };
    let mut pacer = sampled(&ours);
    for second in 1..70 {
        pacer.handle_sample(&ours, second * 1_000_000);
        assert_eq!(pacer.allow(Demand::LessUrgent, second * 1_000_000).bytes, 0);
    }
}

#[test]
fn absurd_samples_do_no_harm() {
    let most = TcpInfo {
        segment: u32::MAX,
        round_trip: u32::MAX,
        shortest_round_trip: u32::MAX,
        window: u32::MAX,
        peer_window: u32::MAX,
        unacknowledged: u32::MAX,
        unsent: u32::MAX,
        sent: u64::MAX,
        rate: u64::MAX,
        ..TcpInfo::default()
    };
    let cases =
        [TcpInfo::default(), most, TcpInfo { unsent: 0, unacknowledged: 0, ..most }, TcpInfo { rate: 1, ..most }];
    for info in cases {
        for demand in [Demand::LessUrgent, Demand::Urgent] {
            let mut pacer = sampled(&info);
            for moment in [0, 1, u64::MAX] {
                pacer.handle_sample(&info, moment);
                let allowance = pacer.allow(demand, moment);
                assert!(allowance.record > 0);
                pacer.note_sent(usize::MAX, moment);
                let _ = pacer.allow(demand, moment);
            }
        }
    }
}

#[test]
fn a_pacer_is_small() {
    assert!(size_of::<Pacer>() <= 128, "{}", size_of::<Pacer>());
}
