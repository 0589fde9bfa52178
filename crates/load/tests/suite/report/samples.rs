//! Made-up runs.

use std::time::{Duration, UNIX_EPOCH};

use http::Version;
use serow_load::{Distribution, Errors, Interval, Results};

/// All of them, by the names of the files that say what is printed of them.
pub(crate) fn all() -> Vec<(&'static str, Results)> {
    vec![
        ("usual", usual()),
        ("nothing", nothing()),
        ("one_request", one_request()),
        ("only_errors", only_errors()),
        ("huge", huge()),
        ("everything", everything()),
    ]
}

/// Two seconds at about 49,000 requests each second, all well.
pub(crate) fn usual() -> Results {
    let mut results = Results {
        url: "http://127.0.0.1:8080/".into(),
        threads: 2,
        connections: 10,
        planned_duration: Some(Duration::from_secs(2)),
        elapsed: Duration::from_millis(2003),
        bytes: 97_411 * 141,
        connections_made: 10,
        ..nothing()
    };
    for number in 0..97_411_u64 {
        results.latencies.record(latency(number));
    }
    for rate in [24_100, 24_300, 24_350, 24_500, 24_700] {
        results.thread_rates.record(rate);
    }
    for connection in 1..=10 {
        results.connect_times.record(connection * 11_000);
    }
    results.time_series = (0..20_u64).map(|step| interval(step, 4870 + step * 7 % 11)).collect();
    answered(results)
}

/// No response, and nothing that went wrong.
pub(crate) fn nothing() -> Results {
    Results {
        url: "http://localhost/".into(),
        socket: None,
        version: Version::HTTP_11,
        encryption: None,
        threads: 1,
        connections: 1,
        streams: 1,
        planned_duration: Some(Duration::from_secs(1)),
        planned_rate: None,
        // 2026-01-02 03:04:05 UTC.
        began: UNIX_EPOCH + Duration::from_secs(1_767_323_045),
        elapsed: Duration::ZERO,
        interrupted: false,
        requests: 0,
        bytes: 0,
        statuses: [].into(),
        errors: Errors::default(),
        unsent: 0,
        sent_again: 0,
        connections_made: 0,
        connect_times: Distribution::new(),
        latencies: Distribution::new(),
        thread_rates: Distribution::new(),
        time_series: Vec::new(),
    }
}

/// A single response.
pub(crate) fn one_request() -> Results {
    let mut results = Results {
        planned_duration: None,
        elapsed: Duration::from_micros(1834),
        bytes: 170,
        connections_made: 1,
        ..nothing()
    };
    results.latencies.record(1_234_567);
    results.connect_times.record(89_000);
    results.time_series = vec![Interval {
        start: Duration::ZERO,
        length: results.elapsed,
        requests: 1,
        bytes: 170,
        errors: 0,
        median: 1_234_567,
        high: 1_234_567,
        longest: 1_234_567,
    }];
    answered(results)
}

/// A server that takes connections and drops them, or is not there at all.
pub(crate) fn only_errors() -> Results {
    Results {
        elapsed: Duration::from_secs(1),
        errors: Errors { connect: 3, read: 40, write: 5, timeout: 12, protocol: 7, status: 0 },
        connections_made: 60,
        time_series: (0..10).map(|step| Interval { errors: 6 + step % 2, ..interval(step, 0) }).collect(),
        ..nothing()
    }
}

/// A day on a big machine.
pub(crate) fn huge() -> Results {
    const DAY: u64 = 24 * 60 * 60;
    let mut results = Results {
        url: "http://[2001:db8::1]:80/".into(),
        threads: 64,
        connections: 1_000_000,
        connections_made: 1_000_000,
        planned_duration: Some(Duration::from_secs(DAY)),
        elapsed: Duration::from_secs(DAY),
        bytes: DAY * 1_500_000_000_000,
        ..nothing()
    };
    for number in 0..1000 {
        results.latencies.record(200_000_000_000 + number * 3_000_000_000);
    }
    results.thread_rates.record(850_000);
    results.thread_rates.record(2_000_000);
    results.time_series = (0..24)
        .map(|hour| Interval {
            start: Duration::from_secs(hour * 3600),
            length: Duration::from_secs(3600),
            ..interval(hour, 3600 * (90_000_000 + hour * 7919 % 5_000_000))
        })
        .collect();
    results.requests = DAY * 92_000_000;
    results.statuses = [(200, results.requests)].into();
    results
}

/// A run with every kind of result.
pub(crate) fn everything() -> Results {
    let usual = usual();
    Results {
        url: "https://example.org/search?q=<script>\"x\"&b='".into(),
        socket: Some("unix:/run/app.sock".into()),
        version: Version::HTTP_2,
        encryption: Some("TLS 1.3, AES_128_GCM_SHA256".into()),
        streams: 32,
        planned_rate: Some(50_000.0),
        interrupted: true,
        unsent: 2589,
        sent_again: 40,
        statuses: [(200, 90_000), (301, 400), (404, 7000), (503, 11)].into(),
        errors: Errors { connect: 1, read: 2, write: 0, timeout: 4, protocol: 5, status: 7011 },
        connections_made: 512,
        time_series: usual
            .time_series
            .iter()
            .enumerate()
            .map(|(step, interval)| Interval { errors: if step % 3 == 0 { 17 } else { 0 }, ..*interval })
            .collect(),
        ..usual
    }
}

/// Almost three hours in steps of a tenth of a second: busy, with two bad minutes, a pause and a few errors.
pub(crate) fn long() -> Results {
    const STEPS: u64 = 100_000;
    let mut results = Results {
        url: format!("http://backend.example/{}", "a/long/path/".repeat(12)),
        threads: 4,
        connections: 400,
        connections_made: 400,
        planned_duration: Some(Duration::from_secs(STEPS / 10)),
        elapsed: Duration::from_secs(STEPS / 10),
        errors: Errors { timeout: 120, read: 3, ..Errors::default() },
        ..nothing()
    };
    results.time_series = (0..STEPS)
        .map(|step| {
            let noise = step.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 44;
            let (slower, requests) = match step {
                30_000..31_200 => (40, 900),
                62_000..63_000 => (1, 0),
                _ => (1, 12_000),
            };
            let requests = requests * (90_000 + noise % 20_000) / 100_000;
            Interval {
                errors: if (62_990..63_002).contains(&step) { 10 } else { u64::from(step % 33_333 == 9) },
                median: (180_000 + noise % 30_000) * slower,
                high: (900_000 + noise % 500_000) * slower,
                longest: (2_000_000 + noise % 1000 * (noise % 30_000)) * slower,
                ..interval(step, requests)
            }
        })
        .collect();
    for number in 0..400_000_u64 {
        let slower = if number % 83 == 0 { 40 } else { 1 };
        results.latencies.record((latency(number) + latency(number * 31 + 7) + latency(number * 17 + 5)) * slower);
    }
    results.requests = results.time_series.iter().map(|interval| interval.requests).sum();
    results.bytes = results.requests * 141;
    results.statuses = [(200, results.requests)].into();
    results
}

/// All that was counted in the latencies was answered, and well.
fn answered(results: Results) -> Results {
    let requests = results.latencies.count();
    Results { requests, statuses: [(200, requests)].into(), ..results }
}

/// A latency in nanoseconds: most about 90 µs, one in a hundred about a millisecond, few longer.
fn latency(number: u64) -> u64 {
    // Numbers without a visible order, the same in each run.
    let noise = (number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) % 1000;
    match number % 1000 {
        0 => 4_000_000 + noise * 3000,
        1..10 => 600_000 + noise * 1400,
        _ => 60_000 + noise * noise * 9 / 100,
    }
}

/// A tenth of a second of a run.
fn interval(step: u64, requests: u64) -> Interval {
    let waves = step * 37 % 17;
    Interval {
        start: Duration::from_millis(step * 100),
        length: Duration::from_millis(100),
        requests,
        bytes: requests * 141,
        errors: 0,
        median: if requests > 0 { 85_000 + waves * 400 } else { 0 },
        high: if requests > 0 { 900_000 + waves * 20_000 } else { 0 },
        longest: if requests > 0 { 5_000_000 + waves * 300_000 } else { 0 },
    }
}
